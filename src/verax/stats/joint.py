"""Comparisons of many methods on the same instances: means, pairwise tests and the groups that follow from them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain, combinations, count
from string import ascii_letters
from typing import NamedTuple

import numpy as np

from verax.stats.inference import RESAMPLES, bca_of_means, holm, sign_flips
from verax.types import Estimate, FloatArray

ALPHA = 0.05


class Compared(NamedTuple):
    """One method of a joint comparison.

    Args:
        mean: over the n instances that have a value, with its BCa interval; None when there is none.
        baseline_mean: mean of its baseline over the instances where the method has a value too.
        p, p_holm: paired test against the baseline, and Holm-corrected over the methods.
        group: letters; methods that share one are not significantly different.
    """

    mean: Estimate | None
    n: int
    baseline_mean: float | None
    p: float | None
    p_holm: float | None
    group: str


def compare_methods(
    values: FloatArray, baselines: Sequence[int | None], *, higher_is_better: bool, seed: int = 0
) -> list[Compared]:
    """Compare methods with their baselines and with each other.

    Args:
        values: shape [instances, methods], NaN where there is none.
        baselines: for each method the index of its baseline; None without one.
    """
    known = ~np.isnan(values)
    means = [mean_of(column) for column in values.T]
    p = pairwise(values, seed=seed)
    ranked = {i: mean for i, mean in enumerate(means) if mean is not None}
    letters = groups(p, sorted(ranked, key=ranked.__getitem__, reverse=higher_is_better))
    against = _optional(np.array([np.nan if base is None else p[i, base] for i, base in enumerate(baselines)]))
    intervals = bca_of_means(values, seed=seed)
    rows = []
    for i, (mean, base, corrected) in enumerate(zip(means, baselines, holm(against), strict=True)):
        ends = intervals[i] or (None, None)
        rows.append(
            Compared(
                mean=None if mean is None else Estimate(mean, *ends),
                n=int(known[:, i].sum()),
                baseline_mean=None if base is None else mean_of(values[known[:, i], base]),
                p=against[i],
                p_holm=corrected,
                group=letters[i],
            )
        )
    return rows


def pairwise(values: FloatArray, *, seed: int = 0) -> FloatArray:
    """p-values of the paired tests between all methods, each over the instances where both have a value.

    9,999 sign flips resolve p-values down to 0.0001. Beyond 22 methods more are drawn, so that the smallest p can
    still pass Holm's correction at 0.05.

    Args:
        values: shape [instances, methods], NaN where there is none.

    Returns:
        Shape [methods, methods], symmetric; NaN where fewer than two instances are shared, and on the diagonal.
    """
    methods = values.shape[1]
    left, right = np.triu_indices(methods, k=1)
    resamples = max(RESAMPLES, math.ceil(2 * len(left) / ALPHA))
    p = np.full((methods, methods), np.nan)
    p[left, right] = p[right, left] = sign_flips(values[:, left] - values[:, right], seed=seed, resamples=resamples)
    return p


def groups(p: FloatArray, best_first: Sequence[int], *, alpha: float = ALPHA) -> list[str]:
    """Compact letter display: methods that share a letter are not significantly different.

    Every largest set of methods without a significant difference inside it has a letter (insert and absorb: Piepho,
    2004). After `z` come capitals, then Greek and further letters: one letter is always one character.

    Args:
        p: shape [methods, methods], as `pairwise` gives it; corrected here by Holm's rule. NaN separates nothing.
        best_first: the methods that get letters, in the order in which the letters are assigned.

    Returns:
        The letters of each method; none for a method that is not in `best_first`.
    """
    pairs = list(combinations(best_first, 2))
    corrected = holm(_optional(np.array([p[pair] for pair in pairs])))
    sets = {frozenset(best_first)}
    for (i, j), value in zip(pairs, corrected, strict=True):
        if value is not None and value < alpha:
            sets = _separate(sets, i, j)
    rank = {method: place for place, method in enumerate(best_first)}
    alphabet = chain(ascii_letters, filter(str.isalpha, map(chr, count(ord("α")))))
    letters = [""] * len(p)
    for members in sorted(sets, key=lambda members: sorted(rank[method] for method in members)):
        letter = next(alphabet)
        for method in members:
            letters[method] += letter
    return letters


def _separate(sets: set[frozenset[int]], i: int, j: int) -> set[frozenset[int]]:
    """Each set with both methods becomes two with one of them; a set inside another one is absorbed by it."""
    both = {members for members in sets if i in members and j in members}
    parts = {members - {method} for members in both for method in (i, j)} | (sets - both)
    return {members for members in parts if not any(members < other for other in parts)}


class PairedMeans(NamedTuple):
    """Two columns over the instances where both have a value: their means, and the paired test of the difference."""

    first: float | None
    second: float | None
    n: int
    p: float | None
    p_holm: float | None


def compare_columns(first: FloatArray, second: FloatArray, *, seed: int = 0) -> list[PairedMeans]:
    """Paired tests of many columns, shape [instances, columns] each, Holm-corrected over the columns."""
    known = ~np.isnan(first - second)
    p = _optional(sign_flips(first - second, seed=seed))
    return [
        PairedMeans(
            mean_of(first[known[:, i], i]), mean_of(second[known[:, i], i]), int(known[:, i].sum()), p[i], corrected
        )
        for i, corrected in enumerate(holm(p))
    ]


def mean_over_groups(values: FloatArray, ids: Sequence[str], shared: Mapping[str, str]) -> tuple[FloatArray, list[str]]:
    """Values with the rows of one group averaged: translations of one input count once.

    Args:
        values: shape [instances, methods], NaN where there is none.
        ids: of the instances.
        shared: the group of an instance; its own id where it has none.
    """
    if not shared:
        return values, list(ids)
    members: dict[str, list[int]] = {}
    for place, one in enumerate(ids):
        members.setdefault(shared.get(one, one), []).append(place)
    means = np.full((len(members), values.shape[1]), np.nan)
    for line, places in enumerate(members.values()):
        for column in range(values.shape[1]):
            mean = mean_of(values[places, column])
            means[line, column] = np.nan if mean is None else mean
    return means, list(members)


def mean_of(values: FloatArray) -> float | None:
    """Mean of what is not NaN; its sum is exact, so that the order of the values does not matter."""
    known = values[~np.isnan(values)]
    return math.fsum(known) / len(known) if len(known) else None


def _optional(p: FloatArray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in p]
