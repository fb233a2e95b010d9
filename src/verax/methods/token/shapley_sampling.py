"""Shapley values by sampling: what a word adds, averaged over random orders in which words come in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verax.engine.asks import Asking, Outputs, resolve
from verax.methods.coalitions import growing, permutations
from verax.methods.token.exact_shapley import by_enumeration
from verax.models.encoding import Encoded
from verax.types import Attribution, FloatArray, Kind, Passes, Removal, Target, UserError


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

    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Castro, Gomez and Tejada 2009; Strumbelj and Kononenko 2010"

    def __post_init__(self) -> None:
        if self.permutations < 1:
            raise UserError(f"shapley_sampling: permutations: got {self.permutations}, it must be at least 1")

    def passes(self, n: int) -> Passes:
        """The coalitions between none and all of each order, and those two; never more than there are."""
        return Passes(min(2**n, self.permutations * (n - 1) + 2), 0)

    def __call__(self, x: Encoded) -> Asking[Attribution]:
        """One question: the coalitions of all orders."""
        n = x.n_units
        if 2**n <= self.passes(n).forward:
            return (yield from by_enumeration(x, self.target, self.removal))
        orders = permutations(n, self.permutations, x.rng(self.seed, "shapley_sampling"))
        logits: FloatArray = yield Outputs(x, np.concatenate([growing(order) for order in orders]), self.removal)
        readout = yield from resolve(self.target, x)
        values = readout(logits).reshape(self.permutations, n + 1)
        scores = np.zeros(n)
        for order, gains in zip(orders, np.diff(values, axis=1), strict=True):
            scores[order] += gains / self.permutations
        return x.attribution(scores)
