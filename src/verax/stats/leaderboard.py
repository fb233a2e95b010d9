"""Scores of instances become rows that a person can read: the leaderboard of a run, and two runs side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain, combinations, count
from string import ascii_letters
from types import MappingProxyType

import numpy as np

from verax.stats.inference import RESAMPLES, bca, holm, sign_flips
from verax.stats.recorded import RANDOM
from verax.types import Comparison, FloatArray, Score, Summary

ALPHA = 0.05

Column = Mapping[str, float | None]
"""The values of one method under one metric, by instance."""


def summarise(
    scores: Sequence[Score],
    higher_is_better: Mapping[str, bool],
    *,
    baseline: str | Mapping[str, str] = "random",
    order: Sequence[str] = (),
    parallel: Mapping[str, str] = MappingProxyType({}),
    seed: int = 0,
) -> list[Summary]:
    """The leaderboard: a row for each metric, in the order first seen, and each method that has a score under it.

    Args:
        higher_is_better: the direction of each metric.
        baseline: the method that the others are tested against; or for each method the one that it is tested against,
            the random explanation of its own kind (`random` for those that are not named).
        order: the order of the methods; others follow as first seen.
        parallel: what translations of one input share, by the id of the instance. They are no further evidence than
            one input is: each counts as the mean of its translations.
    """
    each = _by_instance(scores)
    table = _table(each, parallel)
    missing = {where: sum(value is None for value in column.values()) for where, column in each.items()}
    methods = dict.fromkeys([*order, *(method for _, method in table)])
    rows: list[Summary] = []
    for metric in dict.fromkeys(metric for metric, _ in table):
        columns = {method: table[metric, method] for method in methods if (metric, method) in table}
        against = dict.fromkeys(columns, baseline) if isinstance(baseline, str) else baseline
        skipped = {method: missing[metric, method] for method in columns}
        rows += _rows(metric, columns, skipped, higher_is_better[metric], against, seed)
    return rows


def _rows(
    metric: str,
    columns: Mapping[str, Column],
    skipped: Mapping[str, int],
    higher_is_better: bool,
    baseline: Mapping[str, str],
    seed: int,
) -> list[Summary]:
    values = _matrix(list(columns.values()))
    known = ~np.isnan(values)
    means = [_mean(column) for column in values.T]
    p = pairwise(values, seed=seed)
    ranked = {i: mean for i, mean in enumerate(means) if mean is not None}
    letters = groups(p, sorted(ranked, key=ranked.__getitem__, reverse=higher_is_better))
    place = {method: i for i, method in enumerate(columns)}
    bases = [place.get(baseline.get(method, RANDOM["token"])) for method in columns]
    against = _optional(np.array([np.nan if base is None else p[i, base] for i, base in enumerate(bases)]))
    rows: list[Summary] = []
    for i, (method, base, corrected) in enumerate(zip(columns, bases, holm(against), strict=True)):
        low, high = bca(values[known[:, i], i], seed=seed) or (None, None)
        n = int(known[:, i].sum())
        row = Summary(
            method=method,
            metric=metric,
            mean=means[i],
            low=low,
            high=high,
            n=n,
            skipped=skipped[method],
            random=None if base is None else _mean(values[known[:, i], base]),
            p=against[i],
            p_holm=corrected,
            higher_is_better=higher_is_better,
            group=letters[i],
        )
        rows.append(row)
    return rows


def pairwise(values: FloatArray, *, seed: int = 0) -> FloatArray:
    """p-values of the paired tests between all methods, each over the instances where both have a value.

    9,999 sign flips tell p-values apart down to 0.0001. Beyond 22 methods more are drawn, so that the least p can
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
    """Compact letter display: methods that share a letter can't be told apart.

    Every largest set of methods without a significant difference inside it has a letter (insert and absorb: Piepho,
    2004). After `z` come capitals, then Greek and further letters: one letter is always one character.

    Args:
        p: shape [methods, methods], as `pairwise` gives it; corrected here by Holm's rule. NaN tells nobody apart.
        best_first: the methods that get letters, in the order in which the letters are given out.

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
    """Each set that holds both methods becomes two that hold one; what lies in another set is absorbed by it."""
    both = {members for members in sets if i in members and j in members}
    parts = {members - {method} for members in both for method in (i, j)} | (sets - both)
    return {members for members in parts if not any(members < other for other in parts)}


def compare(
    scores_a: Sequence[Score],
    scores_b: Sequence[Score],
    higher_is_better: Mapping[str, bool],
    *,
    parallel: Mapping[str, str] = MappingProxyType({}),
    seed: int = 0,
) -> list[Comparison]:
    """Each method under each metric that two runs share, in the order of the first run; `parallel` as above."""
    table_a, table_b = _table(_by_instance(scores_a), parallel), _table(_by_instance(scores_b), parallel)
    shared = [key for key in table_a if key in table_b]
    values = _matrix([table[key] for table in (table_a, table_b) for key in shared])
    a, b = values[:, : len(shared)], values[:, len(shared) :]
    known = ~np.isnan(a - b)
    p = _optional(sign_flips(a - b, seed=seed))
    return [
        Comparison(
            method=method,
            metric=metric,
            mean_a=_mean(a[known[:, i], i]),
            mean_b=_mean(b[known[:, i], i]),
            n=int(known[:, i].sum()),
            p=p[i],
            p_holm=corrected,
            higher_is_better=higher_is_better[metric],
        )
        for i, ((metric, method), corrected) in enumerate(zip(shared, holm(p), strict=True))
    ]


def _table(
    table: Mapping[tuple[str, str], dict[str, float | None]], parallel: Mapping[str, str]
) -> dict[tuple[str, str], Column]:
    """Values by metric and method, then by input; of translations their mean, by what they share."""
    return {where: _joined(column, parallel) for where, column in table.items()} if parallel else {**table}


def _joined(column: Column, parallel: Mapping[str, str]) -> Column:
    together: dict[str, list[float | None]] = {}
    for instance, value in column.items():
        together.setdefault(parallel.get(instance, instance), []).append(value)
    known = {shared: [value for value in values if value is not None] for shared, values in together.items()}
    return {shared: math.fsum(values) / len(values) if values else None for shared, values in known.items()}


def _by_instance(scores: Sequence[Score]) -> dict[tuple[str, str], dict[str, float | None]]:
    table: dict[tuple[str, str], dict[str, float | None]] = {}
    for score in scores:
        column = table.setdefault((score.metric, score.method), {})
        if score.instance_id in column:
            raise ValueError(
                f"{score.method!r} has two scores for instance {score.instance_id!r} under {score.metric!r}"
            )
        column[score.instance_id] = score.value
    return table


def _matrix(columns: Sequence[Column]) -> FloatArray:
    """Values of shape [instances, columns], NaN where there is none."""
    row = {instance: i for i, instance in enumerate(dict.fromkeys(chain.from_iterable(columns)))}
    values = np.full((len(row), len(columns)), np.nan)
    for j, column in enumerate(columns):
        for instance, value in column.items():
            values[row[instance], j] = np.nan if value is None else value
    return values


def _mean(values: FloatArray) -> float | None:
    """Mean of what is not NaN; its sum is exact, so that no order of the instances changes it."""
    known = values[~np.isnan(values)]
    return math.fsum(known) / len(known) if len(known) else None


def _optional(p: FloatArray) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in p]
