"""Which method and which threshold agree best with the words that people marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from verax.engine.protocols import Method
from verax.metrics.agreement.plausibility import gold_words
from verax.models.classifier import Classifier
from verax.models.subject import Subject
from verax.results.run import Run
from verax.run.highlights.explaining import Asked, Explained, explain_into
from verax.run.highlights.scoring import normalised
from verax.run.parameters import Configured
from verax.stats.inference import mean_interval
from verax.stats.thresholds import Overlap, best_threshold, overlap_at
from verax.types import BoolArray, Dataset, Estimate, FloatArray, UserError

METRIC = "plausibility"


class Candidate(NamedTuple):
    """A method and its mean average precision on the tuning set; None if no explanation of it could be measured."""

    label: str
    plausibility: Estimate | None
    n: int
    skipped: int


class Tuned(NamedTuple):
    """What the tuning set says of the choice: candidates, best first, and how its words agree with those of people."""

    candidates: tuple[Candidate, ...]
    overlap: Overlap
    inputs: int
    words: int


@dataclass(frozen=True)
class Choice:
    """The method, the threshold, and what they were chosen by; None if both were given and nothing was tuned."""

    asked: Asked
    threshold: float
    tuned: Tuned | None = None

    @property
    def method(self) -> Configured[Method]:
        """The method itself."""
        return self.asked.named


def check_gold(data: Dataset) -> None:
    """Refuse a tuning set in which nobody marked a word."""
    human = (instance.human for instance in data.instances)
    if not any(one is not None and (any(one.words or ()) or one.span_pairs) for one in human):
        raise UserError(
            f"tuning: none of the {len(data)} inputs of {data.name} has words that people marked; tuning.columns."
            "gold_words (or gold_mask, gold_spans, gold_chars) names their column"
        )


def choose(
    tuning: Explained,
    candidates: Sequence[Asked],
    threshold: float | None,
    folder: Path,
    *,
    seed: int,
    command: str,
    console: Console,
) -> Choice:
    """The most plausible candidate, and the threshold with the best F1 over all words of the tuning set.

    Args:
        tuning: inputs with words that people marked.
        threshold: None to choose it.
        folder: of the run that explains them.
    """
    run = explain_into(folder, tuning, candidates, METRIC, seed=seed, command=command, console=console)
    ranked = rank(run, [one.named.label for one in candidates])
    best = ranked[0]
    if best.plausibility is None:
        why = next((f"{row.reason}: {row.detail}" for row in run.scores if row.reason), "there is no explanation")
        raise UserError(f"tuning: no explanation of {tuning.data.name} can be compared with people ({why})")
    gold, scores, inputs = pooled(run, best.label, tuning.model)
    if not len(scores):
        raise UserError(f"tuning: no explanation by {best.label} scores every word of its input")
    chosen = best_threshold(gold, scores) if threshold is None else threshold
    asked = next(one for one in candidates if one.named.label == best.label)
    return Choice(asked, chosen, Tuned(ranked, overlap_at(gold, scores, chosen), inputs, len(scores)))


def rank(run: Run, labels: Sequence[str]) -> tuple[Candidate, ...]:
    """Candidates by mean average precision, highest first; of equal ones the one that was named first."""
    values: dict[str, list[float]] = {label: [] for label in labels}
    skipped = dict.fromkeys(labels, 0)
    for score in run.scores:
        if score.method in values:
            if score.value is None:
                skipped[score.method] += 1
            else:
                values[score.method].append(score.value)
    found = [
        Candidate(label, mean_interval(known) if known else None, len(known), skipped[label])
        for label, known in values.items()
    ]
    return tuple(sorted(found, key=lambda one: np.inf if one.plausibility is None else -one.plausibility.value))


def pooled(run: Run, label: str, model: Classifier) -> tuple[BoolArray, FloatArray, int]:
    """Of all words of all inputs with gold: whether people marked it, and its normalised score; and how many inputs.

    Returns:
        Shapes [words] and [words]; inputs whose explanation lacks a word are left out.
    """
    measured = {row.instance_id for row in run.scores if row.method == label and row.value is not None}
    explained = {row.instance_id: row for row in run.highlights if row.method == label}
    gold: list[BoolArray] = []
    scores: list[FloatArray] = []
    for instance in run.stored.instances:
        if instance.id not in measured:
            continue
        values = normalised(instance, explained[instance.id])
        if values is not None:
            gold.append(gold_words(Subject(instance, model)))
            scores.append(values)
    if not scores:
        return np.zeros(0, bool), np.zeros(0), 0
    return np.concatenate(gold), np.concatenate(scores), len(scores)
