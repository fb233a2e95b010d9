"""One joint test of all methods under a metric: every mark, letter and p-value of a page follows from it.

The differences between two methods on the same inputs are symmetric around 0 if the methods are equally good, so
their signs can be flipped input by input. The same flips serve all pairs of methods, which keeps their dependence, and
the largest studentised difference of each flip corrects for the number of pairs (step-down max-T: Westfall and Young,
1993). The differences are not centred before they are flipped: only then is the test exact at any number of inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, count
from string import ascii_letters
from typing import NamedTuple

import numpy as np

from verax.stats.sequential import sequential_p
from verax.types import BoolArray, FloatArray, IntArray

ALPHA = 0.05
FLIPS = 10_000
"""Sign flips of a test, the identity among them; all of them are tried where there are fewer."""
_BLOCK = 2_000_000
"""Numbers in one block of signs or statistics: 16 MB."""
_SLACK = 1e-9
"""Share of a statistic by which it may miss another one that equals it on paper."""
_CANCELLED = 1e-4
"""Share of the values below which their differences have lost too many digits to be found by subtracting sums."""

Statistic = Callable[[FloatArray], FloatArray]
"""From sums over inputs, shape [rows, features], to values, shape [rows]."""


class TooFew(NamedTuple):
    """A test with too few inputs for anything to be significant.

    Args:
        inputs: the most that any two methods share.
        needed: inputs from which on every pair of the methods could become significant.
    """

    methods: int
    inputs: int
    needed: int


class AgainstRandom(NamedTuple):
    """What a joint test says about a method and its random baseline.

    Args:
        p: None where they share fewer than two inputs, or where there is no baseline.
        better, worse: significantly different, in which direction.
        like_random: not significantly different, although they could have been.
    """

    p: float | None = None
    better: bool = False
    worse: bool = False
    like_random: bool = False


@dataclass(frozen=True, eq=False)
class JointTest:
    """What the inputs say about every pair of methods under one metric.

    Args:
        p: adjusted p-values, shape [methods, methods], symmetric; NaN on the diagonal and for pairs that share fewer
            than two inputs.
        difference: of method i from method j over the inputs that both have, shape [methods, methods]; 0 for ties.
        shared: number of those inputs, shape [methods, methods]; on the diagonal those of the method itself.
        inputs: number of inputs that any method has a value for.
        higher_is_better: the direction of the metric.
        too_few: why nothing could become significant; None where something could. Of a part of the methods it stays
            that of all.
        needed: inputs with which every pair of the methods could become significant.
    """

    p: FloatArray
    difference: FloatArray
    shared: IntArray
    inputs: int
    higher_is_better: bool = True
    too_few: TooFew | None = None
    needed: int = 0

    def differ(self, i: int, j: int) -> bool:
        """Whether two methods are significantly different."""
        return bool(self.p[i, j] < ALPHA)

    def beats(self, i: int, j: int) -> bool:
        """Whether method i is significantly better than method j."""
        gap = self.difference[i, j] if self.higher_is_better else -self.difference[i, j]
        return self.differ(i, j) and bool(gap > 0)

    def against(self, i: int, baseline: int | None) -> AgainstRandom:
        """A method compared with its random baseline."""
        if baseline is None or np.isnan(self.p[i, baseline]):
            return AgainstRandom()
        alike = self.too_few is None and self._could_differ(i, baseline) and not self.differ(i, baseline)
        return AgainstRandom(
            float(self.p[i, baseline]), self.beats(i, baseline), self.beats(baseline, i), like_random=alike
        )

    def undecided(self, i: int, baseline: int | None) -> bool:
        """Whether a method shares too few inputs with its random baseline to tell them apart."""
        return baseline is not None and bool(self.shared[baseline, baseline]) and not self._could_differ(i, baseline)

    def _could_differ(self, i: int, j: int) -> bool:
        """Whether two methods share enough inputs: all there are, or as many as any pair needs."""
        return bool(self.shared[i, j] >= min(self.inputs, self.needed))

    def _eligible(self, i: int) -> bool:
        """Whether a method has enough inputs to be called best: at least half, and so many that it could be beaten."""
        return bool(2 * self.shared[i, i] >= self.inputs > 0) and self._could_differ(i, i)

    def of(self, methods: Sequence[int]) -> JointTest:
        """The same test restricted to some methods; their p-values stay adjusted for all."""
        chosen = np.ix_(methods, methods)
        return replace(self, p=self.p[chosen], difference=self.difference[chosen], shared=self.shared[chosen])

    @property
    def any_difference(self) -> bool:
        """Whether any two methods are significantly different."""
        return bool(np.any(self.p < ALPHA))

    def best(self, baselines: Collection[int] = (), among: Collection[int] | None = None) -> frozenset[int]:
        """The methods that may be best: those that no other one beats; empty where no two methods differ.

        A baseline, what a baseline beats, and a method with a value for fewer than half of the inputs, or for so few
        that nothing could beat it, are never best.

        Args:
            baselines: random explanations.
            among: the methods to choose from, all by default.
        """
        candidates = set(range(len(self.p)) if among is None else among) - set(baselines)
        if not any(self.differ(i, j) for i, j in combinations({*candidates, *baselines}, 2)):
            return frozenset()
        rivals = {*candidates, *baselines}
        return frozenset(i for i in candidates if self._eligible(i) and not any(self.beats(j, i) for j in rivals - {i}))

    def strongest(self, among: Collection[int]) -> int | None:
        """The one of several methods that is best on average compared with the others; None if none is eligible.

        As in `best`, methods with few of the inputs are not.
        """
        eligible = [i for i in among if self._eligible(i)]
        sign = 1 if self.higher_is_better else -1
        return max(eligible, key=lambda i: sign * float(self.difference[i, eligible].sum()), default=None)

    def letters(self, best_first: Sequence[int]) -> list[str]:
        """Compact letter display: two methods share a letter unless they are significantly different.

        Every maximal set of methods without a significant difference has a letter (insert and absorb: Piepho, 2004).
        After `z` come capitals, then Greek and further letters: one letter is always one character. Where no two
        methods differ, letters would say nothing, and there are none.

        Args:
            best_first: the methods that get letters, in the order in which letters are assigned.

        Returns:
            The letters of each method; empty for a method that is not in `best_first`.
        """
        letters = [""] * len(self.p)
        if not self.any_difference:
            return letters
        sets = {frozenset(best_first)}
        for i, j in combinations(best_first, 2):
            if self.differ(i, j):
                sets = _separate(sets, i, j)
        rank = {method: place for place, method in enumerate(best_first)}
        alphabet = chain(ascii_letters, filter(str.isalpha, map(chr, count(ord("α")))))
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


def inputs_needed(tests: int) -> int:
    """Number of inputs with which each of several paired differences could become significant.

    With n inputs one of them reaches a p-value of 2^(1 - n) at best, and correcting for all multiplies it by their
    number at most.
    """
    return math.ceil(1 + math.log2(tests / ALPHA)) if tests else 0


def _judged(test: JointTest) -> JointTest:
    """The test, with the number of inputs that it needs, and whether nothing is significant and nothing could be."""
    methods = int((np.diag(test.shared) > 0).sum())
    inputs = int(test.shared[np.triu_indices(len(test.p), k=1)].max(initial=0))
    needed = inputs_needed(math.comb(methods, 2))
    short = inputs < needed and not test.any_difference
    return replace(test, needed=needed, too_few=TooFew(methods, inputs, needed) if short else None)


def joint_test(
    values: FloatArray,
    *,
    higher_is_better: bool = True,
    tolerance: float = 0.0,
    seed: int = 0,
    sequential: bool = False,
) -> JointTest:
    """Compare the means of all methods under a metric.

    Args:
        values: shape [inputs, methods], NaN where there is none. The order of the inputs does not matter, unless the
            test is sequential.
        tolerance: values that differ by no more are ties.
        sequential: whether results decided how many inputs there are; they come in the order of being looked at then.
    """
    values = values if sequential else _in_fixed_order(values)
    known = ~np.isnan(values)
    methods = values.shape[1]
    left, right = np.triu_indices(methods, k=1)
    shared = (known.T.astype(np.int64) @ known.astype(np.int64)).astype(np.int64)
    centred = values - np.nanmean(np.where(known.any(axis=1, keepdims=True), values, 0.0), axis=1, keepdims=True)
    differences = centred[:, left] - centred[:, right]
    noise = (differences != 0.0) & (np.abs(differences) <= tolerance)
    differences[noise] = 0.0
    means = np.array([mean_of(column) or 0.0 for column in differences.T])
    filled = np.nan_to_num(differences)
    if sequential:
        p = sequential_p(filled)
    else:
        p = _flipped_p(filled, _PairSums(np.nan_to_num(centred), known, left, right, filled, noise.any(axis=0)), seed)
    ties = np.abs(means) <= tolerance
    p[ties] = 1.0  # a mean difference below rounding noise is no difference, however regular it is
    p[shared[left, right] < 2] = np.nan
    return _judged(
        JointTest(
            _symmetric(p, left, right, methods),
            _symmetric(np.where(ties, 0.0, means), left, right, methods, sign=-1),
            shared,
            int(known.any(axis=1).sum()),
            higher_is_better,
        )
    )


def joint_differences(
    differences: FloatArray, *, tolerance: FloatArray | float = 0.0, seed: int = 0, sequential: bool = False
) -> tuple[FloatArray, FloatArray]:
    """Test many paired differences on the same inputs.

    Args:
        differences: shape [inputs, tests], NaN where there is none.
        tolerance: differences up to this are ties; for all tests, or one for each.
        sequential: as in `joint_test`.

    Returns:
        Mean differences, 0 for ties and NaN without any; and their adjusted p-values, NaN for fewer than two. Shape
        [tests] each.
    """
    ordered = differences if sequential else _in_fixed_order(differences)
    ordered = np.where(np.abs(ordered) <= tolerance, 0.0, ordered)
    known = (~np.isnan(ordered)).sum(axis=0)
    means = np.array([np.nan if (mean := mean_of(column)) is None else mean for column in ordered.T])
    filled = np.nan_to_num(ordered)
    p = sequential_p(filled) if sequential else _flipped_p(filled, lambda signs: np.asarray(signs @ filled), seed)
    ties = np.abs(means) <= tolerance
    p[ties] = 1.0
    p[known < 2] = np.nan
    return np.where(ties, 0.0, means), p


def swap_test(
    features: FloatArray, statistic: Statistic, *, known: BoolArray | None = None, seed: int = 0
) -> JointTest:
    """Compare a statistic that is not a mean, such as F1: flipping a sign swaps what two methods have for an input.

    Args:
        features: what is summed over inputs, shape [inputs, methods, features].
        statistic: of those sums; higher is better.
        known: whether a method has an input, shape [inputs, methods]; all by default.
    """
    n, methods, _ = features.shape
    present = np.ones((n, methods), bool) if known is None else known
    left, right = np.triu_indices(methods, k=1)
    observed, drawn = np.zeros(len(left)), []
    for place, (i, j) in enumerate(zip(left, right, strict=True)):
        both = (present[:, i] & present[:, j])[:, None]
        total = ((features[:, i] + features[:, j]) * both).sum(axis=0)
        gap = (features[:, i] - features[:, j]) * both

        def swapped(signed: FloatArray, total: FloatArray = total) -> FloatArray:
            return np.asarray(statistic((total + signed) / 2) - statistic((total - signed) / 2))

        observed[place] = swapped(gap.sum(axis=0, keepdims=True))[0]
        drawn.append(np.concatenate([swapped(signs @ gap) for signs in _signs(n, seed)]))
    flipped = np.nan_to_num(np.stack(drawn, axis=1)) if drawn else np.zeros((1, 0))
    spread = np.sqrt(np.mean(flipped**2, axis=0))
    spread[spread <= _SLACK] = np.inf
    p = _step_down(np.abs(np.nan_to_num(observed)) / spread, [np.abs(flipped) / spread], exact=_exact(n))
    shared = (present.T.astype(np.int64) @ present.astype(np.int64)).astype(np.int64)
    p[shared[left, right] < 2] = np.nan
    return _judged(
        JointTest(
            _symmetric(p, left, right, methods),
            _symmetric(np.nan_to_num(observed), left, right, methods, sign=-1),
            shared,
            int(present.any(axis=1).sum()),
        )
    )


def _in_fixed_order(values: FloatArray) -> FloatArray:
    """The inputs sorted by their values, so that results do not depend on their order."""
    return values[np.lexsort(values.T)] if values.size else values


def _symmetric(values: FloatArray, left: IntArray, right: IntArray, methods: int, sign: int = 1) -> FloatArray:
    """A matrix from its upper triangle; NaN, or 0 for an antisymmetric one, on the diagonal."""
    matrix = np.full((methods, methods), np.nan if sign > 0 else 0.0)
    matrix[left, right] = values
    matrix[right, left] = sign * values
    return matrix


def _exact(n: int) -> bool:
    """Whether all sign flips are tried; flips that differ in every sign are equivalent."""
    return bool(2 ** max(n - 1, 0) <= FLIPS)


def _signs(n: int, seed: int) -> Iterator[FloatArray]:
    """Blocks of sign flips, shape [flips, n], the identity left out where they are drawn."""
    block = max(1, _BLOCK // max(n, 1))
    if _exact(n):
        flips = 2 ** max(n - 1, 0)
        for start in range(0, flips, block):
            patterns = np.arange(start, min(start + block, flips))
            yield 1.0 - 2.0 * ((patterns[:, None] >> np.arange(n)) & 1)
        return
    rng = np.random.default_rng(seed)
    for start in range(0, FLIPS - 1, block):
        size = min(block, FLIPS - 1 - start)
        bits = np.frombuffer(rng.bytes(size * ((n + 7) // 8)), np.uint8).reshape(size, -1)
        yield 1.0 - 2.0 * np.unpackbits(bits, axis=1, count=n)


class _PairSums:
    """Sums of the differences of all pairs of methods under sign flips, from sums of the methods.

    The sums of two methods are subtracted, less what each has where the other one is missing: few products, where each
    pair on its own would take one. Pairs with noise that is ignored, or whose differences are so small that rounding
    would show, are summed on their own.

    Args:
        values: shape [inputs, methods], 0 where missing.
        known: where they are not missing.
        left, right: the methods of each pair.
        differences: shape [inputs, pairs], 0 where missing.
        noisy: pairs with ignored noise.
    """

    def __init__(
        self,
        values: FloatArray,
        known: BoolArray,
        left: IntArray,
        right: IntArray,
        differences: FloatArray,
        noisy: BoolArray,
    ) -> None:
        self._values, self._left, self._right = values, left, right
        self._missing = [
            (np.flatnonzero(~known[:, method]), np.flatnonzero(left == method), np.flatnonzero(right == method))
            for method in np.flatnonzero(~known.all(axis=0))
        ]
        size = np.sqrt((values**2).sum(axis=0))
        small = np.sqrt((differences**2).sum(axis=0)) < _CANCELLED * np.maximum(size[left], size[right])
        self._alone = np.flatnonzero(noisy | small)
        self._differences = differences[:, self._alone]

    def __call__(self, signs: FloatArray) -> FloatArray:
        """Signs, shape [flips, inputs], to sums, shape [flips, pairs]."""
        totals = signs @ self._values
        sums = np.asarray(totals[:, self._left] - totals[:, self._right])
        for rows, as_left, as_right in self._missing:
            of_others = signs[:, rows] @ self._values[rows]
            sums[:, as_left] += of_others[:, self._right[as_left]]
            sums[:, as_right] -= of_others[:, self._left[as_right]]
        sums[:, self._alone] = signs @ self._differences
        return sums


def _flipped_p(differences: FloatArray, sums: Callable[[FloatArray], FloatArray], seed: int) -> FloatArray:
    """Adjusted p-values of sums of paired differences.

    Args:
        differences: of each test, shape [inputs, tests], 0 where missing.
        sums: of the differences under sign flips: shape [flips, inputs] to [flips, tests].
    """
    n, tests = differences.shape
    if not tests:
        return np.zeros(0)
    norm = np.sqrt((differences**2).sum(axis=0))
    norm[norm == 0.0] = np.inf  # nothing differs: never significant

    def blocks() -> Iterator[FloatArray]:
        size = max(1, _BLOCK // tests)
        for signs in _signs(n, seed):
            for start in range(0, len(signs), size):
                yield np.abs(sums(signs[start : start + size])) / norm

    return _step_down(np.abs(differences.sum(axis=0)) / norm, blocks(), exact=_exact(n))


def _step_down(
    observed: FloatArray, flipped: Iterator[FloatArray] | Sequence[FloatArray], *, exact: bool
) -> FloatArray:
    """Step-down max-T: each test against the largest statistic of those that are no more extreme.

    Args:
        observed: shape [tests].
        flipped: blocks of the same statistics under sign flips, shape [flips, tests].
        exact: whether the flips are all there are; otherwise the data as they are count as one more.
    """
    order = np.argsort(-observed, kind="stable")
    threshold = observed[order] * (1 - _SLACK)
    reached, flips = np.zeros(len(observed)), 0
    for block in flipped:
        largest = np.maximum.accumulate(block[:, order[::-1]], axis=1)[:, ::-1]
        reached += (largest >= threshold).sum(axis=0)
        flips += len(block)
    extra = 0 if exact else 1
    p = np.empty(len(observed))
    p[order] = np.maximum.accumulate(np.minimum(1.0, (reached + extra) / max(1, flips + extra)))
    return p


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
    for place, instance in enumerate(ids):
        members.setdefault(shared.get(instance, instance), []).append(place)
    means = np.full((len(members), values.shape[1]), np.nan)
    for line, places in enumerate(members.values()):
        for column in range(values.shape[1]):
            mean = mean_of(values[places, column])
            means[line, column] = np.nan if mean is None else mean
    return means, list(members)


def mean_over_columns(values: FloatArray) -> FloatArray:
    """Mean of each row over what is not NaN, NaN where nothing is; shape [rows, columns] -> [rows]."""
    means = [mean_of(row) for row in values]
    return np.array([np.nan if mean is None else mean for mean in means])


def mean_of(values: FloatArray) -> float | None:
    """Mean of what is not NaN; its sum is exact, so that the order of the values does not matter."""
    known = values[~np.isnan(values)]
    return math.fsum(known) / len(known) if len(known) else None
