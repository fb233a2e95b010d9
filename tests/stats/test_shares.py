"""Intervals of shares, against formulas, the bootstrap itself, and how often they cover the truth."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.stats.inference import bca
from verax.stats.shares import mean_difference, of_sums, ratio, share

Z2 = 1.959963984540054**2


def test_no_instance_has_no_share():
    assert share(0, 0) is None
    assert ratio(np.zeros(3), np.zeros(3)) is None
    assert mean_difference(np.zeros(0)) is None


@pytest.mark.parametrize("n", [1, 5, 200])
def test_at_the_border_the_interval_is_wilsons(n):
    none, all_ = share(0, n), share(n, n)
    assert (none.value, all_.value) == (0, 1)
    assert none.low == pytest.approx(0, abs=1e-12)
    assert none.high == pytest.approx(Z2 / (n + Z2))
    assert all_.low == pytest.approx(n / (n + Z2))
    assert all_.high == pytest.approx(1)


@pytest.mark.parametrize(("hits", "n"), [(3, 20), (40, 90), (1, 12), (150, 160)])
def test_inside_it_is_the_bca_interval_of_the_same_zeros_and_ones(hits, n):
    found = share(hits, n)
    low, high = bca(np.repeat([1.0, 0.0], [hits, n - hits]))
    assert found.value == hits / n
    # resamples are drawn otherwise, and their means lie 1 / n apart
    assert found.low == pytest.approx(low, abs=1.01 / n)
    assert found.high == pytest.approx(high, abs=1.01 / n)


@given(st.integers(1, 60), st.data())
def test_an_interval_contains_its_share(n, data):
    hits = data.draw(st.integers(0, n))
    found = share(hits, n)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(1)
    held = [(found := share(int(hits), 100)).low <= 0.3 <= found.high for hits in rng.binomial(100, 0.3, 300)]
    assert 0.9 <= np.mean(held) <= 0.99


def test_a_ratio_is_of_the_sums_and_its_interval_over_instances():
    hits, of = np.array([4.0, 0, 0, 0, 1, 0]), np.array([4.0, 4, 1, 0, 1, 2])
    found = ratio(hits, of)
    assert found.value == 5 / 12
    assert found.low < 5 / 12 < found.high
    # twelve independent ones would have a narrower interval than five instances of several
    alone = share(5, 12)
    assert found.high - found.low > alone.high - alone.low


def test_a_ratio_at_the_border_counts_instances_and_not_their_pieces():
    assert ratio(np.zeros(5), np.full(5, 10.0)) == share(0, 5)
    assert ratio(np.full(5, 10.0), np.full(5, 10.0)) == share(5, 5)


def test_a_statistic_of_sums_is_that_of_the_mean_if_it_is_one():
    values = np.random.default_rng(0).normal(size=80)
    found = of_sums(np.stack([values, np.ones(80)], axis=1), lambda sums: sums[..., 0] / sums[..., 1])
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx(bca(values), abs=0.02)
    assert of_sums(np.ones((1, 2)), lambda sums: sums[..., 0]) == (1.0, None, None)


def test_differences_that_are_all_equal_have_no_interval():
    assert mean_difference(np.full(4, 0.5)) == (0.5, None, None)
    found = mean_difference(np.array([0.0, 1.0, 1.0, 0.0, 1.0]))
    assert found.low < 0.6 < found.high
    assert math.isclose(found.value, 0.6)
