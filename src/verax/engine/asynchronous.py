"""Passes at models that answer concurrently: a task continues as soon as its own answers have arrived."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, Self

from verax.engine.questions.base import Pass
from verax.models.generator import ConcurrentGenerator, Session

_TURN = 0.02
"""Seconds to wait for one generator before the next, if a run asks several."""


class InFlight:
    """Passes under way at concurrent generators, each in a session that ends with this context.

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

    def submit(self, passes: Sequence[Pass]) -> bool:
        """Begin passes of one model and question, if both allow concurrency; returns whether they do."""
        question = passes[0].question
        generator = question.model
        if not question.concurrent or not isinstance(generator, ConcurrentGenerator):
            return False
        if id(generator) not in self._sessions:
            self._sessions[id(generator)] = self._contexts.enter_context(generator.session())
        for needed in passes:
            self._sessions[id(generator)].submit(needed.request, partial(self._settle, needed))
        return True

    def collect(self, *, wait: bool) -> None:
        """Settle the passes whose answers have arrived; with `wait`, at least one.

        Time spent waiting is charged in equal shares to the passes that were answered.
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
            for needed in answered:
                needed.payer.seconds += share
            self._on_answers(answered)

    def _settle(self, needed: Pass, answer: Any) -> None:
        needed.settle(answer)
        self._answered.append(needed)
