"""MaSF: is an input from the distribution that a model was validated on? Max over positions, Simes, Fisher.

From the largest value that each neuron takes over the positions of an input, a p-value in three steps: a two-sided
p-value for each neuron, brought together by Simes for each layer; a two-sided p-value for each layer, brought together
by Fisher; a one-sided p-value of that. Every p-value is a rank among the inputs of a validation set: sorted arrays and
binary search, never a comparison of all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from verax.types import FloatArray

Variant = Literal["conformal", "paper"]
DECIMALS = 12
"""Of the middle statistics: exact ties are the rule among them, and float noise must not break them."""
TINY = 1e-8
"""Added to a p-value before its logarithm is taken."""


@dataclass(frozen=True, eq=False)
class Masf:
    """What was learned from a validation set; every array is sorted along its first axis.

    Args:
        variant: `paper` ranks a new input among the whole validation set at every step, as published. `conformal` (the
            default) learns the first two steps from one half and ranks the last statistic among the other half, which
            makes its p-values valid if the new inputs and the validation set are exchangeable.
        neurons: largest values over positions, shape [n, layers, neurons].
        layers: statistics of Simes, shape [n, layers].
        inputs: statistics of Fisher, shape [n, or those of the other half].
    """

    variant: Variant
    neurons: FloatArray
    layers: FloatArray
    inputs: FloatArray

    @classmethod
    def fit(cls, maxima: FloatArray, variant: Variant = "conformal", *, seed: int = 0) -> Masf:
        """Learn from a validation set.

        Args:
            maxima: largest value over positions, shape [inputs, layers, neurons].
            variant: as above.
            seed: of the halves.
        """
        first, second = maxima, maxima
        if variant == "conformal":
            order = np.random.default_rng(seed).permutation(len(maxima))
            first, second = maxima[order[: len(order) // 2]], maxima[order[len(order) // 2 :]]
        neurons = np.sort(first, axis=0)
        layers = np.sort(_simes(_two_sided(neurons, first, variant)), axis=0)
        learned = cls(variant, neurons, layers, np.empty(0))
        return cls(variant, neurons, layers, np.sort(learned.statistics(second)))

    def statistics(self, maxima: FloatArray) -> FloatArray:
        """The statistic of Fisher for each input, larger for stranger ones: [inputs, layers, neurons] -> [inputs]."""
        by_layer = _simes(_two_sided(self.neurons, maxima, self.variant))
        p = _two_sided(self.layers, by_layer, self.variant)
        return np.asarray(np.round(-2 * np.log(p + TINY).sum(1), DECIMALS))

    def p_values(self, maxima: FloatArray) -> FloatArray:
        """How likely in-distribution inputs are at least as strange: [inputs, layers, neurons] -> [inputs].

        Those of the conformal variant are at least 1 / (half the validation set + 1).
        """
        smaller = np.searchsorted(self.inputs, self.statistics(maxima), side="left")
        n = len(self.inputs)
        if self.variant == "paper":
            return np.asarray(1 - smaller / n)
        return np.asarray((n - smaller + 1) / (n + 1))


def _two_sided(reference: FloatArray, values: FloatArray, variant: Variant) -> FloatArray:
    """The lesser tail of each value among the reference values: [n, ...], [inputs, ...] -> [inputs, ...].

    As published it is min(c, 1 - c) of the share c of strictly smaller values, which is 0 beyond the largest one: a
    single such neuron decides for its layer, and all that have one are tied. The conformal variant counts the new value
    into both tails, (count + 1) / (n + 1), so that no tail is empty and the number of such neurons tells.
    """
    n, columns = len(reference), int(np.prod(reference.shape[1:]))
    smaller = np.empty((columns, len(values)))
    # columns as rows, so that each search runs over neighbours in memory
    sorted_rows, rows = (np.ascontiguousarray(array.reshape(-1, columns).T) for array in (reference, values))
    for i in range(columns):
        smaller[i] = np.searchsorted(sorted_rows[i], rows[i], side="left")
    lower, upper = smaller / n, 1 - smaller / n
    if variant == "conformal":
        lower, upper = (smaller + 1) / (n + 1), (n - smaller + 1) / (n + 1)
    return np.minimum(lower, upper).T.reshape(values.shape)


def _simes(p: FloatArray) -> FloatArray:
    """Simes over the last axis, rounded: [inputs, layers, neurons] -> [inputs, layers]."""
    n = p.shape[-1]
    return np.asarray(np.round((np.sort(p, axis=-1) * (n / np.arange(1, n + 1))).min(-1), DECIMALS))
