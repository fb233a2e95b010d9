"""Comprehensiveness and sufficiency: the predicted class while the top words are removed, or all others are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from verax.engine.questions import Outputs, QuestionGenerator, resolve_target
from verax.metrics.ranking import best_first, word_scores
from verax.models.subject import Subject
from verax.types import FloatArray, Highlight, Measured, MeasuredProperty, Passes, Removal, Target, UserError


@dataclass(frozen=True)
class Erasure:
    """Area over the perturbation curve, shared by comprehensiveness and sufficiency.

    For each bin p the top max(1, round(p * n)) words, of all parts in one ranking, are removed, or all others are, and
    the drop in probability of the class predicted for the full input is measured. The sum of the drops is divided by
    the number of bins plus one (`deyoung`: the empty bin counts, with a drop of 0) or by the number of bins (`mean`).

    Args:
        bins: shares of the words, each rounded to at least one word.
        average: `deyoung` or `mean`.
    """

    bins: tuple[float, ...] = (0.01, 0.05, 0.10, 0.20, 0.50)
    removal: Removal = "delete"
    average: Literal["deyoung", "mean"] = "deyoung"

    cost: ClassVar[str] = "bins + 1 forward"
    measures: ClassVar[MeasuredProperty] = "faithfulness"
    top: ClassVar[Literal["removed", "kept"]]
    reference: ClassVar[str] = "DeYoung et al. 2020, ERASER, Section 4.2"
    range: ClassVar[tuple[float | None, float | None]] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        if not self.bins or not all(0 < share <= 1 for share in self.bins):
            raise UserError(f"bins: got {list(self.bins)}; they must be shares of the words, above 0 and at most 1")

    def passes(self, n: int) -> Passes:
        """One for each bin, and the full input."""
        return Passes(len(self.bins) + 1, 0)

    def __call__(self, x: Subject, highlight: Highlight) -> QuestionGenerator[Measured]:
        """The area, and the drop at each bin."""
        order = best_first(word_scores(x, highlight))
        in_top = np.zeros((len(self.bins), x.n_units), bool)
        for row, share in zip(in_top, self.bins, strict=True):
            row[order[: max(1, round(share * x.n_units))]] = True
        keep = in_top if self.top == "kept" else ~in_top
        logits: FloatArray = yield Outputs(x, keep, self.removal, and_full=True)
        # asked last: the prediction is known from the full input above, so it needs no round of its own
        readout = yield from resolve_target(Target("prediction", "probability"), x)
        values = readout(logits)
        drops = values[-1] - values[:-1]
        divisor = len(self.bins) + (self.average == "deyoung")
        return Measured(float(drops.sum()) / divisor, tuple(drops.tolist()))


@dataclass(frozen=True)
class Comprehensiveness(Erasure):
    """Drop of the predicted class when the top words are removed (AOPC); higher is better."""

    name: ClassVar[str] = "comprehensiveness"
    display: ClassVar[str] = "Comprehensiveness"
    summary: ClassVar[str] = "Drop of the predicted class when the top words are deleted (AOPC); higher is better."
    top: ClassVar[Literal["removed", "kept"]] = "removed"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool] = True


@dataclass(frozen=True)
class Sufficiency(Erasure):
    """Drop of the predicted class when only the top words are left (AOPC); lower is better."""

    name: ClassVar[str] = "sufficiency"
    display: ClassVar[str] = "Sufficiency"
    summary: ClassVar[str] = "Drop of the predicted class when only the top words are kept (AOPC); lower is better."
    top: ClassVar[Literal["removed", "kept"]] = "kept"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool] = False
