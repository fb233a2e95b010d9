"""Shapley values by sampling: the contribution of a word, averaged over random orders of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.questions import QuestionGenerator
from verax.methods.games import ordered, ordered_passes
from verax.models.subject import Subject
from verax.types import Attribution, Base, Kind, Passes, Removal, Target, UserError


@dataclass(frozen=True)
class ShapleySampling:
    """The mean over random orders of f(words up to i) - f(words before i), for each word i.

    Orders come in pairs of reverses: unbiased, and with an even number of orders exact if words interact only in pairs.
    For an input with so few words that the orders need all coalitions, the values are exact.

    Args:
        target: what of the model is explained.
        permutations: number of orders.
        removal: how words that have not joined yet are removed.
        seed: of the orders.
    """

    target: Target = Target()
    permutations: int = 25
    removal: Removal = "pad"
    seed: int = 0

    name: ClassVar[str] = "shapley_sampling"
    display: ClassVar[str] = "Shapley sampling"
    summary: ClassVar[str] = "Shapley values by sampling permutations of the words."
    cost: ClassVar[str] = "permutations (n - 1) + 2 forward, at most 2^n"
    kind: ClassVar[Kind] = "token"
    base: ClassVar[Base] = "shapley"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Castro, Gomez and Tejada 2009; Strumbelj and Kononenko 2010"

    def __post_init__(self) -> None:
        if self.permutations < 1:
            raise UserError(f"shapley_sampling: permutations: got {self.permutations}, it must be at least 1")

    def passes(self, n: int) -> Passes:
        """The inner coalitions of each order, plus none and all; never more than the number of coalitions."""
        return Passes(ordered_passes(n, self.permutations), 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the coalitions of all orders."""
        game = yield from ordered(x, self.target, self.removal, self.permutations, self.seed)
        return x.attribution(game.shapley())
