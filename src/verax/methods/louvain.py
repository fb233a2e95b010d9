"""Louvain spans: groups of words, found as communities of a graph of word pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics import adjusted_rand_score

from verax.engine.protocols import Method, requirements
from verax.engine.questions import QuestionGenerator
from verax.methods.shapley import BivariateShapley
from verax.models.subject import Subject
from verax.types import (
    OTHER_BUDGETS,
    Attribution,
    Base,
    FloatArray,
    IntArray,
    Kind,
    Passes,
    Span,
    Target,
    Undefined,
    Unit,
    UserError,
    require_at_least,
)

_LEAST = 1e-7
"""Least increase of modularity for one more level."""
_STRIDE = 100_003
"""Between the seeds of one explanation: explanations by neighbouring seeds share no draw."""


@dataclass(frozen=True)
class Louvain:
    """Pairs of spans from the scores of word pairs.

    Words are nodes, and the pairs that the interaction scores are edges in both directions. The contiguous runs of
    words of each community are its spans; each pair of spans that the interaction could pair is a unit, whose score is
    the mean over its word pairs.

    A partition depends on the order in which nodes are visited, and an interaction that samples on its seed. So the
    communities are a consensus of several partitions: words belong together that share a community in most of them.

    Args:
        over: the interaction that scores the word pairs.
        weights: of the edges: `absolute` scores, or only the `positive` ones.
        normalise: `pairs` takes the mean over the word pairs (Section 3.2), `union` divides their sum by the number of
            words in both spans (Equation 23).
        resolution: above 1 favours smaller communities.
        draws: number of seeds of the interaction, whose scores are averaged; without effect if it has no seed.
        partitions: number of partitions of each draw that the consensus is made of; with one draw and one partition it
            is that partition.
        stability: number of times that draws and partitions are drawn again from those at hand, to measure how much
            the spans, and the budget of words that they set, depend on the seeds.
        seed: of the order in which nodes are visited.
    """

    over: Method = BivariateShapley()  # noqa: RUF009 - frozen, so it can be shared
    weights: Literal["absolute", "positive"] = "absolute"
    normalise: Literal["pairs", "union"] = "pairs"
    resolution: float = 1.0
    draws: int = 3
    partitions: int = 20
    stability: int = 4
    seed: int = 0

    name: ClassVar[str] = "louvain"
    display: ClassVar[str] = "Louvain over {over}"
    summary: ClassVar[str] = "Pairs of spans from Louvain communities of a graph of word interactions."
    cost: ClassVar[str] = "as its interaction, for each of the `draws`"
    kind: ClassVar[Kind] = "span_interaction"
    version: ClassVar[int] = 2
    reference: ClassVar[str] = (
        "Ray Choudhury et al. 2023, Explaining interactions between text spans; consensus: Fred and Jain 2005"
    )

    def __post_init__(self) -> None:
        if getattr(self.over, "kind", None) != "token_interaction":
            raise UserError(f"louvain: over: needs an interaction between words, got {type(self.over).__name__}")
        if not self.resolution > 0:
            raise UserError(f"louvain: resolution: got {self.resolution:g}, it must be above 0")
        require_at_least("louvain", 1, draws=self.draws, partitions=self.partitions)
        require_at_least("louvain", 0, stability=self.stability)

    @property
    def base(self) -> Base | None:
        """Base of the interaction."""
        base: Base | None = getattr(self.over, "base", None)
        return base

    @property
    def target(self) -> Target:
        """Target of the interaction."""
        target: Target = getattr(self.over, "target", Target())
        return target

    @property
    def requires(self) -> frozenset[str]:
        """What the interaction asks of a model."""
        return requirements(self.over)

    @property
    def per_layer(self) -> bool:
        """Whether the interaction asks for backward passes in each layer."""
        return bool(getattr(self.over, "per_layer", False))

    def passes(self, n: int) -> Passes:
        """Passes of the interaction, for each of its seeds."""
        passes = self.over.passes(n)
        return Passes(passes.forward * len(self._seeds()), passes.backward * len(self._seeds()))

    def _seeds(self) -> list[int]:
        """Seeds of the interaction; the first is its own, so that its passes are shared."""
        if not hasattr(self.over, "seed"):
            return [0]
        return [self.over.seed + _STRIDE * number for number in range(self.draws)]

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """The questions of the interaction, which scores both directions of a pair if it can."""
        drawn, notes = [], dict(x.encoding.notes)
        for seed in self._seeds():
            fields = {"directed": True, "seed": seed}
            changed = {name: value for name, value in fields.items() if hasattr(self.over, name)}
            over: Any = replace(self.over, **changed)  # type: ignore[type-var]
            pairs: Attribution = yield from over(x)
            drawn.append(_matrix(x, pairs))
            notes |= pairs.notes
        scores = np.stack(drawn)
        parted = np.stack([self._partitions(matrix, number) for number, matrix in enumerate(scores)])
        community = consensus(parted.reshape(-1, x.n_units))
        units, means = _span_pairs(x, community, scores.mean(0), self.normalise)
        if not units:
            raise Undefined("no_span_pairs", "no community holds words that the interaction pairs")
        if self.stability:
            again = list(self._again(x, scores, parted))
            notes["stability"] = float(np.mean([adjusted_rand_score(community, other) for other, _, _ in again]))
            sizes = [_sizes(others, values) for _, others, values in again if others]
            notes[OTHER_BUDGETS] = ";".join(",".join(map(str, several)) for several in sizes)
        return Attribution(units, means, notes)

    def _partitions(self, scores: FloatArray, draw: int, first: int = 0) -> IntArray:
        """Partitions of the words by the scores of one draw, shape [partitions, n]."""
        sizes = np.abs(scores) if self.weights == "absolute" else np.maximum(scores, 0.0)
        if not np.nansum(sizes) > 0:
            raise Undefined("no_edges", f"no word pair has a score to count by (weights: {self.weights})")
        # modularity does not depend on the scale, but tiny weights would be lost to rounding
        weights = np.nan_to_num(sizes / np.nanmax(sizes))
        numbers = range(first + draw * self.partitions, first + (draw + 1) * self.partitions)
        return np.stack([communities(weights, self.resolution, self.seed + _STRIDE * number) for number in numbers])

    def _again(
        self, x: Subject, scores: FloatArray, parted: IntArray
    ) -> Iterator[tuple[IntArray, tuple[Unit, ...], FloatArray]]:
        """Communities and span pairs from draws and partitions that are drawn again, with replacement."""
        rng = x.rng(self.seed, "louvain")
        draws, partitions, n = parted.shape
        for number in range(self.stability):
            chosen: IntArray = np.asarray(rng.integers(draws, size=draws))
            if draws == partitions == 1:  # nothing to draw from: another seed
                kept = self._partitions(scores[0], 0, first=number + 1)
            else:
                kept = parted[np.repeat(chosen, partitions), rng.integers(partitions, size=draws * partitions)]
            community = consensus(kept.reshape(-1, n))
            yield community, *_span_pairs(x, community, scores[chosen].mean(0), self.normalise)


def _sizes(units: Sequence[Unit], scores: FloatArray) -> list[int]:
    """Number of different words in the top k span pairs, for every k."""
    words: set[tuple[int, int]] = set()
    sizes = []
    for number in np.argsort(-scores, kind="stable").tolist():
        words |= {(span.part, word) for span in units[number] for word in range(span.start, span.end)}
        sizes.append(len(words))
    return sizes


def consensus(partitions: IntArray) -> IntArray:
    """Community of each node by most of several partitions, numbered by their first node.

    Groups are merged by average linkage as long as their nodes share a community in at least half of the partitions on
    average (evidence accumulation: Fred and Jain, 2005).

    Args:
        partitions: community of each node, shape [partitions, n].

    Returns:
        Shape [n].
    """
    n = partitions.shape[1]
    if n < 2:
        return np.zeros(n, np.int64)
    together = (partitions[:, :, None] == partitions[:, None, :]).mean(0)
    apart = squareform(1.0 - together, checks=False)
    # slightly above one half, so that rounding does not decide a tie
    return _numbered(fcluster(linkage(apart, "average"), 0.5 + 1e-9, "distance"))


def _matrix(x: Subject, pairs: Attribution) -> FloatArray:
    """Scores of pairs of words, NaN where the interaction scores none; without directions both are filled."""
    number = {unit[0]: i for i, unit in enumerate(x.units)}
    first, second = np.array([(number[a], number[b]) for a, b in pairs.units]).T
    scores = np.full((x.n_units, x.n_units), np.nan)
    scores[first, second] = pairs.scores
    return np.where(np.isnan(scores), scores.T, scores)


def _span_pairs(
    x: Subject, community: IntArray, scores: FloatArray, normalise: str
) -> tuple[tuple[Unit, ...], FloatArray]:
    """Pairs of runs of a community that contain scored word pairs, in reading order, and their scores."""
    spans = [unit[0] for unit in x.units]
    runs = _runs(spans, community)
    members = np.zeros((len(runs), len(spans)))
    for number, run in enumerate(runs):
        members[number, run] = 1.0
    sizes = members.sum(1)
    pairs = np.outer(sizes, sizes)
    known = ~np.isnan(scores)
    sums = members @ np.where(known, scores, 0.0) @ members.T  # both directions of a pair of words count half each
    totals = (sums + sums.T) / 2
    whole = members @ (known & known.T) @ members.T == pairs  # otherwise the interaction does not pair these parts
    of_run = community[[run[0] for run in runs]]
    first, second = np.nonzero(np.triu((of_run[:, None] == of_run) & whole, k=1))
    values = totals / (pairs if normalise == "pairs" else np.add.outer(sizes, sizes))
    units = tuple((_span(spans, runs[a]), _span(spans, runs[b])) for a, b in zip(first, second, strict=True))
    return units, values[first, second]


def _runs(spans: list[Span], community: IntArray) -> list[list[int]]:
    """Maximal runs of adjacent words of one community in one part, in reading order."""
    runs: list[list[int]] = []
    for i, span in enumerate(spans):
        last = runs[-1][-1] if runs else None
        joins = last is not None and community[last] == community[i] and spans[last].part == span.part
        if joins and spans[last].end == span.start:  # type: ignore[index]
            runs[-1].append(i)
        else:
            runs.append([i])
    return runs


def _span(spans: list[Span], run: list[int]) -> Span:
    return Span(spans[run[0]].part, spans[run[0]].start, spans[run[-1]].end)


def communities(weights: FloatArray, resolution: float, seed: int) -> IntArray:
    """Community of each node, shape [n], numbered by their first node.

    Nodes move to the neighbouring community that increases directed modularity most (Leicht and Newman, 2008), in a
    random order, until none moves; then communities become nodes, as long as that helps (Blondel et al., 2008). For the
    same seed the result is that of networkx, which uses dictionaries and is several times slower.

    Args:
        weights: of the edge from one node to another, not negative; shape [n, n].
        resolution: above 1 favours smaller communities.
    """
    rng, total = Random(seed), float(weights.sum())
    community = np.arange(len(weights))
    if not total:
        return community
    graph = np.asarray(weights, np.float64) / total
    reached = _modularity(graph, resolution)
    while True:
        moved = _moved(graph, resolution, rng)
        kept, joined = np.unique(moved, return_inverse=True)
        if len(kept) == len(graph):
            break
        community = joined[community]
        members = np.eye(len(kept))[joined]  # [nodes, communities]
        graph = members.T @ graph @ members
        before, reached = reached, _modularity(graph, resolution)
        if reached - before <= _LEAST:
            break
    return _numbered(community)


def _numbered(community: IntArray) -> IntArray:
    """Communities numbered by their first node."""
    _, first, number = np.unique(community, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number])


def _modularity(graph: FloatArray, resolution: float) -> float:
    """Directed modularity if each node is a community of its own."""
    return float(np.trace(graph) - resolution * graph.sum(1) @ graph.sum(0))


def _moved(graph: FloatArray, resolution: float, rng: Random) -> IntArray:
    """Community of each node once no move of a single node increases modularity."""
    n = len(graph)
    out, in_ = graph.sum(1), graph.sum(0)
    between = graph + graph.T
    np.fill_diagonal(between, 0.0)
    community = np.arange(n)
    all_out, all_in = out.copy(), in_.copy()
    order = list(range(n))
    rng.shuffle(order)
    moving = True
    while moving:
        moving = False
        for node in order:
            own = community[node]
            all_out[own] -= out[node]
            all_in[own] -= in_[node]
            links = np.bincount(community, between[node], n)
            gains = links - resolution * (out[node] * all_in + in_[node] * all_out)
            staying = gains[own]
            gains[links == 0] = -np.inf  # only a neighbour's community can be joined
            best = int(gains.argmax())
            # a tie with rounding noise is not a gain
            if best != own and gains[best] - staying > 1e-15:
                community[node], moving = best, True
                own = best
            all_out[own] += out[node]
            all_in[own] += in_[node]
    return community
