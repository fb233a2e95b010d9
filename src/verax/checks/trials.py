"""Run a method or metric on a few cases, alone or together, and compare the results."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verax.data.load import load_dataset
from verax.data.text import split_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import as_generator
from verax.engine.questions import Question, QuestionGenerator
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.models.subject import Memo, Subject
from verax.types import Attribution, Cost, FloatArray, Highlight, Instance, Measured, Undefined, UserError

SMALL_BUDGET = 160
"""Tokens in a batch when cases are run together: small, so that batches differ from those of cases run alone."""
CORPUS = "world/nli"
AWKWARD = {
    "one word a part": ("rain", "weather", "en"),
    "a repeated word": ("the dog and the dog", "dog dog", "en"),
    "emoji": ("a 🐕 is happy 👩‍👩‍👧!", "🙂", "en"),
    "right to left": ("הכלב רץ בגן", "הכלב בחוץ", "he"),
    "long": (
        "The old doctor with a small purple rucksack is in the cold park, while a gloomy teacher is not far away.",
        "A person is outdoors.",
        "en",
    ),
}


def default_model() -> Classifier:
    """The shipped model in float64, where rounding is far below every tolerance.

    It is loaded anew each time: a faulty component may have changed the previous one.
    """
    return load_model(CORPUS, dtype="float64")


def default_inputs() -> list[Instance]:
    """Two short pairs of the built-in corpus, with human highlights, and some awkward pairs."""
    corpus = sorted(load_dataset(CORPUS, limit=50).instances, key=lambda instance: len(instance.units))
    awkward = [
        Instance(name, (split_words(premise, lang), split_words(hypothesis, lang)), "neutral", lang)
        for name, (premise, hypothesis, lang) in AWKWARD.items()
    ]
    return [*corpus[:2], *awkward]


def readable(model: Classifier, inputs: Sequence[Instance]) -> list[Subject]:
    """The inputs that the model can read."""
    subjects = []
    for instance in inputs:
        try:
            subjects.append(Subject(instance, model).encoded())
        except Undefined:  # methods and metrics never see such an input
            continue
    if not subjects:
        raise UserError(f"inputs: the model {model.name!r} can read none of the {len(inputs)}")
    return subjects


@dataclass(frozen=True, eq=False)
class Case:
    """An input to explain, or an explanation of it to measure."""

    name: str
    x: Subject
    highlight: Highlight | None = None

    @property
    def args(self) -> tuple[Any, ...]:
        """Arguments of the method or metric."""
        return (self.x,) if self.highlight is None else (self.x, self.highlight)

    def copy(self, memo: Memo) -> Case:
        """A copy that shares no array with the original."""
        return Case(self.name, self.x.copy(memo), copy.deepcopy(self.highlight))


TaskResults = dict[str, TaskResult[Any]]
"""By the name of the case."""


def run_alone(component: Any, cases: Iterable[Case]) -> TaskResults:
    """Result of each case, run in an engine of its own."""
    outcomes: TaskResults = {}
    for case in cases:
        outcomes.update(_run(Engine(), component, [case]))
    return outcomes


def run_together(component: Any, cases: Sequence[Case]) -> TaskResults:
    """Result of each case when all are run at once, in this order, in small batches."""
    return _run(Engine(SMALL_BUDGET), component, cases)


def _run(engine: Engine, component: Any, cases: Sequence[Case]) -> TaskResults:
    outcomes: TaskResults = {}

    def task(case: Case) -> Task[Any]:
        def done(outcome: TaskResult[Any]) -> tuple[()]:
            outcomes[case.name] = outcome
            return ()

        return Task(_guarded(as_generator(component, *case.args)), done)

    try:
        engine.run(task(case) for case in cases)
    except Exception as error:  # noqa: BLE001 - a question that cannot be answered ends the run: a problem to report
        return {case.name: outcomes.get(case.name, TaskResult(None, error, Cost())) for case in cases}
    return outcomes


def _guarded(generator: QuestionGenerator[Any]) -> QuestionGenerator[Any]:
    """A generator in which errors that would end the whole run (a UserError, no question) end only its own case."""
    try:
        ask: Any = next(generator)
        while True:
            if not isinstance(ask, Question):
                raise TypeError(f"yielded {ask!r}, which is no question")
            try:
                answer = yield ask
            except Exception as error:  # noqa: BLE001 - an error in place of an answer is passed on
                ask = generator.throw(error)
            else:
                ask = generator.send(answer)
    except StopIteration as end:
        return end.value
    except UserError as error:
        raise RuntimeError(f"a UserError in the middle of a run ends it for all inputs: {error}") from error


def numbers_of(outcome: TaskResult[Any]) -> FloatArray | None:
    """The scores of an explanation, or the value and curve of a metric; None if there is neither."""
    value = outcome.value
    if isinstance(value, Attribution):
        return np.asarray(value.scores, np.float64)
    if isinstance(value, Measured):
        return np.array([value.value, *(value.curve or ())], np.float64)
    return None


def difference(first: TaskResults, second: TaskResults, tolerance: float) -> str | None:
    """The first case in which two runs differ, and how; None if there is none.

    Args:
        tolerance: largest difference, relative to the largest number where that is above 1; 0 for the same bits.
    """
    for name in first:
        one, other = numbers_of(first[name]), numbers_of(second[name])
        if one is None or other is None:
            ends = ending(first[name]), ending(second[name])
            if ends[0] != ends[1]:
                return f"{name!r}: {ends[0]}, then {ends[1]}"
        elif one.shape != other.shape:
            return f"{name!r}: {len(one)} numbers, then {len(other)}"
        elif tolerance == 0 and one.tobytes() != other.tobytes():
            return f"{name!r}: numbers differ by up to {np.abs(one - other).max():.2g}"
        else:
            largest = float(np.abs(one[np.isfinite(one)]).max(initial=0.0))
            if not np.allclose(one, other, rtol=0, atol=tolerance * max(1.0, largest), equal_nan=True):
                return f"{name!r}: numbers differ by up to {np.abs(one - other).max():.2g}, allowed {tolerance:g}"
    return None


def ending(outcome: TaskResult[Any]) -> str:
    """How a case ended, in a few words."""
    if outcome.error is not None:
        return f"{type(outcome.error).__name__}: {outcome.error}"
    return "a value" if numbers_of(outcome) is not None else f"a {type(outcome.value).__name__}"


def wrong_refusal(outcome: TaskResult[Any]) -> str | None:
    """The problem with the error of a case: anything but Undefined with a reason; None if there is no problem."""
    error = outcome.error
    if error is None:
        return None
    if not isinstance(error, Undefined):
        return f"raised {ending(outcome)}; raise Undefined(reason, detail) where there is no value"
    if not str(error.reason or "").strip():
        return "raised Undefined without a reason; say it in one word of the field"
    return None


def first_problem(problems: Mapping[str, str | None]) -> str:
    """The first problem with its case, and the number of further cases with one; empty without any."""
    wrong = [f"{name!r}: {problem}" for name, problem in problems.items() if problem is not None]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return wrong[0] + more if wrong else ""
