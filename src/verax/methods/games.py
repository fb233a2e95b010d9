"""The game of an input: questions for the value of coalitions of its words, and the values derived from them.

Shapley values and their bivariate form use the same game, so the second method that asks for it needs no pass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verax.engine.questions import Outputs, QuestionGenerator, resolve
from verax.methods.coalitions import (
    Quadratic,
    Weighted,
    all_coalitions,
    bivariate_values,
    growing,
    kernel_coalitions,
    kernel_size_weights,
    kernel_values,
    permutations,
    quadratic_fit,
    shapley_values,
)
from verax.models.subject import Subject
from verax.types import FloatArray, IntArray, Removal, Target


@dataclass(frozen=True, eq=False, slots=True)
class Enumerated:
    """A game with the value of every coalition, in the order of `all_coalitions`: shape [2^n]."""

    values: FloatArray

    def shapley(self) -> FloatArray:
        """Exact Shapley values, shape [n]."""
        return shapley_values(self.values)

    def bivariate(self) -> FloatArray:
        """Exact importance of word i given that word j is present, shape [n, n]."""
        n = len(self.values).bit_length() - 1
        nothing = Quadratic(np.zeros(n), np.zeros((n, n)))
        return bivariate_values(all_coalitions(n), self.values - self.values[0], np.ones(len(self.values)), nothing)


@dataclass(frozen=True, eq=False, slots=True)
class Sampled:
    """A game with the values of some coalitions, sampled and weighted as in Kernel SHAP.

    Args:
        drawn: the coalitions between none and all.
        values: their values, shape [rows].
        nothing, everything: the values of no word and of all.
    """

    drawn: Weighted
    values: FloatArray
    nothing: float
    everything: float

    def shapley(self) -> FloatArray:
        """Shapley values by weighted least squares, shape [n]."""
        return kernel_values(self.drawn, self.values, self.nothing, self.everything)

    def bivariate(self) -> FloatArray:
        """Importance of word i given that word j is present, shape [n, n].

        The part that words and pairs of words explain is known in closed form; the rest is summed over the sampled
        coalitions, each representing all of its size, and the coalition of all words.
        """
        keep, n = self.drawn.keep, self.drawn.keep.shape[1]
        stands_for = self.drawn.weights / kernel_size_weights(n)[keep.sum(1)]
        known = quadratic_fit(self.drawn, self.values - self.nothing, self.shapley())
        return bivariate_values(
            np.concatenate([keep, np.ones((1, n), bool)]),
            np.append(self.values, self.everything) - self.nothing,
            np.append(stands_for, 1.0),
            known,
        )


@dataclass(frozen=True, eq=False, slots=True)
class Ordered:
    """A game with the values of coalitions that grow word by word in some orders.

    Args:
        orders: shape [orders, n].
        values: from no word to all, shape [orders, n + 1].
    """

    orders: IntArray
    values: FloatArray

    def shapley(self) -> FloatArray:
        """Mean contribution of each word when it joins, over the orders: shape [n]."""
        return np.asarray(self._gains().mean(0))

    def bivariate(self) -> FloatArray:
        """Mean contribution of word i over the orders in which word j precedes it: shape [n, n]."""
        places = np.argsort(self.orders, axis=1)
        before = places[:, None, :] < places[:, :, None]  # [orders, i, j]
        return np.asarray(np.einsum("oi,oij->ij", self._gains(), before) / len(self.orders))

    def _gains(self) -> FloatArray:
        gains = np.empty(self.orders.shape)
        np.put_along_axis(gains, self.orders, np.diff(self.values, axis=1), axis=1)
        return gains


Game = Enumerated | Sampled | Ordered


def enumerated(x: Subject, target: Target, removal: Removal) -> QuestionGenerator[Enumerated]:
    """The game with every coalition; the caller checks their number."""
    logits: FloatArray = yield Outputs(x, all_coalitions(x.n_units), removal)
    readout = yield from resolve(target, x)
    return Enumerated(readout(logits))


def sampled(x: Subject, target: Target, removal: Removal, budget: int | None, seed: int) -> QuestionGenerator[Game]:
    """The game with as many coalitions as the budget allows, or all if it allows them.

    One question: no word, the coalitions, all words.
    """
    n, passes = x.n_units, sampled_passes(x.n_units, budget)
    if 2**n <= passes:
        return (yield from enumerated(x, target, removal))
    drawn = kernel_coalitions(n, passes - 2, x.rng(seed, "kernel_shap"))
    keep = np.concatenate([np.zeros((1, n), bool), drawn.keep])
    logits: FloatArray = yield Outputs(x, keep, removal, and_full=True)
    readout = yield from resolve(target, x)
    nothing, *values, everything = readout(logits)
    return Sampled(drawn, np.array(values), nothing, everything)


def sampled_passes(n: int, budget: int | None) -> int:
    """The budget, 2 n + 2048 by default, but never more than the number of coalitions."""
    return min(1 << n, 2 * n + 2048 if budget is None else budget)


def ordered(x: Subject, target: Target, removal: Removal, count: int, seed: int) -> QuestionGenerator[Game]:
    """The game with the coalitions of `count` random orders, or with all if there are no more."""
    n = x.n_units
    if 2**n <= ordered_passes(n, count):
        return (yield from enumerated(x, target, removal))
    orders = permutations(n, count, x.rng(seed, "shapley_sampling"))
    logits: FloatArray = yield Outputs(x, np.concatenate([growing(order) for order in orders]), removal)
    readout = yield from resolve(target, x)
    return Ordered(orders, readout(logits).reshape(count, n + 1))


def ordered_passes(n: int, count: int) -> int:
    """The inner coalitions of each order, plus none and all; never more than the number of coalitions."""
    return min(1 << n, count * (n - 1) + 2)
