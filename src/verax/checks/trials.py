"""Run a method or metric on a few cases, alone or together, and compare what comes out."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verax.engine.engine import Engine, Outcome, Task
from verax.engine.protocols import as_generator
from verax.engine.questions import Question, QuestionGenerator
from verax.models.subject import Memo, Subject
from verax.types import Attribution, Cost, FloatArray, Highlight, Measured, Undefined, UserError

SMALL_BUDGET = 160
"""Tokens in a batch when cases are run together: small, so that other rows meet than when each runs alone."""


@dataclass(frozen=True, eq=False)
class Case:
    """One thing to do: an input to explain, or an explanation of it to measure."""

    name: str
    x: Subject
    highlight: Highlight | None = None

    @property
    def args(self) -> tuple[Any, ...]:
        """What the method or metric is called with."""
        return (self.x,) if self.highlight is None else (self.x, self.highlight)

    def copy(self, memo: Memo) -> Case:
        """A copy in arrays of its own, so that a change to one does not show in the other."""
        return Case(self.name, self.x.copy(memo), copy.deepcopy(self.highlight))


Outcomes = dict[str, Outcome[Any]]
"""By the name of the case."""


def alone(what: Any, cases: Iterable[Case]) -> Outcomes:
    """Outcome of each case, run in an engine of its own."""
    ended: Outcomes = {}
    for case in cases:
        ended.update(_run(Engine(), what, [case]))
    return ended


def together(what: Any, cases: Sequence[Case]) -> Outcomes:
    """What becomes of each case when all are run at once, in this order, in small batches."""
    return _run(Engine(SMALL_BUDGET), what, cases)


def _run(engine: Engine, what: Any, cases: Sequence[Case]) -> Outcomes:
    ended: Outcomes = {}

    def task(case: Case) -> Task[Any]:
        def done(outcome: Outcome[Any]) -> tuple[()]:
            ended[case.name] = outcome
            return ()

        return Task(_guarded(as_generator(what, *case.args)), done)

    try:
        engine.run(task(case) for case in cases)
    except Exception as error:  # noqa: BLE001 - a question that can't be asked ends the run: that is a finding, no crash
        return {case.name: ended.get(case.name, Outcome(None, error, Cost())) for case in cases}
    return ended


def _guarded(generator: QuestionGenerator[Any]) -> QuestionGenerator[Any]:
    """The same generator, but what would end the whole run ends it alone: no question at all, a UserError."""
    try:
        ask: Any = next(generator)
        while True:
            if not isinstance(ask, Question):
                raise TypeError(f"yielded {ask!r}, which is no question")
            try:
                answer = yield ask
            except Exception as error:  # noqa: BLE001 - whatever stands in place of an answer is handed on
                ask = generator.throw(error)
            else:
                ask = generator.send(answer)
    except StopIteration as end:
        return end.value
    except UserError as error:
        raise RuntimeError(f"a UserError in the middle of a run ends it for all inputs: {error}") from error


def numbers(outcome: Outcome[Any]) -> FloatArray | None:
    """The scores of an explanation, or the value and curve of a metric; None if there is neither."""
    value = outcome.value
    if isinstance(value, Attribution):
        return np.asarray(value.scores, np.float64)
    if isinstance(value, Measured):
        return np.array([value.value, *(value.curve or ())], np.float64)
    return None


def apart(first: Outcomes, second: Outcomes, tolerance: float) -> str | None:
    """The first case of which two runs do not give the same, and how; None if there is none.

    Args:
        first, second: of the same cases.
        tolerance: largest difference, relative to the largest number where that is above 1; 0 for the same bits.
    """
    for name in first:
        one, other = numbers(first[name]), numbers(second[name])
        if one is None or other is None:
            if said(first[name]) != said(second[name]):
                return f"{name!r}: {said(first[name])}, then {said(second[name])}"
        elif one.shape != other.shape:
            return f"{name!r}: {len(one)} numbers, then {len(other)}"
        elif tolerance == 0 and one.tobytes() != other.tobytes():
            return f"{name!r}: numbers differ by up to {np.abs(one - other).max():.2g}"
        elif not np.allclose(one, other, rtol=0, atol=tolerance * max(1.0, _largest(one)), equal_nan=True):
            return f"{name!r}: numbers differ by up to {np.abs(one - other).max():.2g}, allowed {tolerance:g}"
    return None


def _largest(array: FloatArray) -> float:
    return float(np.abs(array[np.isfinite(array)]).max(initial=0.0))


def said(outcome: Outcome[Any]) -> str:
    """How a case ended, in a few words."""
    if outcome.error is not None:
        return f"{type(outcome.error).__name__}: {outcome.error}"
    return "a value" if numbers(outcome) is not None else f"a {type(outcome.value).__name__}"


def improper(outcome: Outcome[Any]) -> str | None:
    """What is wrong with the way a case was refused: anything but Undefined with a reason; None if nothing is."""
    error = outcome.error
    if error is None:
        return None
    if not isinstance(error, Undefined):
        return f"raised {said(outcome)}; raise Undefined(reason, detail) where there is no value"
    if not str(error.reason or "").strip():
        return "raised Undefined without a reason; say it in one word of the field"
    return None


def first_of(cases: Mapping[str, str | None]) -> str:
    """The first case that something is wrong with, and in how many more it is; empty if with none."""
    wrong = [f"{name!r}: {problem}" for name, problem in cases.items() if problem is not None]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return wrong[0] + more if wrong else ""
