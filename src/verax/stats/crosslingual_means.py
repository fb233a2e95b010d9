"""Means over languages of means over instances (Equation 4), and their intervals by resampling whole groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from verax.stats.inference import RESAMPLES, bca_of
from verax.types import Estimate, FloatArray

_BLOCK = 4_000_000
"""Numbers in one block of resampling weights."""


class Contrast(NamedTuple):
    """Two methods whose difference is asked for, the first minus the second, in one layer."""

    layer: int
    first: int
    second: int


class Resampled(NamedTuple):
    """Means with their intervals.

    Args:
        means: by method and layer; None where there is no value.
        contrasts: in the order in which they were asked for.
        averages: of each layer, over the methods that were asked for.
    """

    means: list[list[Estimate | None]]
    contrasts: list[Estimate | None]
    averages: list[Estimate | None]


def layers(values: FloatArray) -> FloatArray:
    """All languages together, then each: [groups, methods, languages] -> [methods, 1 + languages].

    The first is the unweighted mean over languages of the mean over instances. Where a language has no value it is NaN:
    means over different languages can't be compared.
    """
    known = np.isfinite(values)
    return _with_overall(_mean(np.where(known, values, 0.0).sum(0), known.sum(0)))


def _mean(sums: FloatArray, counts: FloatArray) -> FloatArray:
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0.5))


def _with_overall(by_language: FloatArray) -> FloatArray:
    return np.concatenate([by_language.mean(-1, keepdims=True), by_language], axis=-1)


def resample_groups(
    values: FloatArray,
    contrasts: Sequence[Contrast],
    averaged: Sequence[int],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Resampled:
    """The layers of one run, with BCa intervals: groups are drawn as wholes, with all languages and methods in them.

    Args:
        values: shape [groups, methods, languages], NaN where there is none.
        contrasts: the differences that are asked for.
        averaged: the methods that the averages are over.
    """
    return _resampled(values, contrasts, averaged, overall=True, seed=seed, resamples=resamples)


def resample_runs(
    runs: FloatArray,
    contrasts: Sequence[Contrast],
    averaged: Sequence[int],
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Resampled:
    """Means over runs of their layers, with BCa intervals over runs; `runs` has shape [runs, methods, layers]."""
    return _resampled(runs, contrasts, averaged, overall=False, seed=seed, resamples=resamples)


def _resampled(
    values: FloatArray,
    contrasts: Sequence[Contrast],
    averaged: Sequence[int],
    *,
    overall: bool,
    seed: int,
    resamples: int,
) -> Resampled:
    n, methods, columns = values.shape
    known = np.isfinite(values).reshape(n, -1)
    filled = np.where(known, values.reshape(n, -1), 0.0)

    def statistics(sums: FloatArray, counts: FloatArray) -> FloatArray:
        """Means, contrasts and averages side by side: [..., columns] -> [..., statistics]."""
        made = _mean(sums, counts).reshape(*sums.shape[:-1], methods, columns)
        made = _with_overall(made) if overall else made
        apart = [made[..., one.first, one.layer] - made[..., one.second, one.layer] for one in contrasts]
        average = made[..., list(averaged), :].mean(-2) if len(averaged) else np.full_like(made[..., 0, :], np.nan)
        return np.concatenate([made.reshape(*sums.shape[:-1], -1), *(gap[..., None] for gap in apart), average], -1)

    observed = statistics(filled.sum(0), known.sum(0).astype(np.float64))
    low = high = np.full(len(observed), np.nan)
    if n > 1 and resamples:
        drawn = [
            statistics(weights @ filled, weights @ known.astype(np.float64)) for weights in _weights(n, seed, resamples)
        ]
        left_out = statistics(filled.sum(0) - filled, (known.sum(0) - known).astype(np.float64))
        low, high = bca_of(observed, np.concatenate(drawn), left_out)
    found = [_interval(*ends) for ends in zip(observed, low, high, strict=True)]
    depth = columns + overall
    table = [found[start : start + depth] for start in range(0, methods * depth, depth)]
    rest = found[methods * depth :]
    return Resampled(table, rest[: len(contrasts)], rest[len(contrasts) :])


def _weights(n: int, seed: int, resamples: int) -> Iterator[FloatArray]:
    """How often each group is drawn in each resample, block by block: shape [resamples, n]."""
    rng = np.random.default_rng(seed)
    block = max(1, _BLOCK // n)
    for start in range(0, resamples, block):
        yield rng.multinomial(n, np.full(n, 1 / n), size=min(block, resamples - start)).astype(np.float64)


def _interval(value: float, low: float, high: float) -> Estimate | None:
    if not np.isfinite(value):
        return None
    ends = (float(low), float(high)) if np.isfinite([low, high]).all() else (None, None)
    return Estimate(float(value), *ends)
