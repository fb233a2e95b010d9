"""Shapley values by sampling: what a word adds, averaged over random orders in which words come in."""

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

    Orders come in pairs, one the reverse of the other: unbiased, and with an even number of orders exact where words
    interact in pairs only. An input with so few words that the orders would ask for as many coalitions as there are is
    answered exactly.

    Args:
        target: what of the model is explained.
        permutations: how many orders.
        removal: how words that have not come in yet are removed.
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
        """The coalitions between none and all of each order, and those two; never more than there are."""
        return Passes(ordered_passes(n, self.permutations), 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the coalitions of all orders."""
        game = yield from ordered(x, self.target, self.removal, self.permutations, self.seed)
        return x.attribution(game.shapley())
