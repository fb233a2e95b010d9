"""Intervals of shares and of whatever else is made from sums over instances."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import stats

from verax.stats.inference import RESAMPLES, bca_of, mean_interval
from verax.stats.resampling import bootstrap_sums, with_interval
from verax.types import Estimate, FloatArray


def share(hits: int, n: int, *, seed: int = 0) -> Estimate | None:
    """A share of n instances with its 95 % interval; None if n is 0.

    The interval is the BCa one. Where all instances are alike every resample is too, and it would have no width: at 0
    and at 1 it is Wilson's (1927), which is right of one instance as well.
    """
    if n == 0:
        return None
    if hits in {0, n}:
        return Estimate(hits / n, *_wilson(hits, n))
    # the number of hits in a resample is binomial: nothing but it needs to be drawn
    drawn = np.random.default_rng(seed).binomial(n, hits / n, RESAMPLES) / n
    left_out = np.repeat([(hits - 1) / (n - 1), hits / (n - 1)], [hits, n - hits])
    low, high = bca_of(np.array([hits / n]), drawn[:, None], left_out[:, None])
    return Estimate(hits / n, float(low[0]), float(high[0]))


def ratio(hits: FloatArray, of: FloatArray, *, seed: int = 0) -> Estimate | None:
    """A share of what instances have several of, with its interval over instances; None if they have none at all.

    At 0 and at 1 it is Wilson's for as many trials as there are instances: several of one are not independent.

    Args:
        hits, of: how many each instance has, shape [n].
    """
    present = of > 0
    hits, of = hits[present], of[present]
    if not len(of):
        return None
    if hits.sum() in {0, of.sum()}:
        value = float(hits.sum() / of.sum())
        return Estimate(value, *_wilson(round(value * len(of)), len(of)))
    return of_sums(np.stack([hits, of], axis=1), lambda sums: np.asarray(sums[..., 0] / sums[..., 1]), seed=seed)


def of_sums(columns: FloatArray, statistic: Callable[[FloatArray], FloatArray], *, seed: int = 0) -> Estimate:
    """A statistic of sums over instances with its BCa interval; without one for fewer than two instances.

    Args:
        columns: what is summed, shape [n, columns].
        statistic: from sums of shape [..., columns] to values of shape [...].
    """

    def values(sums: FloatArray) -> FloatArray:
        return statistic(sums)[:, None]

    observed, low, high = bootstrap_sums([columns], values, seed=seed, draw="indices")
    return with_interval(observed[0], low[0], high[0])


def mean_difference(differences: FloatArray, *, seed: int = 0) -> Estimate | None:
    """The mean of paired differences, shape [n], with its BCa interval; None of no pair.

    If all differences are equal there is no interval, since the bootstrap would give one of zero width.
    """
    if not len(differences):
        return None
    estimate = mean_interval(differences.tolist(), seed=seed)
    return Estimate(estimate.value) if np.ptp(differences) == 0 else estimate


def _wilson(hits: int, n: int) -> tuple[float, float]:
    ends = stats.binomtest(hits, n).proportion_ci(method="wilson")
    return float(ends.low), float(ends.high)
