"""Sufficiency by flips: the prediction should stay when only the top words are left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from verax.metrics.faithfulness.flips import Flips


@dataclass(frozen=True)
class SufficiencyFlips(Flips):
    """Share of perturbations with only the top words that keep the prediction; higher is better."""

    name: ClassVar[str] = "sufficiency_flips"
    display: ClassVar[str] = "Sufficiency flips"
    summary: ClassVar[str] = (
        "Share of perturbations with only the top words that keep the prediction, at matched budgets."
    )
    top: ClassVar[Literal["removed", "kept"]] = "kept"
    version: ClassVar[int] = 1
