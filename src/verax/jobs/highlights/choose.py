"""The method and the threshold that agree best with human highlights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from verax.engine.protocols import Method
from verax.jobs.highlights.explain import PLAUSIBILITY, Candidate, Opened
from verax.metrics.agreement import gold_words
from verax.metrics.crosslingual_faithfulness import scores_of_words
from verax.models.classifier import Classifier
from verax.models.subject import Subject
from verax.results.run import Run
from verax.run.parameters import Configured
from verax.stats.intervals import mean_interval
from verax.stats.thresholds import Overlap, best_threshold, overlap_at
from verax.types import BoolArray, Estimate, FloatArray, Highlight, Instance, UserError


class Ranked(NamedTuple):
    """A method and its mean average precision on the tuning set; None if no explanation of it could be measured."""

    label: str
    plausibility: Estimate | None
    n: int
    skipped: int


class Tuned(NamedTuple):
    """Results on the tuning set: candidates, best first, and how the chosen words agree with the human ones."""

    candidates: tuple[Ranked, ...]
    overlap: Overlap
    inputs: int
    words: int


@dataclass(frozen=True)
class ChosenMethod:
    """The method and the threshold, and how they were chosen; `tuned` is None if both were given."""

    candidate: Candidate
    threshold: float
    tuned: Tuned | None = None

    @property
    def method(self) -> Configured[Method]:
        """The method itself."""
        return self.candidate.method


def choose(opened: Opened, run: Run) -> ChosenMethod:
    """The most plausible candidate, and the threshold with the best F1 over all words of the tuning set, unless given.

    Args:
        run: explains the tuning set by every candidate.
    """
    ranked = rank(run, [candidate.method.label for candidate in opened.candidates])
    best = ranked[0]
    if best.plausibility is None:
        reasons = (f"{row.reason}: {row.detail}" for row in run.score_rows() if row.reason)
        why = next(reasons, "no explanation")
        data = run.manifest.data.name
        raise UserError(f"tuning: no explanation of {data} can be compared with human highlights ({why})")
    gold, scores, inputs = pooled(run, best.label, opened.tuning_model)
    if not len(scores):
        raise UserError(f"tuning: no explanation by {best.label} scores every word of its input")
    given = opened.spec.threshold
    chosen = best_threshold(gold, scores) if given is None else given
    candidate = next(candidate for candidate in opened.candidates if candidate.method.label == best.label)
    return ChosenMethod(candidate, chosen, Tuned(ranked, overlap_at(gold, scores, chosen), inputs, len(scores)))


def rank(run: Run, labels: Sequence[str]) -> tuple[Ranked, ...]:
    """Candidates by mean average precision, highest first; of equal ones the one that was named first."""
    ranked = []
    for label in labels:
        measured = run.scores.by_instance(PLAUSIBILITY, label).values()
        values = [value for value in measured if value is not None]
        mean = mean_interval(values) if values else None
        ranked.append(Ranked(label, mean, len(values), len(measured) - len(values)))
    return tuple(sorted(ranked, key=lambda one: np.inf if one.plausibility is None else -one.plausibility.value))


def pooled(run: Run, label: str, model: Classifier) -> tuple[BoolArray, FloatArray, int]:
    """For all words of all inputs with human highlights: whether it is one, and its normalised score; and the inputs.

    Returns:
        Shapes [words] and [words]; inputs whose explanation lacks a word are left out.
    """
    measured = run.scores.by_instance(PLAUSIBILITY, label)
    explained = explanations(run, label)
    gold: list[BoolArray] = []
    scores: list[FloatArray] = []
    for instance in run.inputs():
        if measured.get(instance.id) is None:
            continue
        values = normalised_scores(instance, explained[instance.id])
        if values is not None:
            gold.append(gold_words(Subject(instance, model)))
            scores.append(values)
    if not scores:
        return np.zeros(0, bool), np.zeros(0), 0
    return np.concatenate(gold), np.concatenate(scores), len(scores)


def explanations(run: Run, label: str) -> dict[str, Highlight]:
    """The explanations by a method, by the id of the instance."""
    return {row.instance_id: row for row in run.highlights() if row.method == label}


def skip_reasons(run: Run, label: str) -> dict[str, str]:
    """The reasons why a method has no explanation, by the id of the instance."""
    return {row.instance_id: row.reason for row in run.skips() if row.method == label}


def normalised_scores(instance: Instance, highlight: Highlight) -> FloatArray | None:
    """The scores of all words of all parts in reading order, divided by their L2 norm: shape [words].

    Scores that are all zero stay zero. None if a word has no score because it was truncated.
    """
    scores = scores_of_words(instance, highlight)
    if not len(scores) or np.isnan(scores).any():
        return None
    largest = np.abs(scores).max()
    if largest == 0:
        return scores
    scaled = scores / largest  # so that squares neither overflow nor vanish
    return np.asarray(scaled / np.linalg.norm(scaled))
