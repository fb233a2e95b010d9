"""The predicted class should stand when only the words that an explanation puts first are left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.asks import Asking
from verax.metrics.faithfulness.erasure import BINS, Average, aopc, check_bins
from verax.models.encoding import Encoded
from verax.types import Highlight, Measured, Passes, Removal


@dataclass(frozen=True)
class Sufficiency:
    """Drop of the predicted class when only the top words are left; lower is better.

    Args:
        bins: shares of the words, each rounded to at least one word.
        removal: how words are removed; `delete` runs the rest as it is.
        average: `deyoung` divides by the number of bins plus one, `mean` by the number of bins.
    """

    bins: tuple[float, ...] = BINS
    removal: Removal = "delete"
    average: Average = "deyoung"

    version: ClassVar[int] = 1
    reference: ClassVar[str] = "DeYoung et al. 2020, ERASER, Section 4.2"
    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float | None, float | None]] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        check_bins("sufficiency", self.bins)

    def passes(self, n: int) -> Passes:
        """One for each bin, and the full input."""
        return Passes(len(self.bins) + 1, 0)

    def __call__(self, x: Encoded, highlight: Highlight) -> Asking[Measured]:
        """The area over the curve of drops."""
        return aopc(x, highlight, top="kept", bins=self.bins, removal=self.removal, average=self.average)
