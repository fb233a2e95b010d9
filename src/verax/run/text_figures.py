"""How good a self-explaining model is: accuracy, and BLEU of its explanations against those of people (Table 7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from verax.engine.engine import Engine, Outcome, Task
from verax.engine.protocols import Answer, AnsweringMethod
from verax.engine.questions import QuestionGenerator
from verax.metrics.free_text.bleu import Bleu
from verax.models.self_explainer import SelfExplainer
from verax.models.subject import Subject
from verax.registry import resolve
from verax.stats.bleu import corpus_bleu, counts_of
from verax.types import Dataset, Instance, Measured, Nle, Target, Undefined

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NleFigures:
    """Of one set.

    Args:
        accuracy: share of inputs whose gold class is predicted; an input that gets no answer counts as wrong, as in the
            tables of a run.
        bleu: of the corpus, 0 to 100, over the inputs that were explained by the model and by people; None if none was.
        inputs: how many were asked about.
        answered: how many of them got an answer.
        explained: how many explanations BLEU is of.
    """

    accuracy: float
    bleu: float | None
    inputs: int
    answered: int
    explained: int


def nle_figures(by: SelfExplainer, data: Dataset, most: int) -> NleFigures:
    """Ask a trained self-explaining model about the first `most` inputs of a set."""
    setup: AnsweringMethod = resolve("methods", str(by.setup))()
    asked = data.instances[:most]
    right: list[bool] = []
    counts: list[list[float]] = []

    def keep(instance: Instance, found: tuple[Answer, Measured | None]) -> None:
        said, bleu = found
        right.append(said.label == instance.label)
        counted = None if bleu is None else counts_of(bleu.series)
        if counted is not None:
            counts.append(counted)

    ask_each(by, asked, lambda x: _said(x, setup), keep)
    bleu = float(corpus_bleu(np.sum(counts, axis=0))) if counts else None
    return NleFigures(sum(right) / max(1, len(asked)), bleu, len(asked), len(right), len(counts))


def ask_each(
    by: SelfExplainer,
    instances: Iterable[Instance],
    question: Callable[[Subject], QuestionGenerator[T]],
    keep: Callable[[Instance, T], None],
    ended: Callable[[], None] = lambda: None,
) -> None:
    """Ask a model about every input, pooled, and hand over what it says; an input without an answer is passed over.

    Args:
        keep: handed an input and what is said of it.
        ended: called after each input, answered or not.
    """

    def done(instance: Instance, outcome: Outcome[T]) -> Iterable[Task[Any]]:
        if outcome.value is not None:
            keep(instance, outcome.value)
        elif not isinstance(outcome.error, Undefined):
            raise outcome.error or RuntimeError("a set-up ended without an answer")
        ended()
        return ()

    Engine().run(Task(question(Subject(one, by)), partial(done, one)) for one in instances)


def _said(x: Subject, setup: AnsweringMethod) -> QuestionGenerator[tuple[Answer, Measured | None]]:
    """What the model says of an input, and how its explanation compares with what people say."""
    said = yield from setup.answer(x)
    try:
        said = yield from setup.explain(x, said)
        nle = Nle(x.instance.id, str(x.model.setup), Target(), said.text or "", said.label, x.model.labels)
        return said, (yield from Bleu()(x, nle))
    except Undefined:
        return said, None
