"""MaSF against a literal implementation, and its p-values against the level they claim."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from verax.stats import masf
from verax.stats.inference import simes
from verax.stats.masf import InDistributionTest

Variant = Literal["conformal", "paper"]


class Literally:
    """Algorithm 2 as it is written: every comparison of every pair, one by one."""

    def __init__(self, maxima: np.ndarray, variant: Variant, seed: int) -> None:
        self.variant = variant
        first, second = maxima, maxima
        if variant == "conformal":
            order = np.random.default_rng(seed).permutation(len(maxima))
            half = len(maxima) // 2
            first, second = maxima[order[:half]], maxima[order[half:]]
        self.neurons = first
        self.layers = np.array([[self.layer(x, l) for l in range(x.shape[0])] for x in first])
        self.inputs = [self.fisher(x) for x in second]

    def two_sided(self, history: np.ndarray, value: float) -> float:
        count = sum(1 for old in history if old < value)
        n = len(history)
        if self.variant == "paper":
            return min(count / n, 1 - count / n)
        return min((count + 1) / (n + 1), (n - count + 1) / (n + 1))

    def layer(self, x: np.ndarray, l: int) -> float:
        p = [self.two_sided(self.neurons[:, l, h], x[l, h]) for h in range(x.shape[1])]
        q = sorted(p)
        return round(min(q[i] * len(q) / (i + 1) for i in range(len(q))), 12)

    def fisher(self, x: np.ndarray) -> float:
        p = [self.two_sided(self.layers[:, l], self.layer(x, l)) for l in range(x.shape[0])]
        return round(-2 * sum(np.log(value + 1e-8) for value in p), 12)

    def p_value(self, x: np.ndarray) -> float:
        statistic = self.fisher(x)
        smaller = sum(1 for old in self.inputs if old < statistic)
        if self.variant == "paper":
            return 1 - smaller / len(self.inputs)
        return (len(self.inputs) - smaller + 1) / (len(self.inputs) + 1)


@pytest.mark.parametrize("variant", ["conformal", "paper"])
@given(seed=st.integers(0, 10**6), ties=st.booleans())
@settings(max_examples=8)
def test_it_is_the_algorithm(variant: Variant, seed: int, ties: bool) -> None:
    """1e-12, with and without ties among the values."""
    rng = np.random.default_rng(seed)
    known, new = rng.normal(size=(30, 3, 5)), rng.normal(size=(7, 3, 5))
    if ties:
        known, new = np.round(known), np.round(new)
    literal = Literally(known, variant, seed=1)
    mine = InDistributionTest.fit(known, variant, seed=1).p_values(new)
    assert np.abs(mine - [literal.p_value(x) for x in new]).max() <= 1e-12


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
        drawn.append(InDistributionTest.fit(data[:80], seed=repeat).p_values(data[80:])[0])
    batches = np.array(drawn).reshape(20, 20)
    # p-values are multiples of 1/41: spread each over its step, as a uniform one would be
    spread = batches - np.random.default_rng(0).random(batches.shape) / 41
    levels = [stats.kstest(batch, "uniform").pvalue for batch in spread]
    assert min(levels) > 0.01 / 20, "no repeat alone, corrected for their number"
    assert stats.kstest(spread.ravel(), "uniform").pvalue > 0.01


def test_strange_inputs_have_small_p_values() -> None:
    rng = np.random.default_rng(1)
    fitted = InDistributionTest.fit(correlated(rng, 400))
    strange = correlated(rng, 20)[:, :, ::-1] * 3
    p = fitted.p_values(strange)
    assert np.median(p) == pytest.approx(1 / 201), "the least there is"
    assert simes(p) <= 0.05


def test_the_data_set_keeps_its_level() -> None:
    """Over 200 data sets of 50 inputs each, Simes' p-value is below 0.05 no more often than chance allows."""
    below = 0
    for repeat in range(200):
        rng = np.random.default_rng(1000 + repeat)
        data = correlated(rng, 200, layers=2, neurons=6)
        below += simes(InDistributionTest.fit(data[:150], seed=repeat).p_values(data[150:])) <= 0.05
    assert below <= stats.binom.isf(0.001, 200, 0.05)


@given(seed=st.integers(0, 10**6), n=st.integers(1, 40))
def test_few_inputs_and_many_are_ranked_alike(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    reference = np.sort(rng.integers(-4, 5, (2, 3, n)).astype(float), axis=-1)
    values = rng.integers(-5, 6, (2, 3, 7)).astype(float)
    expected = (reference[..., None, :] < values[..., None]).sum(-1)
    np.testing.assert_array_equal(masf._smaller_at_once(reference, values), expected)
    many = np.tile(values, masf.FEW)
    np.testing.assert_array_equal(masf._smaller(reference, many), np.tile(expected, masf.FEW))
