"""The bootstrap of statistics of sums over observations: one loop for every interval that is not that of a mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import numpy as np

from verax.stats.inference import RESAMPLES, bca_of
from verax.types import Estimate, FloatArray, IntArray

_BLOCK = 4_000_000
"""Numbers in one block of resampling weights."""


def bootstrap_sums(
    arrays: Sequence[FloatArray],
    statistics: Callable[..., FloatArray],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    draw: Literal["counts", "indices"] = "counts",
    also: Callable[[np.random.Generator, int], FloatArray] | None = None,
    observed_also: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Statistics of sums over observations, with BCa intervals from common resamples.

    Args:
        arrays: what is summed, shape [n, ...] each, over the same n observations.
        statistics: from the sums, shape [rows, ...] each, to values, shape [rows, statistics].
        draw: how a resample is drawn: multinomial counts, or the indices of its observations.
        also: draws a further argument of `statistics` for each resample, such as resampled seeds.
        observed_also: that argument for the data themselves, shape [1, ...].

    Returns:
        Observed values, low ends, high ends; shape [statistics] each, ends NaN where there is no interval.
    """
    n = len(arrays[0])
    extra = () if observed_also is None else (observed_also,)
    totals = [array.sum(0) for array in arrays]
    observed = statistics(*(total[None] for total in totals), *extra)[0]
    none = np.full(len(observed), np.nan)
    if n < 2 or not resamples:
        return observed, none, none
    rng = np.random.default_rng(seed)
    drawn = []
    for weights in _weights(rng, n, resamples, draw):
        sums = [(weights.astype(a.dtype) @ a.reshape(n, -1)).reshape(len(weights), *a.shape[1:]) for a in arrays]
        drawn.append(statistics(*sums, *(() if also is None else (also(rng, len(weights)),))))
    left_out = statistics(*(total - array for total, array in zip(totals, arrays, strict=True)), *extra)
    low, high = bca_of(observed, np.concatenate(drawn), left_out)
    return observed, low, high


def _weights(rng: np.random.Generator, n: int, resamples: int, draw: str) -> Iterator[IntArray]:
    """How often each observation occurs in each resample, block by block: shape [resamples, n]."""
    block = max(1, _BLOCK // n)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        if draw == "counts":
            yield rng.multinomial(n, np.full(n, 1 / n), size=size)
        else:
            chosen = rng.integers(0, n, (size, n))
            flat = np.bincount((chosen + n * np.arange(size)[:, None]).ravel(), minlength=size * n)
            yield flat.reshape(size, n)


def with_interval(value: float, low: float, high: float) -> Estimate:
    """An estimate; without an interval where an end is not finite."""
    ends = (float(low), float(high)) if np.isfinite([low, high]).all() else (None, None)
    return Estimate(float(value), *ends)
