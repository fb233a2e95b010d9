"""Games over the words of an input: the target f at coalitions of its words, and the values derived from it.

Shapley values and their bivariate form use the same game, so the second method that asks for it needs no pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.linalg import cho_solve

from verax.engine.questions import Outputs, QuestionGenerator, resolve_target
from verax.methods.coalitions import (
    Weighted,
    all_coalitions,
    growing,
    kernel_coalitions,
    kernel_size_weights,
    permutations,
)
from verax.models.subject import Subject
from verax.types import BoolArray, FloatArray, IntArray, Removal, Target

WELL_CONDITIONED = 1e-2
"""Least ratio of the pivots of normal equations that are solved: their error grows with its square."""
RIDGE = 1e-3
"""Penalty of a regression on pairs of words, as a share of the mean weight of a feature."""


@dataclass(frozen=True, eq=False, slots=True)
class Quadratic:
    """A game whose value is a sum over words, shape [n], and pairs of words, symmetric with 0 on the diagonal."""

    own: FloatArray
    bonds: FloatArray

    def __call__(self, keep: BoolArray) -> FloatArray:
        """Value of coalitions: [rows, n] -> [rows]."""
        inside = keep.astype(np.float64)
        return np.asarray(inside @ self.own + ((inside @ self.bonds) * inside).sum(1) / 2)

    def bivariate(self) -> FloatArray:
        """The importance of i given j, shape [n, n].

        j precedes i in half of all orders, and j and a third word both do in a third of them.
        """
        others = self.bonds.sum(1)[:, None] - self.bonds
        return np.asarray(self.own[:, None] / 2 + self.bonds / 2 + others / 3)


@dataclass(frozen=True, eq=False, slots=True)
class Enumerated:
    """A game with the value of every coalition, in the order of `all_coalitions`: shape [2^n]."""

    values: FloatArray

    def shapley(self) -> FloatArray:
        """Exact Shapley values, shape [n]."""
        n = len(self.values).bit_length() - 1
        numbers = np.arange(len(self.values))
        sizes = all_coalitions(n).sum(1)
        weights = _joining_weights(n)
        scores = np.empty(n)
        for i in range(n):
            without = numbers[(numbers >> i) & 1 == 0]
            scores[i] = weights[sizes[without]] @ (self.values[without | (1 << i)] - self.values[without])
        return scores

    def bivariate(self) -> FloatArray:
        """Exact importance of word i given that word j is present, shape [n, n]."""
        n = len(self.values).bit_length() - 1
        nothing = Quadratic(np.zeros(n), np.zeros((n, n)))
        return _bivariate_values(all_coalitions(n), self.values - self.values[0], np.ones(len(self.values)), nothing)


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
        """Shapley values by weighted least squares, such that they sum to f(all) - f(none): shape [n].

        The part that the sum explains is first removed from both sides, so that the constraint holds by construction.
        """
        keep = self.drawn.keep
        share = (self.everything - self.nothing) / keep.shape[1]
        root = np.sqrt(self.drawn.weights)[:, None]
        centred = keep - keep.mean(1, keepdims=True)
        rest = self.values - self.nothing - share * keep.sum(1)
        return np.asarray(share + _least_squares(root * centred, root[:, 0] * rest))

    def bivariate(self) -> FloatArray:
        """Importance of word i given that word j is present, shape [n, n].

        The part that words and pairs of words explain is known in closed form; the rest is summed over the sampled
        coalitions, each representing all of its size, and the coalition of all words.
        """
        keep, n = self.drawn.keep, self.drawn.keep.shape[1]
        stands_for = self.drawn.weights / kernel_size_weights(n)[keep.sum(1)]
        known = _quadratic_fit(self.drawn, self.values - self.nothing, self.shapley())
        return _bivariate_values(
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
    readout = yield from resolve_target(target, x)
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
    readout = yield from resolve_target(target, x)
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
    readout = yield from resolve_target(target, x)
    return Ordered(orders, readout(logits).reshape(count, n + 1))


def ordered_passes(n: int, count: int) -> int:
    """The inner coalitions of each order, plus none and all; never more than the number of coalitions."""
    return min(1 << n, count * (n - 1) + 2)


def _least_squares(features: FloatArray, values: FloatArray) -> FloatArray:
    """The shortest solution, shape [n], for features whose rows sum to 0: [rows, n] and [rows].

    No solution is affected by adding the same number to all of its entries, and the shortest one sums to 0. If nothing
    else is undetermined, it follows from the normal equations, which takes a small part of the time of a general
    solution for inputs of hundreds of words.
    """
    products = features.T @ features
    scale = np.trace(products) / len(products)
    try:
        lower = np.linalg.cholesky(products + scale / len(products))
    except np.linalg.LinAlgError:
        lower = np.zeros((1, 1))
    pivots = np.diag(lower)
    if pivots.min() > WELL_CONDITIONED * pivots.max():
        return np.asarray(cho_solve((lower, True), features.T @ values))
    return np.asarray(np.linalg.lstsq(features, values, rcond=None)[0])


def _joining_weights(n: int) -> FloatArray:
    """Weight in a Shapley value of a coalition that the word joins, by its size: shape [n]."""
    return np.array([1 / (n * comb(n - 1, size)) for size in range(n)])


def _quadratic_fit(drawn: Weighted, values: FloatArray, shapley: FloatArray) -> Quadratic:
    """The additive game with these Shapley values, plus pairs of words fitted to the residual.

    Pairs are fitted by ridge regression, and only where there are twice as many coalitions as words and pairs.

    Args:
        values: of the coalitions, minus that of no word; shape [rows].
    """
    rows, n = drawn.keep.shape
    first, second = np.triu_indices(n, k=1)
    bonds = np.zeros((n, n))
    if 2 * (n + len(first)) > rows:
        return Quadratic(shapley, bonds)
    inside = drawn.keep.astype(np.float64)
    root = np.sqrt(drawn.weights)[:, None]
    features = root * np.concatenate([inside, inside[:, first] * inside[:, second]], axis=1)
    products = features.T @ features
    ridge = RIDGE * np.trace(products) / len(products)
    rest = root[:, 0] * (values - inside @ shapley)
    fitted = np.linalg.solve(products + ridge * np.eye(len(products)), features.T @ rest)
    bonds[first, second] = bonds[second, first] = fitted[n:]
    return Quadratic(shapley + fitted[:n], bonds)


def _bivariate_values(keep: BoolArray, values: FloatArray, stands_for: FloatArray, known: Quadratic) -> FloatArray:
    """Contribution of word i to coalitions that contain word j, weighted as in the Shapley value of i (Equation 22).

    The contribution of a quadratic game is known in closed form, so only the residual is summed over the coalitions.
    With all coalitions the result is exact, whatever that game is.

    Args:
        keep: coalitions, shape [rows, n].
        values: of each, minus that of no word; shape [rows].
        stands_for: number of coalitions that each row represents, shape [rows].
        known: a quadratic approximation of the game.

    Returns:
        Shape [n, n]: entry [i, j] is the importance of i given j; the diagonal is 0.
    """
    n = keep.shape[1]
    sizes = keep.sum(1)
    inside = keep.astype(np.float64)
    rest = (values - known(keep)) * stands_for
    joining = _joining_weights(n)
    joined = inside * (rest * np.where(sizes > 0, joining[np.maximum(sizes, 1) - 1], 0.0))[:, None]
    alone = inside * (rest * np.where(sizes < n, joining[np.minimum(sizes, n - 1)], 0.0))[:, None]
    values_given = inside.T @ joined - (1 - inside).T @ alone + known.bivariate()
    np.fill_diagonal(values_given, 0.0)
    return np.asarray(values_given)
