"""Bootstrap intervals: of means, of shares, and of anything that is made from sums over inputs.

Intervals are bias-corrected and accelerated (BCa: Efron, 1987). They show how large a value may be and are not used to
decide what is significant: `verax.stats.joint` does that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np
from scipy.special import ndtr, ndtri

from verax.types import Estimate, FloatArray, IntArray
from verax.types.numbers import FEWEST

RESAMPLES = 9999

Ends = tuple[float, float]

_BLOCK = 2_000_000
"""Numbers in one block of resampling weights: 16 MB, however many inputs there are."""
_COLUMNS = 256
"""Columns that share one pass over the resamples."""
_LARGE = 1000
"""Rows from which on incomplete columns share their resamples."""


def bca(
    values: FloatArray, *, level: float = 0.95, seed: int = 0, resamples: int = RESAMPLES, fewest: int = FEWEST
) -> Ends | None:
    """Interval of the mean; the order of the values does not matter.

    Args:
        values: shape [n], finite.
        level: share of intervals that contain the true mean.
        fewest: values below which there is no interval.

    Returns:
        Low and high end; None for fewer than `fewest` values, and if all are equal: the bootstrap cannot tell how much
        values that never varied may vary.
    """
    return bca_of_means(values[:, None], level=level, seed=seed, resamples=resamples, fewest=fewest)[0]


def bca_of_means(
    values: FloatArray, *, level: float = 0.95, seed: int = 0, resamples: int = RESAMPLES, fewest: int = FEWEST
) -> list[Ends | None]:
    """`bca` of each column, shape [n, columns], NaN where there is no value.

    Columns with the same number of values share their resamples. From 1,000 rows on all columns do: the rows are
    resampled, and the mean is over those that have a value.
    """
    if len(values) >= _LARGE:
        ordered = values[np.lexsort(values.T)]
        groups = [np.flatnonzero((~np.isnan(values)).sum(axis=0) >= max(fewest, 2))]
    else:
        counts = (~np.isnan(values)).sum(axis=0)
        ordered = np.sort(values, axis=0)  # NaN last
        groups = [np.flatnonzero(counts == n) for n in np.unique(counts[counts >= max(fewest, 2)])]
    ends: list[Ends | None] = [None] * values.shape[1]
    for columns in groups:
        for start in range(0, len(columns), _COLUMNS):
            chosen = columns[start : start + _COLUMNS]
            block = ordered[:, chosen].astype(np.float64)
            block = block[~np.isnan(block).all(axis=1)]
            for column, pair in zip(chosen, _of_rows(block, level, seed, resamples), strict=True):
                ends[column] = pair
    return ends


def _of_rows(values: FloatArray, level: float, seed: int, resamples: int) -> list[Ends | None]:
    """Intervals of the means of columns, shape [n, columns], NaN where there is none, from resampled rows."""
    known = ~np.isnan(values)
    filled = np.where(known, values, 0.0)
    gaps = np.flatnonzero(~known.all(axis=1))
    missing = (~known[gaps]).astype(np.float64)
    drawn = []
    for weights in _weights(np.random.default_rng(seed), len(values), resamples, "indices"):
        sums = weights @ filled
        with np.errstate(invalid="ignore"):  # a resample without any value of a column
            drawn.append(sums / (len(values) - weights[:, gaps] @ missing))
    total, number = filled.sum(axis=0), known.sum(axis=0)
    left_out = np.where(known, (total - filled) / np.maximum(number - known, 1), total / number)
    low, high = bca_of(total / number, np.concatenate(drawn), left_out, level=level)
    least, largest = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    return [
        None if _same(small, large) else (float(a), float(b))
        for small, large, a, b in zip(least, largest, low, high, strict=True)
    ]


def mean_interval(values: Sequence[float], *, seed: int = 0, fewest: int = FEWEST) -> Estimate:
    """The mean with its interval; the sum is exact, so that the order of the values does not matter."""
    ends = bca(np.array(values), seed=seed, fewest=fewest)
    return Estimate.of(math.fsum(values) / len(values), ends, len(values))


def mean_over_draws(values: FloatArray, *, seed: int = 0) -> Estimate:
    """The mean of what was drawn first for each input, with an interval over inputs and draws.

    A resample takes some inputs and, for each, one of its draws, so that what varies from draw to draw is part of the
    interval; resampled means are centred on the value.

    Args:
        values: shape [draws, n], finite; the first draw is the one that is reported.
    """
    draws, n = values.shape
    if draws == 1 or n < FEWEST or np.ptp(values) == 0:
        return mean_interval(values[0].tolist(), seed=seed)
    first = np.sort(values[0])
    value = math.fsum(first) / n
    everything = np.sort(values, axis=None)
    rng = np.random.default_rng(seed)
    # inputs have as many draws each: taking an input and one of its draws is taking any of them all
    means = [
        everything[rng.integers(0, draws * n, (size, n))].mean(axis=1)
        for start in range(0, RESAMPLES, max(1, _BLOCK // n))
        for size in [min(max(1, _BLOCK // n), RESAMPLES - start)]
    ]
    resampled = np.concatenate(means) + (value - math.fsum(everything) / (draws * n))
    left_out = (first.sum() - first) / (n - 1)
    low, high = bca_of(np.array([value]), resampled[:, None], left_out[:, None])
    return with_interval(value, low[0], high[0], n)


def mean_difference(differences: FloatArray, *, seed: int = 0) -> Estimate | None:
    """The mean of paired differences, shape [n], with its interval; None without a pair."""
    return mean_interval(differences.tolist(), seed=seed) if len(differences) else None


def share(hits: int, n: int, *, seed: int = 0) -> Estimate | None:
    """A share of n inputs with its interval; None if n is 0.

    Where all inputs are alike every resample is too, and the interval would have no width: at 0 and 1 it is Wilson's
    (1927).
    """
    if n == 0:
        return None
    if n < FEWEST:
        return Estimate(hits / n, n=n)
    if hits in {0, n}:
        return Estimate.of(hits / n, _wilson(hits / n, n), n)
    # the number of hits in a resample is binomial: nothing else needs to be drawn
    drawn = np.random.default_rng(seed).binomial(n, hits / n, RESAMPLES) / n
    left_out = np.repeat([(hits - 1) / (n - 1), hits / (n - 1)], [hits, n - hits])
    low, high = bca_of(np.array([hits / n]), drawn[:, None], left_out[:, None])
    return Estimate(hits / n, float(low[0]), float(high[0]), n)


def ratio(hits: FloatArray, of: FloatArray, *, seed: int = 0) -> Estimate | None:
    """A share of what inputs have several of, with its interval over inputs; None if they have none.

    Where all inputs have the same share, it is Wilson's interval for as many trials as there are inputs: several of one
    input are not independent.

    Args:
        hits, of: how many each input has, shape [n].
    """
    present = of > 0
    hits, of = hits[present], of[present]
    if not len(of):
        return None
    if len(of) >= FEWEST and np.ptp(hits / of) <= 1e-12:
        value = float(hits.sum() / of.sum())
        return Estimate.of(value, _wilson(value, len(of)), len(of))
    return of_sums(np.stack([hits, of], axis=1), lambda sums: np.asarray(sums[..., 0] / sums[..., 1]), seed=seed)


def of_sums(columns: FloatArray, statistic: Callable[[FloatArray], FloatArray], *, seed: int = 0) -> Estimate:
    """A statistic of sums over inputs with its interval.

    Args:
        columns: what is summed, shape [n, columns].
        statistic: from sums of shape [..., columns] to values of shape [...].
    """
    observed, low, high = bootstrap_sums([columns], lambda sums: statistic(sums)[:, None], seed=seed, draw="indices")
    return with_interval(observed[0], low[0], high[0], len(columns))


def bootstrap_sums(
    arrays: Sequence[FloatArray],
    statistics: Callable[..., FloatArray],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    draw: Literal["counts", "indices"] = "counts",
    also: Callable[[np.random.Generator, int], FloatArray] | None = None,
    observed_also: FloatArray | None = None,
    fewest: int = FEWEST,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Statistics of sums over inputs, with intervals from common resamples.

    Args:
        arrays: what is summed, shape [n, ...] each, over the same n inputs.
        statistics: from the sums, shape [rows, ...] each, to values, shape [rows, statistics].
        draw: how a resample is drawn: multinomial counts, or the indices of its inputs.
        also: draws a further argument of `statistics` for each resample, such as resampled seeds.
        observed_also: that argument for the data themselves, shape [1, ...].
        fewest: inputs below which there are no intervals.

    Returns:
        Observed values, low ends, high ends; shape [statistics] each, ends NaN where there is no interval.
    """
    n = len(arrays[0])
    extra = () if observed_also is None else (observed_also,)
    totals = [array.sum(0) for array in arrays]
    observed = statistics(*(total[None] for total in totals), *extra)[0]
    none = np.full(len(observed), np.nan)
    if n < max(fewest, 2) or not resamples:
        return observed, none, none
    rng = np.random.default_rng(seed)
    drawn = []
    for weights in _weights(rng, n, resamples, draw):
        sums = [(weights.astype(a.dtype) @ a.reshape(n, -1)).reshape(len(weights), *a.shape[1:]) for a in arrays]
        drawn.append(statistics(*sums, *(() if also is None else (also(rng, len(weights)),))))
    left_out = statistics(*(total - array for total, array in zip(totals, arrays, strict=True)), *extra)
    low, high = bca_of(observed, np.concatenate(drawn), left_out)
    return observed, low, high


def _weights(rng: np.random.Generator, n: int, resamples: int, draw: str) -> Iterator[FloatArray]:
    """How often each input occurs in each resample, block by block: shape [resamples, n]."""
    block = max(1, _BLOCK // n)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        if draw == "counts":
            counts: IntArray = rng.multinomial(n, np.full(n, 1 / n), size=size)
        else:
            chosen = rng.integers(0, n, (size, n))
            counts = np.bincount((chosen + n * np.arange(size)[:, None]).ravel(), minlength=size * n).reshape(size, n)
        yield counts.astype(np.float64)


def bca_of(
    observed: FloatArray, resampled: FloatArray, left_out: FloatArray, *, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """Intervals of any statistics whose bootstrap and jackknife values are known.

    Args:
        observed: of the data, shape [statistics].
        resampled: of each resample, shape [resamples, statistics]; values that are not finite are left out.
        left_out: of the data without each input, shape [n, statistics].

    Returns:
        Low and high ends, shape [statistics] each; NaN where the statistic itself or every resample is not finite.
    """
    ends = np.full((2, len(observed)), np.nan)
    for i, value in enumerate(observed):
        drawn = np.sort(resampled[np.isfinite(resampled[:, i]), i])
        jackknife = left_out[np.isfinite(left_out[:, i]), i]
        if not np.isfinite(value) or len(drawn) < 2:
            continue
        ends[:, i] = _bca_ends(float(value), drawn, jackknife, level)
    return ends[0], ends[1]


def _bca_ends(value: float, drawn: FloatArray, jackknife: FloatArray, level: float) -> FloatArray:
    """Ends of one interval; those of the percentiles where the correction is undefined."""
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    # Ties count half: discrete statistics have many. Sums of the same numbers in another order differ in their last
    # bits, which must not decide on which side of the value a tie falls.
    rounding = 1e-12 * max(abs(value), float(drawn[-1] - drawn[0]))
    below = np.searchsorted(drawn, value - rounding, "left") + np.searchsorted(drawn, value + rounding, "right")
    bias = ndtri(below / (2 * len(drawn)))
    spread = jackknife.mean() - jackknife if len(jackknife) else np.zeros(1)
    largest = float(np.abs(spread).max())
    scaled = spread / largest if largest > 0 else spread  # cubes of small numbers underflow
    bend = float((scaled**3).sum()) / (6 * float((scaled**2).sum()) ** 1.5) if largest > 0 else 0.0
    if np.isfinite(bias):
        shifted = bias + ndtri(tails)
        tails = ndtr(bias + shifted / (1 - bend * shifted))
    return np.asarray(np.quantile(drawn, tails))


def with_interval(value: float, low: float, high: float, n: int | None = None) -> Estimate:
    """An estimate; without an interval where an end is not finite, or where all resamples gave the same value."""
    ends = (float(low), float(high)) if np.isfinite([low, high]).all() and not _same(low, high) else None
    return Estimate.of(float(value), ends, n)


def _same(low: float, high: float) -> bool:
    """Whether two numbers are equal up to the rounding of sums."""
    return math.isclose(low, high, rel_tol=1e-12)


def _wilson(value: float, n: int) -> Ends:
    """Wilson's interval of a share of n trials."""
    z = float(ndtri(0.975))
    centre, shrink = value + z**2 / (2 * n), 1 + z**2 / n
    half = z * math.sqrt(value * (1 - value) / n + (z / (2 * n)) ** 2)
    low, high = (centre - half) / shrink, (centre + half) / shrink
    return max(0.0, min(low, value)), min(1.0, max(high, value))  # at 0 and 1 rounding may exceed the value
