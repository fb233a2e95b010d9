"""The prediction should stay when the words that an explanation puts first are all that is left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from verax.metrics.faithfulness.flips import Flips


@dataclass(frozen=True)
class SufficiencyFlips(Flips):
    """Share of perturbations with the top words alone that keep the prediction; higher is better."""

    top: ClassVar[Literal["removed", "kept"]] = "kept"
    version: ClassVar[int] = 1
