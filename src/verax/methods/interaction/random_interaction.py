"""Random scores for pairs of words: the baseline of all interactions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.questions import QuestionGenerator
from verax.methods.pairs import Pairing, pair_attribution
from verax.models.subject import Subject
from verax.types import Attribution, Base, Kind, Passes


@dataclass(frozen=True)
class RandomInteraction:
    """Scores drawn uniformly from [0, 1) for every pair of words, for each input and seed.

    Args:
        parts: pairs `between` the two parts, or `within` each part.
        directed: draw a score for each direction of a pair.
        seed: an input gets the same scores for the same seed.
    """

    parts: Pairing = "between"
    directed: bool = False
    seed: int = 0

    name: ClassVar[str] = "random_interaction"
    display: ClassVar[str] = "Random pairs"
    summary: ClassVar[str] = "Random scores for pairs of words: the baseline of token interactions."
    cost: ClassVar[str] = "none"
    kind: ClassVar[Kind] = "token_interaction"
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
        drawn = x.rng(self.seed, "random_interaction").random((x.n_units, x.n_units))
        return pair_attribution(x, drawn, self.parts, directed=self.directed)
