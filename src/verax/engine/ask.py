"""Questions about many inputs, asked in pooled batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeVar

from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.questions import QuestionGenerator
from verax.types import Undefined

K = TypeVar("K")
T = TypeVar("T")


def ask_all(
    questions: Iterable[tuple[K, QuestionGenerator[T]]],
    keep: Callable[[K, T], object],
    undefined: Callable[[K, Undefined], object] = lambda *_: None,
    ended: Callable[[], object] = lambda: None,
    engine: Engine | None = None,
) -> None:
    """Run the questions about each input; unexpected errors are raised.

    Args:
        questions: an input, or what identifies it, with its question.
        keep: called with an input and the answer.
        undefined: called with an input that has no answer, and the reason.
        ended: called after each input, answered or not.
        engine: the engine that pools the questions; a new one by default.
    """

    def done(key: K, outcome: TaskResult[T]) -> Iterable[Task[Any]]:
        if isinstance(outcome.error, Undefined):
            undefined(key, outcome.error)
        elif outcome.value is None:
            raise outcome.error or RuntimeError(f"{key!r}: a question ended without an answer")
        else:
            keep(key, outcome.value)
        ended()
        return ()

    (engine or Engine()).run(Task(generator, partial(done, key)) for key, generator in questions)
