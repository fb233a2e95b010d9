"""Plausibility: are annotated words ranked first?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.metrics import average_precision_score

from verax.metrics.pieces import Word, words_of
from verax.metrics.ranking import word_scores
from verax.models.subject import Subject
from verax.types import BoolArray, Highlight, Human, Measured, Passes, Undefined


@dataclass(frozen=True)
class Plausibility:
    """Average precision of the word scores against annotated words; higher is better."""

    name: ClassVar[str] = "plausibility"
    display: ClassVar[str] = "Plausibility"
    summary: ClassVar[str] = "Average precision of word scores against human highlights; higher is better."
    cost: ClassVar[str] = "none"
    measures: ClassVar[str] = "agreement"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Zaman and Belinkov 2022, Equation 7"
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)

    def passes(self, n: int) -> Passes:
        """No pass."""
        return Passes(0, 0)

    def __call__(self, x: Subject, highlight: Highlight) -> Measured:
        """Over the words of all parts, in one ranking."""
        return Measured(average_precision(x, highlight))


def average_precision(x: Subject, highlight: Highlight) -> float:
    """Average precision of the gold words among all words of x."""
    return float(average_precision_score(gold_words(x), word_scores(x, highlight)))


def gold_words(x: Subject) -> BoolArray:
    """Mask of annotated words, or of the words in annotated span pairs if there are only pairs; shape [n_units]."""
    human = x.instance.human or Human()
    marked: set[Word] = set()
    if human.words is not None and any(human.words):
        marked = {(part, word) for part, words in enumerate(human.words) for word in words}
    elif human.span_pairs:
        marked = {word for pair in human.span_pairs for word in words_of(pair)}
    else:
        raise Undefined("no_gold", "no word of this input is annotated")
    gold = np.array([word in marked for word in x.words])
    if not gold.any():
        raise Undefined("no_gold", "every annotated word was cut off or removed")
    return gold
