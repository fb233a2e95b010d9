"""Louvain spans: words that matter together, found as communities of a graph of word pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import networkx as nx
import numpy as np
from sklearn.metrics import adjusted_rand_score

from verax.engine.asks import Asking
from verax.engine.protocols import Method
from verax.methods.interaction.bivariate_shapley import BivariateShapley
from verax.models.encoding import Encoded
from verax.types import Attribution, Base, FloatArray, IntArray, Kind, Passes, Span, Target, Undefined, Unit, UserError


@dataclass(frozen=True)
class Louvain:
    """Pairs of spans from the scores of word pairs.

    Words are nodes, and the pairs that the interaction scores are edges in both directions. The contiguous runs of
    words of each community are its spans; each pair of them that the interaction could pair is a unit, scored by the
    mean over its word pairs.

    Args:
        over: the interaction that scores the word pairs.
        weights: of the edges: `absolute` scores, or the `positive` ones alone.
        normalise: `pairs` takes the mean over the word pairs (Section 3.2), `union` divides their sum by the number of
            words in both spans (Equation 23).
        resolution: above 1 favours smaller communities.
        stability: by how many further seeds the partition is drawn, to tell how far it hangs on the seed.
        seed: of the order in which nodes are visited.
    """

    over: Method = BivariateShapley()  # noqa: RUF009 - frozen, so nobody can change what all share
    weights: Literal["absolute", "positive"] = "absolute"
    normalise: Literal["pairs", "union"] = "pairs"
    resolution: float = 1.0
    stability: int = 4
    seed: int = 0

    kind: ClassVar[Kind] = "span_interaction"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Ray Choudhury et al. 2023, Explaining interactions between text spans"

    def __post_init__(self) -> None:
        if getattr(self.over, "kind", None) != "token_interaction":
            raise UserError(f"louvain: over: needs an interaction between words, got {type(self.over).__name__}")
        if not self.resolution > 0:
            raise UserError(f"louvain: resolution: got {self.resolution:g}, it must be above 0")
        if self.stability < 0:
            raise UserError(f"louvain: stability: got {self.stability}, it must be 0 or more")

    @property
    def base(self) -> Base | None:
        """That of the interaction."""
        base: Base | None = getattr(self.over, "base", None)
        return base

    @property
    def target(self) -> Target:
        """That of the interaction."""
        target: Target = getattr(self.over, "target", Target())
        return target

    @property
    def looks_inside(self) -> bool:
        """As the interaction does."""
        return bool(getattr(self.over, "looks_inside", False))

    @property
    def per_layer(self) -> bool:
        """As the interaction is."""
        return bool(getattr(self.over, "per_layer", False))

    def passes(self, n: int) -> Passes:
        """Those of the interaction."""
        return self.over.passes(n)

    def __call__(self, x: Encoded) -> Asking[Attribution]:
        """What the interaction asks, both directions of a pair apart where it can tell them apart."""
        over: Any = replace(self.over, directed=True) if hasattr(self.over, "directed") else self.over  # type: ignore[type-var]
        made: Attribution = yield from over(x)
        scores = _matrix(x, made)
        sizes = np.abs(scores) if self.weights == "absolute" else np.maximum(scores, 0.0)
        if not np.nansum(sizes) > 0:
            raise Undefined("no_edges", f"no word pair has a score to count by (weights: {self.weights})")
        graph = _graph(sizes)
        community = communities(graph, self.resolution, self.seed)
        units, means = _span_pairs(x, community, scores, self.normalise)
        if not units:
            raise Undefined("no_span_pairs", "no community holds words that the interaction pairs")
        notes = dict(made.notes)
        if self.stability:
            others = [communities(graph, self.resolution, self.seed + 1 + k) for k in range(self.stability)]
            notes["stability"] = float(np.mean([adjusted_rand_score(community, other) for other in others]))
        return Attribution(units, means, notes)


def _matrix(x: Encoded, made: Attribution) -> FloatArray:
    """Scores by word and word, NaN where the interaction scores no pair; one without directions fills both."""
    number = {unit[0]: i for i, unit in enumerate(x.units)}
    scores = np.full((x.n_units, x.n_units), np.nan)
    for (a, b), score in zip(made.units, made.scores.tolist(), strict=True):
        scores[number[a], number[b]] = score
        if np.isnan(scores[number[b], number[a]]):
            scores[number[b], number[a]] = score
    return scores


def _graph(sizes: FloatArray) -> nx.DiGraph[int]:
    """Words in reading order, edges in the order of their words, so that a seed means the same everywhere."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(sizes)))
    # on one scale: the modularity of a graph does not change with it, but tiny weights would drown in rounding
    scaled = sizes / np.nanmax(sizes)
    graph.add_weighted_edges_from((i, j, scaled[i, j]) for i, j in np.argwhere(scaled > 0).tolist())
    return graph


def communities(graph: nx.DiGraph[int], resolution: float, seed: int) -> IntArray:
    """The number of each word's community, shape [n_units]."""
    found = nx.community.louvain_communities(graph, weight="weight", resolution=resolution, seed=seed)
    numbers = np.empty(len(graph), np.int64)
    for number, members in enumerate(sorted(found, key=min)):
        numbers[list(members)] = number
    return numbers


def _span_pairs(
    x: Encoded, community: IntArray, scores: FloatArray, normalise: str
) -> tuple[tuple[Unit, ...], FloatArray]:
    """Pairs of runs of a community that hold scored word pairs, in reading order, and their scores."""
    spans = [unit[0] for unit in x.units]
    runs = _runs(spans, community)
    units: list[Unit] = []
    values: list[float] = []
    for number, first in enumerate(runs):
        for second in runs[number + 1 :]:
            if community[first[0]] != community[second[0]]:
                continue
            both = np.stack([scores[np.ix_(first, second)], scores[np.ix_(second, first)].T])
            if np.isnan(both).any():  # the interaction does not pair these parts
                continue
            pairs = both.mean(0)
            units.append((_span(spans, first), _span(spans, second)))
            values.append(float(pairs.mean() if normalise == "pairs" else pairs.sum() / sum(pairs.shape)))
    return tuple(units), np.array(values)


def _runs(spans: list[Span], community: IntArray) -> list[list[int]]:
    """Words of one community that stand side by side in one part, as long as possible, in reading order."""
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
