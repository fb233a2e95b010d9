"""Intervals, tests, and corrections for their number."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
from scipy import stats

from verax.types import BoolArray, Estimate, FloatArray

RESAMPLES = 9999

_BATCH = 100_000  # numbers of one batch of bootstrap samples: they stay in the processor's cache
_BLOCK = 2_000_000  # numbers of one block of sign flips: 16 MB, however many instances there are
_COLUMNS = 64  # tests that share one pass over the sign flips
_LARGE = 1000  # values from which on the bootstrap of means is computed by matrix products


def bca(
    values: FloatArray, *, level: float = 0.95, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[float, float] | None:
    """Bias-corrected and accelerated bootstrap interval of the mean (Efron, 1987).

    Where the correction is undefined (the spread of the values underflows) the interval is the percentile one. The
    order of the values does not matter.

    Args:
        values: shape [n], finite.
        level: the share of intervals that hold the true mean.

    Returns:
        Low and high end; both the value itself when all are equal, None for fewer than two values.
    """
    ordered = np.sort(values).astype(np.float64)
    if len(ordered) < 2:
        return None
    if ordered[0] == ordered[-1]:
        return float(ordered[0]), float(ordered[0])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        result = stats.bootstrap(
            (ordered,),
            np.mean,
            n_resamples=resamples,
            batch=max(1, _BATCH // len(ordered)),
            confidence_level=level,
            method="BCa",
            rng=np.random.default_rng(seed),
        )
    low, high = result.confidence_interval
    if not np.isfinite([low, high]).all():
        low, high = np.quantile(result.bootstrap_distribution, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def bca_of_means(values: FloatArray, *, seed: int = 0, resamples: int = RESAMPLES) -> list[tuple[float, float] | None]:
    """`bca` of the mean of each column, shape [n, columns], NaN where there is no value.

    Columns with the same number of values share their resamples, as `bca` with the same seed would draw them. Large
    columns are summed by matrix products, which moves an end by rounding errors only.
    """
    counts = (~np.isnan(values)).sum(axis=0)
    ordered = np.sort(values, axis=0)  # NaN last
    found: list[tuple[float, float] | None] = [None] * values.shape[1]
    for n in np.unique(counts).tolist():
        columns = np.flatnonzero(counts == n)
        if n < _LARGE:
            for column in columns:
                found[column] = bca(ordered[:n, column], seed=seed, resamples=resamples)
            continue
        for start in range(0, len(columns), _COLUMNS):
            some = columns[start : start + _COLUMNS]
            for column, ends in zip(some, _bca_of_large(ordered[:n, some], seed, resamples), strict=True):
                found[column] = ends
    return found


def _bca_of_large(values: FloatArray, seed: int, resamples: int) -> list[tuple[float, float]]:
    """Intervals of the means of complete columns, shape [n, columns], from common resamples."""
    n = len(values)
    rng = np.random.default_rng(seed)
    block = max(1, _BLOCK // n)
    drawn = np.empty((resamples, values.shape[1]))
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        chosen = rng.integers(0, n, (size, n))
        weights = np.bincount((chosen + n * np.arange(size)[:, None]).ravel(), minlength=size * n).reshape(size, n)
        drawn[start : start + size] = weights.astype(np.float64) @ values / n
    means = values.mean(axis=0)
    low, high = bca_of(means, drawn, (values.sum(axis=0) - values) / (n - 1))
    return [
        (float(column[0]), float(column[0])) if column[0] == column[-1] else (float(a), float(b))
        for column, a, b in zip(values.T, low, high, strict=True)
    ]


def mean_interval(values: Sequence[float], *, seed: int = 0) -> Estimate:
    """The mean with that interval; the sum is exact, so that the order of the values does not matter."""
    return Estimate(math.fsum(values) / len(values), *(bca(np.array(values), seed=seed) or (None, None)))


def paired_test(a: FloatArray, b: FloatArray, *, seed: int = 0, resamples: int = RESAMPLES) -> float | None:
    """Two-sided p-value of the mean of `a - b`, by flipping the signs of the differences.

    All 2^n flips are tried when there are at most `resamples` of them, which makes the test exact. Otherwise as many
    are drawn, and p is at least 1 / (resamples + 1). The order of the pairs does not matter.

    Args:
        a, b: shape [n], finite; the values at the same index belong together.

    Returns:
        p; 1 when no pair differs, None for fewer than two pairs.
    """
    if a.shape != b.shape:
        raise ValueError(f"a paired test needs as many values on either side, got {a.shape} and {b.shape}")
    if len(a) < 2:
        return None
    return float(sign_flips((a - b)[:, None], seed=seed, resamples=resamples)[0])


def sign_flips(differences: FloatArray, *, seed: int = 0, resamples: int = RESAMPLES) -> FloatArray:
    """`paired_test` of many columns at once, on the same flips.

    Args:
        differences: shape [n, tests], NaN where a pair is missing.

    Returns:
        p, shape [tests]; NaN where a column has fewer than two differences.
    """
    found = np.isfinite(differences)
    signed = np.where(found, differences, 0.0)
    observed = np.abs(signed.sum(axis=0))
    # Flipping starts from any signs as well as from those observed, so magnitudes do; sorted, their order is no matter.
    magnitudes = -np.sort(-np.abs(signed), axis=0)
    pairs = found.sum(axis=0)
    p = np.full(differences.shape[1], np.nan)
    exact = pairs <= np.log2(resamples)
    for n in np.unique(pairs[exact & (pairs >= 2)]):
        columns = np.flatnonzero(pairs == n)
        p[columns] = _all_flips(magnitudes[:n, columns], observed[columns])
    drawn = np.flatnonzero(~exact)
    for start in range(0, len(drawn), _COLUMNS):
        columns = drawn[start : start + _COLUMNS]
        p[columns] = _drawn_flips(magnitudes[:, columns], observed[columns], seed, resamples)
    return p


def _all_flips(magnitudes: FloatArray, observed: FloatArray) -> FloatArray:
    """Exact p of each column; shapes [n, tests] and [tests]."""
    n = len(magnitudes)
    positive = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    return np.asarray(_as_extreme(positive @ magnitudes, magnitudes, observed).mean(axis=0))


def _drawn_flips(magnitudes: FloatArray, observed: FloatArray, seed: int, resamples: int) -> FloatArray:
    """Monte Carlo p of each column; shapes [n, tests] and [tests]. The data as they are count as one more draw."""
    rng = np.random.default_rng(seed)
    block = max(1, _BLOCK // resamples)
    sums = np.zeros((resamples, magnitudes.shape[1]))
    for start in range(0, len(magnitudes), block):
        rows = magnitudes[start : start + block]
        sums += rng.integers(0, 2, (len(rows), resamples), dtype=np.bool_).T.astype(np.float64) @ rows
    return np.asarray((1 + _as_extreme(sums, magnitudes, observed).sum(axis=0)) / (resamples + 1))


def _as_extreme(positive: FloatArray, magnitudes: FloatArray, observed: FloatArray) -> BoolArray:
    """Which flips are as far from zero as what was observed; `positive` [flips, tests] sums the terms left positive."""
    total = magnitudes.sum(axis=0)
    rounding = 1e-12 * total  # a sum that equals the observed one on paper must count as equal
    return np.asarray(np.abs(2 * positive - total) >= observed - rounding)


def holm(p: Sequence[float | None]) -> list[float | None]:
    """p-values corrected for their number (Holm, 1979); a missing one stays missing and does not count."""
    known = sorted((value, i) for i, value in enumerate(p) if value is not None)
    corrected: list[float | None] = [None] * len(p)
    highest = 0.0
    for rank, (value, i) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * value))
        corrected[i] = highest
    return corrected


def simes(p: FloatArray) -> float:
    """One p-value of many, shape [n]: the least of n * p_(i) / i over the sorted ones (Simes, 1986)."""
    if not len(p):
        raise ValueError("no p-value to combine")
    return float(np.min(np.sort(p) * (len(p) / np.arange(1, len(p) + 1))))


def fisher(p: FloatArray) -> float:
    """One p-value of many independent ones, shape [n], by the sum of their logarithms (Fisher, 1925)."""
    if not len(p):
        raise ValueError("no p-value to combine")
    if np.min(p) == 0.0:  # its logarithm is infinite: no other p-value outweighs it
        return 0.0
    return float(stats.combine_pvalues(p, method="fisher").pvalue)


def bca_of(
    observed: FloatArray, resampled: FloatArray, left_out: FloatArray, *, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """The same interval of any statistics whose bootstrap and jackknife values are known.

    Args:
        observed: of the data, shape [statistics].
        resampled: of each resample, shape [resamples, statistics]; values that are not finite are left out.
        left_out: of the data without each instance, shape [n, statistics].

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
    # ties count half, as in scipy: discrete statistics have many
    below = np.searchsorted(drawn, value, "left") + np.searchsorted(drawn, value, "right")
    bias = stats.norm.ppf(below / (2 * len(drawn)))
    spread = jackknife.mean() - jackknife if len(jackknife) else np.zeros(1)
    squares = float((spread**2).sum())
    bend = float((spread**3).sum()) / (6 * squares**1.5) if squares > 0 else 0.0
    if np.isfinite(bias):
        shifted = bias + stats.norm.ppf(tails)
        tails = stats.norm.cdf(bias + shifted / (1 - bend * shifted))
    return np.asarray(np.quantile(drawn, tails))
