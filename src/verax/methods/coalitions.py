"""Coalitions of the words of an input: rows of a boolean matrix, True for each word that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from verax.types import BoolArray, FloatArray, IntArray

MAX_ENUMERATED = 14
"""Largest number of words of an enumerated game: 2^14 coalitions are 16,384 forward passes."""


def all_coalitions(n: int) -> BoolArray:
    """Every coalition of n words, shape [2^n, n]; row k keeps word i where bit i of k is set."""
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(bool)


def permutations(n: int, count: int, rng: np.random.Generator) -> IntArray:
    """Random orders of n words, every second one the reverse of the previous one (antithetic); shape [count, n]."""
    drawn = [rng.permutation(n) for _ in range((count + 1) // 2)]
    return np.array([order for forward in drawn for order in (forward, forward[::-1])][:count]).reshape(count, n)


def growing(order: IntArray) -> BoolArray:
    """Coalitions that grow word by word in a given order, from no word to all: shape [n + 1, n]."""
    n = len(order)
    place = np.empty(n, int)
    place[order] = np.arange(n)
    return np.arange(n + 1)[:, None] > place[None, :]


@dataclass(frozen=True, eq=False, slots=True)
class Weighted:
    """Coalitions with the weight that each one has in the regression of Kernel SHAP.

    Args:
        keep: neither all words nor none; shape [rows, n].
        weights: shape [rows].
    """

    keep: BoolArray
    weights: FloatArray


def kernel_size_weights(n: int) -> FloatArray:
    """Kernel weight of one coalition of each size from 0 to n; 0 for none and all, which are constraints."""
    inner = [(n - 1) / (comb(n, size) * size * (n - size)) for size in range(1, n)]
    return np.array([0.0, *inner, 0.0][: n + 1])


def kernel_coalitions(n: int, budget: int, rng: np.random.Generator) -> Weighted:
    """At most `budget` coalitions for Kernel SHAP, in pairs of a coalition and its complement.

    Sizes whose coalitions fit the budget are enumerated, outermost first, since they carry most of the weight. The rest
    is sampled without replacement, stratified by size: each size gets its share of the remaining budget, and its
    sampled coalitions share its weight.
    """
    sizes = range(1, n // 2 + 1)
    # summed over all coalitions of both sizes of a pair
    mass = {s: (n - 1) / (s * (n - s)) * (1 if 2 * s == n else 2) for s in sizes}
    pairs = {s: comb(n, s) // (2 if 2 * s == n else 1) for s in sizes}
    left = budget // 2
    rows: list[IntArray] = []
    weights: list[float] = []
    sampled = list(sizes)
    while sampled and pairs[sampled[0]] * sum(mass[s] for s in sampled) <= left * mass[sampled[0]]:
        size = sampled.pop(0)
        rows.extend(_halves(n, size))
        weights += [mass[size] / pairs[size] / 2] * pairs[size]
        left -= pairs[size]
    total = sum(mass[s] for s in sampled)
    shares = _shares([left * mass[s] / total for s in sampled], rng)
    everywhere = all(share > 0 for share in shares)
    for size, share in zip(sampled, shares, strict=True):
        rows.extend(_draw(n, size, share, pairs[size], rng))
        # a size that was not sampled would lose its weight: then all samples share all of the remaining weight
        weights += [mass[size] / share / 2 if everywhere else total / left / 2] * share
    keep = np.zeros((len(rows), n), bool)
    for row, members in zip(keep, rows, strict=True):
        row[members] = True
    return Weighted(np.concatenate([keep, ~keep]), np.array(weights * 2))


def _halves(n: int, size: int) -> Iterator[IntArray]:
    """One coalition of each pair: all of that size, or those with word 0 if both of a pair are of that size."""
    if 2 * size == n:
        yield from (np.array((0, *others)) for others in combinations(range(1, n), size - 1))
    else:
        yield from (np.array(members) for members in combinations(range(n), size))


def _draw(n: int, size: int, count: int, pairs: int, rng: np.random.Generator) -> Iterator[IntArray]:
    """`count` different pairs of a size, as one coalition each."""
    if 2 * count >= pairs:  # so many that most draws would repeat an earlier one
        chosen = set(rng.choice(pairs, count, replace=False).tolist())
        yield from (members for number, members in enumerate(_halves(n, size)) if number in chosen)
        return
    seen: set[bytes] = set()
    while len(seen) < count:
        members = np.sort(rng.choice(n, size, replace=False))
        if 2 * size == n and members[0] != 0:
            members = np.setdiff1d(np.arange(n), members)
        if members.tobytes() not in seen:
            seen.add(members.tobytes())
            yield members


def _shares(expected: list[float], rng: np.random.Generator) -> list[int]:
    """Whole numbers with the expected values, each off by at most one (systematic sampling)."""
    marks = np.floor(np.concatenate([[0.0], np.cumsum(expected)]) + rng.random())
    return np.diff(marks).astype(int).tolist()  # type: ignore[no-any-return]
