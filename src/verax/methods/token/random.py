"""Random scores: what every other explanation is measured against."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.questions import QuestionGenerator
from verax.models.subject import Subject
from verax.types import Attribution, Base, Kind, Passes


@dataclass(frozen=True)
class Random:
    """Scores drawn uniformly from [0, 1), anew for each input and seed.

    Args:
        seed: the same seed gives the same input the same scores, whatever is run beside it.
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
        """None."""
        return Passes(0, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """Asks the model nothing."""
        yield from ()
        return x.attribution(x.rng(self.seed).random(x.n_units))
