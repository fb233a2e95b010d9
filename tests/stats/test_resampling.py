"""The bootstrap of statistics of sums, against a loop that draws the observations one by one."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

from verax.stats import resampling
from verax.stats.inference import RESAMPLES, bca_of
from verax.stats.resampling import bootstrap_sums, with_interval
from verax.types import FloatArray

Draw = Literal["counts", "indices"]


def ratio(sums: FloatArray) -> FloatArray:
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
    observed, low, high = bootstrap_sums([values], ratio, seed=4, draw=draw)
    sums = values.sum(0)
    np.testing.assert_allclose(observed, [sums[0] / sums[1], sums[0]])
    left_out = np.array([np.delete(values, i, axis=0).sum(0) for i in range(9)])
    expected = bca_of(observed, ratio(drawn_sums(values, draw, 4)), ratio(left_out))
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
        return ratio(sums)

    whole = bootstrap_sums([values], counted, seed=3, draw=draw)
    assert rows == [1, RESAMPLES, n]
    rows.clear()
    monkeypatch.setattr(resampling, "_BLOCK", 1_000)
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
    observed, low, high = bootstrap_sums([np.ones((n, 2))], ratio, resamples=resamples)
    assert observed.tolist() == [1.0, n]
    assert np.isnan([low, high]).all()


def test_an_end_that_is_not_finite_is_no_interval() -> None:
    assert with_interval(1.0, 0.5, 2.0) == (1.0, 0.5, 2.0)
    for ends in ((np.nan, np.nan), (0.5, np.inf)):
        assert with_interval(1.0, *ends) == (1.0, None, None)
