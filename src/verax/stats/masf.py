"""MaSF: is an input from the distribution that a model was validated on? Max over positions, Simes, Fisher.

From the largest value that each neuron takes over the positions of an input, a p-value in three steps: a two-sided
p-value for each neuron, brought together by Simes for each layer; a two-sided p-value for each layer, brought together
by Fisher; a one-sided p-value of that. Every p-value is a rank among the inputs of a validation set: sorted arrays and
binary search, never a comparison of all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from verax.types import FloatArray, IntArray

Variant = Literal["conformal", "paper"]
DECIMALS = 12
"""Of the middle statistics: exact ties are the rule among them, and float noise must not break them."""
DIGITS = {8: 10, 4: 5}
"""Significant digits of maxima by the size of a number in bytes: fully masked inputs of one length tie exactly."""
TINY = 1e-8
"""Added to a p-value before its logarithm is taken."""
FEW = 24
"""Inputs, below which all columns are searched at once."""


@dataclass(frozen=True, eq=False)
class InDistributionTest:
    """What was learned from a validation set; every array is sorted along its last axis.

    Args:
        variant: `paper` ranks a new input among the whole validation set at every step, as published. `conformal` (the
            default) learns the first two steps from one half and ranks the last statistic among the other half, which
            makes its p-values valid if the new inputs and that half are exchangeable.
        neurons: largest values over positions, shape [layers, neurons, n].
        layers: statistics of Simes, shape [layers, n].
        inputs: statistics of Fisher that new ones are ranked among, at each masking ratio: shape [ratios, inputs], or
            [1, inputs] if they are the same at all ratios.
    """

    variant: Variant
    neurons: FloatArray
    layers: FloatArray
    inputs: FloatArray

    @classmethod
    def fit(cls, maxima: FloatArray, variant: Variant = "conformal") -> InDistributionTest:
        """Learn from validation inputs; the conformal variant must be calibrated on others afterwards.

        Args:
            maxima: largest value over positions, shape [inputs, layers, neurons].
            variant: as above.
        """
        n, columns = len(maxima), _columns(maxima)
        neurons, smaller = np.empty_like(columns), np.empty(columns.shape, np.int32)
        for place in np.ndindex(columns.shape[:-1]):
            neurons[place], smaller[place] = _ranked(columns[place])
        by_layer = _simes(_lesser_tail(smaller, n), n, variant)
        learned = cls(variant, neurons, np.sort(by_layer, axis=-1), np.empty((1, 0)))
        return learned.calibrated(learned._fisher(by_layer)[None]) if variant == "paper" else learned

    def calibrated(self, statistics: FloatArray) -> InDistributionTest:
        """The test that ranks new inputs among these statistics, shape [ratios or 1, inputs]."""
        return replace(self, inputs=np.sort(statistics, axis=-1))

    def statistics(self, maxima: FloatArray) -> FloatArray:
        """The statistic of Fisher for each input, larger if less usual: [inputs, layers, neurons] -> [inputs]."""
        smaller = _smaller(self.neurons, _columns(maxima))
        n = self.neurons.shape[-1]
        return self._fisher(_simes(_lesser_tail(smaller, n), n, self.variant))

    def _fisher(self, by_layer: FloatArray) -> FloatArray:
        """The statistic of Fisher, from those of Simes: [layers, inputs] -> [inputs]."""
        n = self.layers.shape[-1]
        # sorted, because a sum in another order differs in the last bit, which can cross a rounding boundary
        p = _p_value(np.sort(_lesser_tail(_smaller(self.layers, by_layer), n), axis=0), n, self.variant)
        return np.asarray(np.round(-2 * np.log(p + TINY).sum(0), DECIMALS))

    def p_values(self, statistics: FloatArray) -> FloatArray:
        """Probability that an in-distribution input is as unusual, at each masking ratio.

        Those of the conformal variant are at least 1 / (inputs it is calibrated on + 1).

        Args:
            statistics: of inputs masked at each ratio, shape [inputs, ratios].

        Returns:
            Shape [inputs, ratios].
        """
        reference = np.broadcast_to(self.inputs, (statistics.shape[1], self.inputs.shape[1]))
        smaller, n = _smaller(reference, statistics.T).T, reference.shape[1]
        if self.variant == "paper":
            return np.asarray(1 - smaller / n)
        return np.asarray((n - smaller + 1) / (n + 1))


def _columns(maxima: FloatArray) -> FloatArray:
    """Each neuron's rounded values side by side in memory: [inputs, layers, neurons] -> [layers, neurons, inputs]."""
    return np.ascontiguousarray(np.moveaxis(rounded(maxima), 0, -1))


def rounded(values: FloatArray) -> FloatArray:
    """Values with the digits that do not depend on the batch they were computed in (`DIGITS`), in their own type."""
    exact = values.astype(np.float64)
    size = np.maximum(np.abs(exact), 1e-200)  # 0 has no logarithm
    scale = 10.0 ** (DIGITS.get(values.dtype.itemsize, 3) - 1 - np.floor(np.log10(size)))
    return np.asarray((np.round(exact * scale) / scale).astype(values.dtype))


def _ranked(column: FloatArray) -> tuple[FloatArray, IntArray]:
    """A column sorted, and how many of its values are strictly smaller than each; shape [n] each."""
    order = np.argsort(column)
    ordered = column[order]
    first = np.arange(len(column), dtype=np.int32)
    first[1:][ordered[1:] == ordered[:-1]] = 0
    smaller = np.empty(len(column), np.int32)
    smaller[order] = np.maximum.accumulate(first)
    return ordered, smaller


def _smaller(reference: FloatArray, values: FloatArray) -> IntArray:
    """How many reference values are strictly smaller than each value: [..., n], [..., inputs] -> [..., inputs]."""
    if values.shape[-1] < FEW:
        return _smaller_at_once(reference, values)
    counts = np.empty(values.shape, np.int32)
    for place in np.ndindex(values.shape[:-1]):
        counts[place] = np.searchsorted(reference[place], values[place], side="left")
    return counts


def _smaller_at_once(reference: FloatArray, values: FloatArray) -> IntArray:
    """`_smaller` for few inputs: one binary search over all columns together, which is faster than a loop.

    `counts` values are known to be smaller; at each turn it is tried whether `half` more are.
    """
    n = reference.shape[-1]
    flat, first = reference.ravel(), np.arange(reference.size // n).reshape(*reference.shape[:-1], 1) * n
    counts, half = np.zeros(values.shape, np.int64), 1 << n.bit_length() >> 1
    while half:
        more = counts + half
        known = more <= n
        known &= flat[first + np.minimum(more, n) - 1] < values
        counts = np.where(known, more, counts)
        half >>= 1
    return counts


def _lesser_tail(smaller: IntArray, n: int) -> IntArray:
    """How many of n reference values lie in the smaller tail: those below, or those not below."""
    return np.minimum(smaller, n - smaller)


def _p_value(count: IntArray | FloatArray, n: int, variant: Variant) -> FloatArray:
    """The p-value of a tail with so many of n reference values.

    As published it is their share, which is 0 beyond the largest one: a single such neuron decides for its layer, and
    all that have one are tied. The conformal variant counts the new value into the tail, (count + 1) / (n + 1), so that
    no tail is empty and the number of such neurons tells.
    """
    return np.asarray(count / n if variant == "paper" else (count + 1) / (n + 1))


def _simes(tails: IntArray, n: int, variant: Variant) -> FloatArray:
    """Simes over the neurons of each layer, rounded: counts of shape [layers, neurons, inputs] -> [layers, inputs].

    The counts are sorted, not the p-values that they stand for: small whole numbers sort many times faster.
    """
    neurons = tails.shape[1]
    weights = neurons / np.arange(1, neurons + 1)
    least = []
    for layer in tails:
        ordered = np.sort(layer.T.astype(np.min_scalar_type(n + 1)), axis=-1)
        least.append((_p_value(ordered.astype(np.float64), n, variant) * weights).min(-1))
    return np.asarray(np.round(np.stack(least), DECIMALS))


def simes(p: FloatArray) -> float:
    """One p-value of many, shape [n]: the least of n * p_(i) / i over the sorted ones (Simes, 1986)."""
    if not len(p):
        raise ValueError("no p-value to combine")
    return float(np.min(np.sort(p) * (len(p) / np.arange(1, len(p) + 1))))
