"""Intervals against scipy, against loops that draw one input at a time, and against how often they cover the truth."""

from __future__ import annotations

import tracemalloc
import warnings
from random import Random
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from verax.stats import intervals
from verax.stats.intervals import (
    RESAMPLES,
    bca,
    bca_of,
    bca_of_means,
    bootstrap_sums,
    mean_difference,
    mean_interval,
    mean_over_draws,
    of_sums,
    ratio,
    share,
    with_interval,
)
from verax.types import FloatArray

samples = st.lists(st.floats(-1e6, 1e6, allow_subnormal=False), min_size=6, max_size=25).map(np.array)


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


@pytest.mark.parametrize("n", range(6))
def test_no_interval_below_six_values(n: int) -> None:
    assert bca(np.arange(float(n))) is None
    assert mean_interval([0.5, *[1.0] * n]).interval == (None if n < 5 else bca(np.array([0.5, *[1.0] * n])))
    assert share(n // 2, n) == (None if n == 0 else (n // 2 / n, None, None))


def test_fewer_values_have_an_interval_only_on_request() -> None:
    """Over seeds, of which there are few; never over one."""
    assert bca(np.array([0.1, 0.2, 0.4]), fewest=3) is not None
    assert bca(np.array([0.1]), fewest=1) is None


def test_ties_do_not_depend_on_the_last_bit_of_a_sum() -> None:
    """Resamples whose mean equals the observed one on paper count half, however their sums were rounded."""
    x = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7])
    exact = bca(np.arange(1.0, 8.0))
    assert exact is not None
    assert bca(x) == pytest.approx([end / 10 for end in exact], rel=1e-12)


def test_equal_values_have_no_interval() -> None:
    assert bca(np.full(7, 0.1)) is None
    constant = mean_interval([0.1] * 7)
    assert (constant, constant.n) == ((pytest.approx(0.1), None, None), 7)
    columns = np.stack([np.full(7, 0.1), np.arange(7.0)], axis=1)
    assert [ends is None for ends in bca_of_means(columns)] == [True, False]
    assert of_sums(columns, lambda sums: np.asarray(sums[..., 0] / sums[..., 0])) == (1.0, None, None)


def test_small_numbers_have_the_interval_of_large_ones() -> None:
    """scipy's correction is undefined where the cubes of the spread underflow."""
    x = np.arange(1.0, 7.0)
    with np.errstate(all="ignore"), pytest.warns(stats.DegenerateDataWarning):
        undefined = stats.bootstrap((x * 1e-120,), np.mean, method="BCa", rng=0).confidence_interval
    assert np.isnan(undefined.low)
    large = bca(x)
    assert large is not None
    assert bca(x * 1e-120) == pytest.approx([end * 1e-120 for end in large], rel=1e-12)


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
@given(samples, st.randoms(use_true_random=False))
def test_bca_ignores_order_and_stays_within_the_values(x: FloatArray, shuffle: Random) -> None:
    shuffled = x.copy()
    shuffle.shuffle(shuffled)
    interval = bca(x, resamples=199)
    assert interval == bca(shuffled, resamples=199)
    if interval is None:
        assert np.ptp(x) == 0
        return
    slack = 1e-9 * np.abs(x).max()
    assert x.min() - slack <= interval[0] <= interval[1] <= x.max() + slack


def test_columns_have_the_intervals_that_they_have_alone() -> None:
    values = np.random.default_rng(4).normal(size=(30, 5))
    values[20:, 1] = values[3:, 2] = np.nan
    values[:, 3] = 0.25
    expected = [bca(column[~np.isnan(column)]) for column in values.T]
    found = bca_of_means(values)
    assert found[2] is None
    for one, other in zip(found, expected, strict=True):
        assert one == (None if other is None else pytest.approx(other, rel=1e-12))


def test_many_rows_are_resampled_together_and_missing_values_change_little() -> None:
    """From 1,000 rows on: complete columns as alone, incomplete ones with an interval of nearly the same ends."""
    values = np.random.default_rng(5).normal(size=(1200, 2))
    values[::10, 1] = np.nan
    complete, incomplete = bca_of_means(values)
    assert complete is not None
    assert incomplete is not None
    known = values[~np.isnan(values[:, 1]), 1]
    spread = known.std() / len(known) ** 0.5
    assert incomplete == pytest.approx(bca(known), abs=0.1 * spread)
    shuffled = bca_of_means(values[np.random.default_rng(0).permutation(1200)])
    assert shuffled == [complete, incomplete]


def test_memory_does_not_grow_with_the_inputs() -> None:
    d = np.random.default_rng(0).normal(size=50_000)
    tracemalloc.start()
    bca(d, resamples=999)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 120e6  # all weights at once would take 400 MB as float64


def test_nothing_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (
            np.array([1e-160, 3e-160] * 3),
            np.array([0.0, 1e300] * 3),
            np.array([1.0, np.nextafter(1.0, 2.0)] * 3),
        ):
            bca(x)


def test_the_seed_decides_everything() -> None:
    x = np.random.default_rng(0).normal(0.3, 1, 50)
    assert bca(x, seed=1) == bca(x, seed=1) != bca(x, seed=2)


Draw = Literal["counts", "indices"]


def quotient(sums: FloatArray) -> FloatArray:
    return np.stack([sums[:, 0] / sums[:, 1], sums[:, 0]], axis=-1)


def drawn_sums(values: FloatArray, draw: Draw, seed: int) -> FloatArray:
    """The sums of every resample, from the same random numbers, one observation at a time."""
    rng, n = np.random.default_rng(seed), len(values)
    if draw == "counts":
        counts = rng.multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
        return np.array([sum(times * row for times, row in zip(one, values, strict=True)) for one in counts])
    return np.array([values[chosen].sum(0) for chosen in rng.integers(0, n, (RESAMPLES, n))])


@pytest.mark.parametrize("draw", ["counts", "indices"])
def test_intervals_are_those_of_resampled_observations(draw: Draw) -> None:
    values = np.random.default_rng(0).integers(1, 100, (9, 2)).astype(float)  # whole, so that equal sums are equal
    observed, low, high = bootstrap_sums([values], quotient, seed=4, draw=draw)
    sums = values.sum(0)
    np.testing.assert_allclose(observed, [sums[0] / sums[1], sums[0]])
    left_out = np.array([np.delete(values, i, axis=0).sum(0) for i in range(9)])
    expected = bca_of(observed, quotient(drawn_sums(values, draw, 4)), quotient(left_out))
    np.testing.assert_allclose([low, high], expected, rtol=1e-9)


@pytest.mark.parametrize("draw", ["counts", "indices"])
@pytest.mark.parametrize("n", [7, 40])
def test_blocks_change_no_interval_and_hold_only_so_many_weights(
    n: int, draw: Draw, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = np.random.default_rng(2).random((n, 2)) + 1.0
    rows: list[int] = []

    def counted(sums: FloatArray) -> FloatArray:
        rows.append(len(sums))
        return quotient(sums)

    whole = bootstrap_sums([values], counted, seed=3, draw=draw)
    assert rows == [1, RESAMPLES, n]
    rows.clear()
    monkeypatch.setattr(intervals, "_BLOCK", 1_000)
    blocks = bootstrap_sums([values], counted, seed=3, draw=draw)
    assert all((one == other).all() for one, other in zip(whole, blocks, strict=True))
    assert max(rows[1:-1]) * n <= 1_000
    assert sum(rows[1:-1]) == RESAMPLES


def test_arrays_are_resampled_together() -> None:
    """The sum of an array and of its negative cancel in every resample, if the same observations are drawn."""
    values = np.random.default_rng(5).random((12, 1, 3))
    observed, low, high = bootstrap_sums([values, -values], lambda a, b: (a + b).sum(axis=(1, 2))[:, None] + 1.0)
    np.testing.assert_allclose([observed[0], low[0], high[0]], 1.0, atol=1e-12)


def test_a_further_argument_is_drawn_for_each_resample() -> None:
    seen: list[int] = []

    def also(rng: np.random.Generator, size: int) -> FloatArray:
        seen.append(size)
        return rng.integers(0, 2, (size, 1)).astype(float)

    values = np.random.default_rng(6).random((10, 1))
    _, low, high = bootstrap_sums(
        [values], lambda sums, extra: sums + 100 * extra, also=also, observed_also=np.full((1, 1), 0.5)
    )
    assert sum(seen) == RESAMPLES
    assert high[0] - low[0] > 90


@pytest.mark.parametrize(("n", "resamples"), [(1, RESAMPLES), (5, 0)])
def test_too_little_for_an_interval(n: int, resamples: int) -> None:
    observed, low, high = bootstrap_sums([np.ones((n, 2))], quotient, resamples=resamples)
    assert observed.tolist() == [1.0, n]
    assert np.isnan([low, high]).all()


def test_an_end_that_is_not_finite_is_no_interval() -> None:
    assert with_interval(1.0, 0.5, 2.0) == (1.0, 0.5, 2.0)
    for ends in ((np.nan, np.nan), (0.5, np.inf)):
        assert with_interval(1.0, *ends) == (1.0, None, None)


Z2 = 1.959963984540054**2


def test_no_instance_has_no_share():
    assert share(0, 0) is None
    assert ratio(np.zeros(3), np.zeros(3)) is None
    assert mean_difference(np.zeros(0)) is None


@pytest.mark.parametrize("n", [6, 20, 200])
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


@given(st.integers(6, 60), st.data())
def test_an_interval_contains_its_share(n, data):
    hits = data.draw(st.integers(0, n))
    found = share(hits, n)
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    rng = np.random.default_rng(1)
    held = [(found := share(int(hits), 100)).low <= 0.3 <= found.high for hits in rng.binomial(100, 0.3, 300)]
    assert 0.9 <= np.mean(held) <= 0.99


def test_a_ratio_is_of_the_sums_and_its_interval_over_instances():
    hits, of = np.array([4.0, 0, 0, 0, 1, 0, 0]), np.array([4.0, 4, 1, 0, 1, 1, 1])
    found = ratio(hits, of)
    assert found.value == 5 / 12
    assert found.low < 5 / 12 < found.high
    # twelve independent ones would have a narrower interval than five instances of several
    alone = share(5, 12)
    assert found.high - found.low > alone.high - alone.low


def test_a_ratio_at_the_border_counts_instances_and_not_their_pieces():
    assert ratio(np.zeros(7), np.full(7, 10.0)) == share(0, 7)
    assert ratio(np.full(7, 10.0), np.full(7, 10.0)) == share(7, 7)
    assert ratio(np.zeros(5), np.full(5, 10.0)) == (0.0, None, None)
    wilson = stats.binomtest(30, 60).proportion_ci(method="wilson")
    assert ratio(np.full(60, 1.0), np.full(60, 2.0)) == pytest.approx((0.5, wilson.low, wilson.high))


def test_a_statistic_of_sums_is_that_of_the_mean_if_it_is_one():
    values = np.random.default_rng(0).normal(size=80)
    found = of_sums(np.stack([values, np.ones(80)], axis=1), lambda sums: sums[..., 0] / sums[..., 1])
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx(bca(values), abs=0.02)
    assert of_sums(np.ones((1, 2)), lambda sums: sums[..., 0]) == (1.0, None, None)


def test_differences_that_are_all_equal_have_no_interval():
    assert mean_difference(np.full(4, 0.5)) == (0.5, None, None)
    found = mean_difference(np.array([0.0, 1.0, 1.0, 0.0, 1.0] * 2))
    assert found.low < 0.6 < found.high
    assert found.value == pytest.approx(0.6)


def test_what_varies_between_draws_widens_the_interval() -> None:
    """Inputs that are all alike at the reported draw differ at others; by hand, the variance is that of all draws."""
    rng = np.random.default_rng(0)
    reported = np.zeros(50)
    draws = np.stack([reported, *rng.normal(size=(4, 50))])
    found = mean_over_draws(draws)
    assert found.value == 0.0
    assert found.low is not None
    assert found.high is not None
    half = 1.96 * draws.std() / np.sqrt(50)
    assert (found.low, found.high) == pytest.approx((-half, half), rel=0.06)
    assert mean_over_draws(draws[:1]) == mean_interval(reported.tolist())
    assert mean_over_draws(draws[:, :5]) == mean_interval(reported[:5].tolist())
    order = rng.permutation(50)
    assert mean_over_draws(draws[:, order]) == pytest.approx(found, abs=1e-12)


def test_intervals_over_inputs_and_draws_cover_the_mean_over_both() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for trial in range(300):
        draws = rng.normal(size=(1, 30)) + rng.normal(size=(5, 30))
        found = mean_over_draws(draws, seed=trial)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.0 <= found.high
    assert 0.90 <= covered / 300 <= 0.985
