"""Exact Shapley values: the contribution of a word, averaged over all orders of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.questions import QuestionGenerator
from verax.methods.coalitions import MOST_ENUMERATED
from verax.methods.games import enumerated
from verax.models.subject import Subject
from verax.types import Attribution, Base, Kind, Passes, Removal, Target, Undefined


@dataclass(frozen=True)
class ExactShapley:
    """Shapley values of the game f(x with only the words of a coalition), from every coalition.

    Args:
        target: what of the model is explained.
        removal: how the words outside a coalition are removed.
    """

    target: Target = Target()
    removal: Removal = "mask"

    name: ClassVar[str] = "exact_shapley"
    display: ClassVar[str] = "Exact Shapley"
    summary: ClassVar[str] = "Shapley values from all coalitions; at most 14 words."
    cost: ClassVar[str] = "2^n forward"
    kind: ClassVar[Kind] = "token"
    base: ClassVar[Base] = "shapley"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Shapley 1953, A value for n-person games; Strumbelj and Kononenko 2010"

    def passes(self, n: int) -> Passes:
        """Every coalition; no pass for an input that is too long."""
        return Passes(2**n if n <= MOST_ENUMERATED else 0, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: all coalitions, unless there are too many."""
        if x.n_units > MOST_ENUMERATED:
            raise Undefined("too_many_words", f"{x.n_units} words; exact_shapley takes up to {MOST_ENUMERATED}")
        game = yield from enumerated(x, self.target, self.removal)
        return x.attribution(game.shapley())
