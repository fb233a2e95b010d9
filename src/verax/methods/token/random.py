"""Random scores: the baseline of all explanations by words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.questions import QuestionGenerator
from verax.models.subject import Subject
from verax.types import Attribution, Base, Kind, Passes


@dataclass(frozen=True)
class Random:
    """Scores drawn uniformly from [0, 1) for each input and seed.

    Args:
        seed: an input gets the same scores for the same seed, whatever else is run.
    """

    seed: int = 0

    name: ClassVar[str] = "random"
    display: ClassVar[str] = "Random"
    summary: ClassVar[str] = "Random scores: the baseline."
    cost: ClassVar[str] = "none"
    kind: ClassVar[Kind] = "token"
    base: ClassVar[Base] = "random"
    signed: ClassVar[bool] = False
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "baseline"

    def passes(self, n: int) -> Passes:
        """No pass."""
        return Passes(0, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """Random scores, without a question."""
        yield from ()
        return x.attribution(x.rng(self.seed).random(x.n_units))
