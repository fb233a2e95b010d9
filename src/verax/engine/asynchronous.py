"""Passes at text generators that answer concurrently: tasks go on as their answers arrive, none waits for another's."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from verax.engine.passes import Pass
from verax.models.generator import ChoicePass, ConcurrentGenerator, GeneratePass, Session

_TURN = 0.02
"""Seconds to wait for one generator before another gets its turn, where a run asks several."""


@dataclass(eq=False, slots=True)
class Pending:
    """Stands in a memo for an answer that is on its way, so that nobody asks the same question meanwhile."""

    is_answered: bool = False


class InFlight:
    """Passes under way at concurrent text generators, each in a session that ends with this context.

    Args:
        on_answers: called with the passes that were answered since the last call.
    """

    def __init__(self, on_answers: Callable[[list[Pass]], None]) -> None:
        self._on_answers = on_answers
        self._sessions: dict[int, Session] = {}
        self._contexts = ExitStack()
        self._answered: list[Pass] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._contexts.__exit__(*error)

    def submit(self, passes: Sequence[Pass]) -> list[Pass]:
        """Begin the passes of concurrent generators; returns those of all others."""
        others = []
        for one in passes:
            generator, request = one.question.generator, one.question.request
            if isinstance(request, GeneratePass | ChoicePass) and isinstance(generator, ConcurrentGenerator):
                self._session(generator).submit(request, partial(self._settle, one))
            else:
                others.append(one)
        return others

    def collect(self, *, wait: bool) -> None:
        """Settle the passes whose answers have arrived; with `wait`, not before there is one.

        Time spent waiting is charged in equal shares to the passes that it brought.
        """
        start = time.perf_counter()
        busy = [session for session in self._sessions.values() if session.outstanding]
        for session in busy:
            session.collect(timeout=0)
        while wait and busy and not self._answered:
            for session in busy:
                session.collect(timeout=None if len(busy) == 1 else _TURN)
        if self._answered:
            answered, self._answered = self._answered, []
            share = (time.perf_counter() - start) / len(answered)
            for one in answered:
                one.owner.seconds += share
            self._on_answers(answered)

    def _session(self, generator: ConcurrentGenerator) -> Session:
        if id(generator) not in self._sessions:
            self._sessions[id(generator)] = self._contexts.enter_context(generator.session())
        return self._sessions[id(generator)]

    def _settle(self, one: Pass, answer: Any) -> None:
        one.settle(answer)
        self._answered.append(one)
