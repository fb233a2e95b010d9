"""Intervals and tests against scipy, against enumeration, and against what they promise over many simulated sets."""

from __future__ import annotations

import itertools
import tracemalloc
import warnings
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from verax.stats import bca, fisher, holm, paired_test, sign_flips, simes
from verax.types import FloatArray

values = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=2, max_size=25).map(np.array)
probabilities = st.floats(0.0, 1.0)


def enumerated(differences: FloatArray) -> float:
    """The exact two-sided p, written down as its definition."""
    observed = abs(differences.sum())
    sums = [abs(np.dot(signs, differences)) for signs in itertools.product([-1.0, 1.0], repeat=len(differences))]
    return float(np.mean([value >= observed - 1e-9 for value in sums]))


def test_bca_is_scipys_on_sorted_values() -> None:
    x = np.random.default_rng(1).exponential(size=60)
    expected = stats.bootstrap((np.sort(x),), np.mean, method="BCa", rng=np.random.default_rng(5)).confidence_interval
    # The same draws in other batches; what is left is rounding.
    assert bca(x, seed=5) == pytest.approx(tuple(expected), rel=1e-12)


def test_bca_level_widens_the_interval() -> None:
    x = np.random.default_rng(1).normal(size=40)
    narrow, wide = bca(x, level=0.5), bca(x, level=0.99)
    assert narrow is not None
    assert wide is not None
    assert wide[0] < narrow[0] < x.mean() < narrow[1] < wide[1]


@pytest.mark.parametrize("few", [[], [0.3]])
def test_bca_needs_two_values(few: list[float]) -> None:
    assert bca(np.array(few)) is None


def test_bca_of_equal_values_is_the_value() -> None:
    assert bca(np.full(7, 0.1)) == (0.1, 0.1)


def test_bca_falls_back_to_percentiles_when_the_spread_underflows() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0]) * 1e-120
    with np.errstate(all="ignore"), pytest.warns(stats.DegenerateDataWarning):
        undefined = stats.bootstrap((x,), np.mean, method="BCa", rng=np.random.default_rng(0)).confidence_interval
    assert np.isnan(undefined.low)
    expected = stats.bootstrap((x,), np.mean, method="percentile", rng=np.random.default_rng(0)).confidence_interval
    assert bca(x) == pytest.approx(tuple(expected), rel=1e-12)


def test_bca_covers_the_mean_of_skewed_data() -> None:
    """Nominal 90 % on 25 exponential values: 400 sets, so a standard error of 1.5 %.

    BCa is known to fall short by a few per cent at this size and skew; the bounds allow for that and 3 standard errors.
    """
    rng = np.random.default_rng(11)
    hits = 0
    for _ in range(400):
        interval = bca(rng.exponential(size=25), level=0.9, resamples=999)
        assert interval is not None
        hits += interval[0] <= 1.0 <= interval[1]
    assert 0.82 <= hits / 400 <= 0.945


@settings(max_examples=40, deadline=None)
@given(values, st.randoms(use_true_random=False))
def test_bca_ignores_order_and_stays_within_the_values(x: FloatArray, shuffle: Random) -> None:
    shuffled = x.copy()
    shuffle.shuffle(shuffled)
    interval = bca(x, resamples=199)
    assert interval == bca(shuffled, resamples=199)
    assert interval is not None
    slack = 1e-9 * np.abs(x).max()
    assert x.min() - slack <= interval[0] <= interval[1] <= x.max() + slack


@pytest.mark.parametrize("n", range(2, 9))
def test_paired_test_is_exact_for_few_pairs(n: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(5):
        a, b = rng.normal(0.5, 1, n), rng.normal(size=n)
        p = paired_test(a, b)
        assert p == enumerated(a - b)
        oracle = stats.permutation_test(
            (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf, vectorized=False
        )
        assert p == oracle.pvalue


def test_paired_test_counts_ties_that_rounding_hides() -> None:
    # 0.1 + 0.2 - 0.3 is not 0 in floating point, yet on paper half of the flips tie with what was observed.
    a = np.array([0.1, 0.2, 0.3, 0.1])
    assert paired_test(a, np.zeros(4)) == enumerated(np.array([1.0, 2.0, 3.0, 1.0])) == 0.125
    assert paired_test(np.array([0.1, 0.2, -0.3]), np.zeros(3)) == 1.0


def test_paired_test_agrees_with_the_exact_p_when_it_draws() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.4, 1, 15), rng.normal(size=15)
    exact = paired_test(a, b, resamples=2**15)
    drawn = paired_test(a, b, resamples=2**15 - 1, seed=4)
    assert exact == enumerated(a - b)
    assert drawn != exact
    # Five standard errors of a proportion over 32,767 draws.
    assert drawn == pytest.approx(exact, abs=5 * (exact * (1 - exact) / 2**15) ** 0.5)


def test_paired_test_never_gives_zero() -> None:
    assert paired_test(np.ones(50), np.zeros(50), resamples=999) == 1 / 1000


def test_paired_test_in_the_awkward_cases() -> None:
    assert paired_test(np.array([]), np.array([])) is None
    assert paired_test(np.array([1.0]), np.array([0.0])) is None
    for n in (2, 30):
        assert paired_test(np.full(n, 0.1), np.full(n, 0.1)) == 1.0
    with pytest.raises(ValueError, match="as many values"):
        paired_test(np.zeros(3), np.zeros(4))


@pytest.mark.parametrize("n", [8, 20])
def test_paired_test_holds_its_level_under_the_null(n: int) -> None:
    """1,000 sets without a difference: P(p <= alpha) is at most alpha, up to 3 standard errors, and not far below."""
    differences = np.random.default_rng(n).standard_t(3, size=(n, 1000))
    p = sign_flips(differences, resamples=999, seed=1)
    for alpha in (0.05, 0.2):
        error = 3 * (alpha * (1 - alpha) / 1000) ** 0.5
        assert alpha - error - 2 / 2**n <= np.mean(p <= alpha) <= alpha + error


def test_paired_test_sees_a_difference() -> None:
    rng = np.random.default_rng(0)
    b = rng.normal(size=200)
    p = paired_test(b + rng.normal(0.3, 1, 200), b)
    assert p is not None
    assert p < 0.01


@settings(max_examples=60, deadline=None)
@given(values, st.integers(0, 2**32 - 1))
def test_paired_test_ignores_order_and_direction(d: FloatArray, seed: int) -> None:
    zero = np.zeros_like(d)
    p = paired_test(d, zero, seed=seed, resamples=99)
    assert p is not None
    assert 0.0 < p <= 1.0
    order = np.random.default_rng(seed).permutation(len(d))
    assert p == paired_test(d[order], zero, seed=seed, resamples=99) == paired_test(zero, d, seed=seed, resamples=99)


def test_columns_are_tested_as_if_alone_and_without_what_is_missing() -> None:
    rng = np.random.default_rng(8)
    d = rng.normal(0.2, 1, size=(300, 130))
    for column, n in enumerate([0, 1, 2, 5, 13, 14, 299]):
        d[n:, column] = np.nan
    d[::2, 7] = np.nan
    together = sign_flips(d, seed=3)
    for column in range(d.shape[1]):
        kept = d[~np.isnan(d[:, column]), column]
        alone = paired_test(kept, np.zeros_like(kept), seed=3)
        assert np.isnan(together[column]) if alone is None else together[column] == alone


def test_memory_of_a_test_does_not_grow_with_the_instances() -> None:
    d = np.random.default_rng(0).normal(size=50_000)
    tracemalloc.start()
    paired_test(d, np.zeros_like(d), resamples=999)
    bca(d[:5_000], resamples=999)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6  # all flips at once would take 400 MB as float64


def test_nothing_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (np.array([1e-160, 3e-160]), np.array([0.0, 1e300]), np.array([1.0, np.nextafter(1.0, 2.0)])):
            bca(x)
            paired_test(x, np.zeros(2))
        paired_test(np.zeros(5_000), np.ones(5_000))
        fisher(np.array([0.0, 1.0]))


def test_the_seed_decides_everything() -> None:
    x = np.random.default_rng(0).normal(0.3, 1, 50)
    zero = np.zeros(50)
    assert bca(x, seed=1) == bca(x, seed=1) != bca(x, seed=2)
    assert paired_test(x, zero, seed=1) == paired_test(x, zero, seed=1) != paired_test(x, zero, seed=2)


def test_holm_by_hand() -> None:
    # Sorted: 0.01 * 4, 0.02 * 3, 0.03 * 2 = 0.06, 0.5 * 1; each at least the one before.
    assert holm([0.03, None, 0.01, 0.5, 0.02]) == pytest.approx([0.06, None, 0.04, 0.5, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([None, None]) == [None, None]
    assert holm([]) == []


@given(st.lists(st.none() | probabilities, max_size=12))
def test_holm_is_monotone_and_between_p_and_bonferroni(p: list[float | None]) -> None:
    corrected = holm(p)
    pairs = [(x, y) for x, y in zip(p, corrected, strict=True) if x is not None and y is not None]
    assert [x is None for x in p] == [y is None for y in corrected]
    assert all(x <= y <= min(1.0, x * len(pairs) + 1e-15) for x, y in pairs)
    assert [y for _, y in sorted(pairs)] == sorted(y for _, y in pairs)


def test_simes_by_hand() -> None:
    # 3 * 0.04 / 1, 3 * 0.05 / 2, 3 * 0.9 / 3
    assert simes(np.array([0.9, 0.04, 0.05])) == pytest.approx(0.075)
    assert simes(np.array([0.2])) == 0.2
    assert simes(np.array([0.0, 1.0])) == 0.0


def test_fisher_by_hand() -> None:
    # The product of two uniform p-values is below q with probability q (1 - ln q).
    assert fisher(np.array([0.1, 0.2])) == pytest.approx(0.02 * (1 - np.log(0.02)))
    assert fisher(np.array([0.3])) == pytest.approx(0.3)
    assert fisher(np.array([0.0, 1.0])) == 0.0
    assert fisher(np.array([1.0, 1.0])) == 1.0


@given(st.lists(probabilities, min_size=1, max_size=20).map(np.array))
def test_combined_p_values_are_probabilities(p: FloatArray) -> None:
    assert p.min() <= simes(p) <= p.max()
    assert 0.0 <= fisher(p) <= 1.0


@pytest.mark.parametrize("combine", [simes, fisher])
def test_nothing_can_be_combined_of_nothing(combine: Callable[[FloatArray], float]) -> None:
    with pytest.raises(ValueError, match="no p-value"):
        combine(np.array([]))
