"""Correlations of pairs of numbers, and the spread of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy

from verax.types import FloatArray

_FEWEST = 3
"""Two points are always on a line, and two numbers always in order."""


class Correlation(NamedTuple):
    """A coefficient over n pairs with its two-sided p-value; both None where there is a reason instead."""

    value: float | None
    p: float | None
    n: int
    reason: str | None = None


class Spread(NamedTuple):
    """Mean and sample standard deviation (divided by n - 1) of n numbers; one number has no deviation."""

    mean: float
    sd: float | None
    n: int


def spread(values: Sequence[float] | FloatArray) -> Spread:
    """Mean and deviation of at least one number."""
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None, len(values))


def pearson(pairs: Sequence[tuple[float, float]], noun: str) -> Correlation:
    """Pearson's correlation; `noun` names what the pairs are of, in the plural, for the reason."""
    return _correlation(scipy.stats.pearsonr, pairs, noun)


def kendall(pairs: Sequence[tuple[float, float]], noun: str) -> Correlation:
    """Kendall's tau-b; `noun` names what the pairs are of, in the plural, for the reason."""
    return _correlation(scipy.stats.kendalltau, pairs, noun)


def _correlation(coefficient: Callable[..., Any], pairs: Sequence[tuple[float, float]], noun: str) -> Correlation:
    if len(pairs) < _FEWEST:
        return Correlation(None, None, len(pairs), f"fewer than {_FEWEST} {noun} to correlate")
    if any(np.ptp(side) <= 1e-12 for side in zip(*pairs, strict=True)):
        return Correlation(None, None, len(pairs), f"all {noun} have the same value")
    result = coefficient(*zip(*pairs, strict=True))
    return Correlation(float(result.statistic), float(result.pvalue), len(pairs))
