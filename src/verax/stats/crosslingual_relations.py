"""How measures and languages go together: correlation over languages, spread over methods, agreement of rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy import stats

from verax.stats.crosslingual_rows import MeasureName

_LEAST = 3
"""Fewer points than this lie on a line, or in order, by chance."""


class Correlation(NamedTuple):
    """A correlation over n points with its p-value; None with its reason where there is none."""

    value: float | None
    p: float | None
    n: int
    reason: str | None = None


class Spread(NamedTuple):
    """Mean and standard deviation (of a sample: divided by n - 1) of n numbers; no deviation of one number."""

    mean: float
    sd: float | None
    n: int


class RankAgreement(NamedTuple):
    """Kendall's tau between the rankings of the same methods by two measures, the better first in both."""

    first: MeasureName
    second: MeasureName
    tau: Correlation


def spread(values: Sequence[float]) -> Spread:
    """Of at least one number."""
    return Spread(float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else None, len(values))


def pearson(pairs: Sequence[tuple[float, float]], what: str) -> Correlation:
    """Pearson's correlation of pairs of numbers, two-sided p; `what` the pairs are of, for the reason."""
    reason = _trouble(pairs, what)
    if reason is not None:
        return Correlation(None, None, len(pairs), reason)
    found = stats.pearsonr(*zip(*pairs, strict=True))
    return Correlation(float(found.statistic), float(found.pvalue), len(pairs))


def rank_agreements(
    columns: Mapping[MeasureName, Mapping[str, float]], higher_is_better: Mapping[MeasureName, bool]
) -> tuple[RankAgreement, ...]:
    """Every two measures, over the methods that both have a value of."""
    found = []
    for first, second in combinations(columns, 2):
        signs = [1.0 if higher_is_better[name] else -1.0 for name in (first, second)]
        shared = [method for method in columns[first] if method in columns[second]]
        pairs = [(signs[0] * columns[first][method], signs[1] * columns[second][method]) for method in shared]
        found.append(RankAgreement(first, second, _kendall(pairs)))
    return tuple(found)


def _kendall(pairs: Sequence[tuple[float, float]]) -> Correlation:
    reason = _trouble(pairs, "methods")
    if reason is not None:
        return Correlation(None, None, len(pairs), reason)
    found = stats.kendalltau(*zip(*pairs, strict=True))
    return Correlation(float(found.statistic), float(found.pvalue), len(pairs))


def _trouble(pairs: Sequence[tuple[float, float]], what: str) -> str | None:
    """Why there is no correlation."""
    if len(pairs) < _LEAST:
        return f"fewer than {_LEAST} {what} to correlate"
    if any(np.ptp(side) <= 1e-12 for side in zip(*pairs, strict=True)):
        return f"all {what} have the same value"
    return None
