"""Agreement with people: do the words they marked come first?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from sklearn.metrics import average_precision_score

from verax.metrics.ranking import word_scores
from verax.models.encoding import Encoded
from verax.types import BoolArray, Highlight, Measured, Passes, Undefined


@dataclass(frozen=True)
class Agreement:
    """Average precision of the word scores against the gold words of all parts; higher is better."""

    version: ClassVar[int] = 1
    reference: ClassVar[str] = "DeYoung et al. 2020, ERASER, Section 4.1"
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)

    def passes(self, n: int) -> Passes:
        """None."""
        return Passes(0, 0)

    def __call__(self, x: Encoded, highlight: Highlight) -> Measured:
        """Over all words of all parts in one ranking."""
        return Measured(float(average_precision_score(_gold(x), word_scores(x, highlight))))


def _gold(x: Encoded) -> BoolArray:
    human = x.encoding.instance.human
    if human is None or human.words is None or not any(human.words):
        raise Undefined("no_gold", "nobody marked a word of this input")
    marked = {(part, word) for part, words in enumerate(human.words) for word in words}
    gold = np.array([(unit[0].part, unit[0].start) in marked for unit in x.units])
    if not gold.any():
        raise Undefined("no_gold", "every word that people marked was cut off or removed")
    return gold
