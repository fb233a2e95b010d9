"""MaSF against a literal implementation, and its p-values against the level they claim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats

from verax.stats import masf
from verax.stats.masf import InDistributionTest, simes
from verax.types import FloatArray

Variant = Literal["conformal", "paper"]


class Literally:
    """Algorithm 2 as it is written: every comparison of every pair, one by one, in fractions, so that ties are exact.

    `first` fits the first two steps, and `second` is what the last statistic is ranked among.
    """

    def __init__(self, first: np.ndarray, second: np.ndarray, variant: Variant) -> None:
        self.variant = variant
        self.neurons = first
        self.layers = [[self.layer(x, l) for x in first] for l in range(first.shape[1])]
        self.inputs = [self.fisher(x) for x in second]

    def two_sided(self, history: Sequence[Fraction] | np.ndarray, value: Fraction | float) -> Fraction:
        count = sum(1 for old in history if old < value)
        n = len(history)
        if self.variant == "paper":
            return min(Fraction(count, n), 1 - Fraction(count, n))
        return min(Fraction(count + 1, n + 1), Fraction(n - count + 1, n + 1))

    def layer(self, x: np.ndarray, l: int) -> Fraction:
        q = sorted(self.two_sided(self.neurons[:, l, h], x[l, h]) for h in range(x.shape[1]))
        return min(q[i] * len(q) / (i + 1) for i in range(len(q)))

    def fisher(self, x: np.ndarray) -> Fraction:
        """The product whose logarithm, times -2, is the statistic: smaller if less usual."""
        p = [self.two_sided(self.layers[l], self.layer(x, l)) for l in range(x.shape[0])]
        return math.prod(value + Fraction(1, 10**8) for value in p)

    def p_value(self, x: np.ndarray) -> float:
        product = self.fisher(x)
        more_usual = sum(1 for old in self.inputs if old > product)
        if self.variant == "paper":
            return 1 - more_usual / len(self.inputs)
        return (len(self.inputs) - more_usual + 1) / (len(self.inputs) + 1)


@pytest.mark.parametrize("variant", ["conformal", "paper"])
@given(seed=st.integers(0, 10**6), ties=st.booleans())
@example(seed=2058, ties=True)  # sums of equal logarithms in another order, on either side of a rounding boundary
@settings(max_examples=8)
def test_it_is_the_algorithm(variant: Variant, seed: int, ties: bool) -> None:
    """1e-12, with and without ties among the values."""
    rng = np.random.default_rng(seed)
    known, new = rng.normal(size=(30, 3, 5)), rng.normal(size=(7, 3, 5))
    if ties:
        known, new = np.round(known), np.round(new)
    ranked = known if variant == "paper" else rng.normal(size=(2, 20, 3, 5))
    mine = InDistributionTest.fit(known, variant)
    if variant == "conformal":
        mine = mine.calibrated(np.stack([mine.statistics(at_ratio) for at_ratio in ranked]))
    found = mine.p_values(np.repeat(mine.statistics(new)[:, None], 2, axis=1))
    for ratio in range(2):
        literal = Literally(known, known if variant == "paper" else ranked[ratio], variant)
        assert np.abs(found[:, ratio] - [literal.p_value(x) for x in new]).max() <= 1e-12


def halves(data: np.ndarray, new: np.ndarray) -> FloatArray:
    """p-values of new inputs, from a test that is fitted on one half of the data and calibrated on the other."""
    half = len(data) // 2
    test = InDistributionTest.fit(data[:half])
    return test.calibrated(test.statistics(data[half:])[None]).p_values(test.statistics(new)[:, None])[:, 0]


def correlated(rng: np.random.Generator, n: int, layers: int = 4, neurons: int = 48) -> np.ndarray:
    """Values that share a few causes, as neurons do."""
    causes = np.random.default_rng(0).normal(size=(6, layers * neurons))
    return (rng.normal(size=(n, 6)) @ causes + rng.normal(size=(n, layers * neurons))).reshape(n, layers, neurons)


def test_conformal_p_values_are_uniform_on_exchangeable_data() -> None:
    """Kolmogorov and Smirnov over 20 repeats, the 1 % level: a new validation set for each, and one input from each.

    Inputs that share a validation set are dependent, so that each repeat gives a p-value for many inputs, of which the
    test of uniformity takes one.
    """
    drawn = []
    for repeat in range(400):
        rng = np.random.default_rng(repeat)
        data = correlated(rng, 81, layers=2, neurons=6)
        drawn.append(halves(data[:80], data[80:])[0])
    batches = np.array(drawn).reshape(20, 20)
    # p-values are multiples of 1/41: spread each over its step, as a uniform one would be
    spread = batches - np.random.default_rng(0).random(batches.shape) / 41
    levels = [stats.kstest(batch, "uniform").pvalue for batch in spread]
    assert min(levels) > 0.01 / 20, "no repeat alone, corrected for their number"
    assert stats.kstest(spread.ravel(), "uniform").pvalue > 0.01


def test_strange_inputs_have_small_p_values() -> None:
    rng = np.random.default_rng(1)
    p = halves(correlated(rng, 400), correlated(rng, 20)[:, :, ::-1] * 3)
    assert np.median(p) == pytest.approx(1 / 201), "the least there is"
    assert simes(p) <= 0.05


def test_the_data_set_keeps_its_level() -> None:
    """Over 200 data sets of 50 inputs each, Simes' p-value is below 0.05 no more often than chance allows."""
    below = 0
    for repeat in range(200):
        rng = np.random.default_rng(1000 + repeat)
        data = correlated(rng, 200, layers=2, neurons=6)
        below += simes(halves(data[:150], data[150:])) <= 0.05
    assert below <= stats.binom.isf(0.001, 200, 0.05)


@pytest.mark.parametrize(("dtype", "digits"), [(np.float64, 10), (np.float32, 5)])
def test_maxima_are_rounded_to_significant_digits(dtype: type, digits: int) -> None:
    """As Python writes them: so noise of the last bits leaves ties, and another digit does not."""
    values = np.random.default_rng(0).normal(size=500) * 10.0 ** np.arange(-8, 12).repeat(25)
    values = np.append(values, [0.0, 1.0, -9.9999999999]).astype(dtype)
    expected = np.array([float(f"{value:.{digits - 1}e}") for value in values.astype(float)]).astype(dtype)
    np.testing.assert_allclose(masf.rounded(values), expected, rtol=2 * float(np.finfo(dtype).eps))
    assert masf.rounded(values).dtype == dtype


def test_inputs_that_are_equal_up_to_rounding_noise_have_the_same_p_value() -> None:
    """Fully masked inputs of one length are equal on paper; the batch that they are in changes their last bits."""
    rng = np.random.default_rng(3)
    kinds = np.round(rng.normal(size=(5, 3, 40)), 2)
    drawn = rng.integers(0, 5, 200)
    exact = kinds[drawn]
    noisy = exact * (1 + 1e-13 * rng.normal(size=exact.shape))
    p = halves(noisy[:160], noisy[160:])
    np.testing.assert_array_equal(p, halves(exact[:160], exact[160:]))
    assert all(len(set(p[drawn[160:] == kind])) == 1 for kind in range(5))


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40))
def test_few_inputs_and_many_are_ranked_alike(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    reference = np.sort(rng.integers(-4, 5, (2, 3, n)).astype(float), axis=-1)
    values = rng.integers(-5, 6, (2, 3, 7)).astype(float)
    expected = (reference[..., None, :] < values[..., None]).sum(-1)
    np.testing.assert_array_equal(masf._smaller_at_once(reference, values), expected)
    many = np.tile(values, masf.FEW)
    np.testing.assert_array_equal(masf._smaller(reference, many), np.tile(expected, masf.FEW))


def test_simes_by_hand() -> None:
    # 3 * 0.04 / 1, 3 * 0.05 / 2, 3 * 0.9 / 3
    assert simes(np.array([0.9, 0.04, 0.05])) == pytest.approx(0.075)
    assert simes(np.array([0.2])) == 0.2
    assert simes(np.array([0.0, 1.0])) == 0.0


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20).map(np.array))
def test_combined_p_values_are_probabilities(p: FloatArray) -> None:
    assert p.min() <= simes(p) <= p.max()


def test_nothing_can_be_combined_of_nothing() -> None:
    with pytest.raises(ValueError, match="no p-value"):
        simes(np.array([]))
