"""Comprehensiveness by flips: the prediction should change when the top words are removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from verax.metrics.faithfulness.flips import Flips


@dataclass(frozen=True)
class ComprehensivenessFlips(Flips):
    """Share of perturbations without the top words that change the prediction; higher is better."""

    name: ClassVar[str] = "comprehensiveness_flips"
    display: ClassVar[str] = "Comprehensiveness flips"
    summary: ClassVar[str] = (
        "Share of perturbations without the top words that flip the prediction, at matched budgets."
    )
    top: ClassVar[Literal["removed", "kept"]] = "removed"
    version: ClassVar[int] = 1
