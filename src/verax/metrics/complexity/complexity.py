"""Complexity: is the explanation concentrated on a few words, or spread evenly over all?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import entr

from verax.models.encoding import Encoded
from verax.types import Highlight, Measured, Passes, Undefined


@dataclass(frozen=True)
class Complexity:
    """Entropy, in nats, of the shares |a_i| / sum |a_j| of all scores; lower is simpler."""

    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Bhatt, Weller and Moura 2021, Evaluating and aggregating feature-based explanations"
    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float | None, float | None]] = (0.0, None)

    def passes(self, n: int) -> Passes:
        """None."""
        return Passes(0, 0)

    def __call__(self, x: Encoded, highlight: Highlight) -> Measured:
        """Equations 16 and 17 of the unified diagnostic framework; from 0 (one word) to ln n (all alike)."""
        sizes = np.abs(np.array(highlight.scores))
        total = sizes.sum()
        if total == 0:
            raise Undefined("no_signal", "all scores are zero")
        return Measured(float(entr(sizes / total).sum()))
