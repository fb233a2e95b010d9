"""Louvain spans: groups of words, found as communities of a graph of word pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.metrics import adjusted_rand_score

from verax.engine.protocols import Method, requirements
from verax.engine.questions import QuestionGenerator
from verax.methods.interaction.bivariate_shapley import BivariateShapley
from verax.methods.span.communities import communities
from verax.models.subject import Subject
from verax.registry import ShortForms
from verax.types import Attribution, Base, FloatArray, IntArray, Kind, Passes, Span, Target, Undefined, Unit, UserError


@dataclass(frozen=True)
class Louvain:
    """Pairs of spans from the scores of word pairs.

    Words are nodes, and the pairs that the interaction scores are edges in both directions. The contiguous runs of
    words of each community are its spans; each pair of spans that the interaction could pair is a unit, whose score is
    the mean over its word pairs.

    Args:
        over: the interaction that scores the word pairs.
        weights: of the edges: `absolute` scores, or only the `positive` ones.
        normalise: `pairs` takes the mean over the word pairs (Section 3.2), `union` divides their sum by the number of
            words in both spans (Equation 23).
        resolution: above 1 favours smaller communities.
        stability: number of further seeds for which the partition is computed, to measure how it depends on the seed.
        seed: of the order in which nodes are visited.
    """

    over: Method = BivariateShapley()  # noqa: RUF009 - frozen, so it can be shared
    weights: Literal["absolute", "positive"] = "absolute"
    normalise: Literal["pairs", "union"] = "pairs"
    resolution: float = 1.0
    stability: int = 4
    seed: int = 0

    name: ClassVar[str] = "louvain"
    display: ClassVar[str] = "Louvain over {over}"
    short_forms: ClassVar[ShortForms] = {
        "over": {
            "bivariate_shapley": "Shapley",
            "attention_interaction": "attention",
            "attention_attribution": "AttAttr",
            "shapley_interaction": "SII",
            "random_interaction": "random pairs",
        }
    }
    summary: ClassVar[str] = "Pairs of spans from Louvain communities of a graph of word interactions."
    cost: ClassVar[str] = "as its interaction"
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
        """Passes of the interaction."""
        return self.over.passes(n)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """The questions of the interaction, which scores both directions of a pair if it can."""
        over: Any = replace(self.over, directed=True) if hasattr(self.over, "directed") else self.over  # type: ignore[type-var]
        made: Attribution = yield from over(x)
        scores = _matrix(x, made)
        sizes = np.abs(scores) if self.weights == "absolute" else np.maximum(scores, 0.0)
        if not np.nansum(sizes) > 0:
            raise Undefined("no_edges", f"no word pair has a score to count by (weights: {self.weights})")
        # modularity does not depend on the scale, but tiny weights would be lost to rounding
        weights = np.nan_to_num(sizes / np.nanmax(sizes))
        community = communities(weights, self.resolution, self.seed)
        units, means = _span_pairs(x, community, scores, self.normalise)
        if not units:
            raise Undefined("no_span_pairs", "no community holds words that the interaction pairs")
        notes = dict(made.notes)
        if self.stability:
            others = [communities(weights, self.resolution, self.seed + 1 + k) for k in range(self.stability)]
            notes["stability"] = float(np.mean([adjusted_rand_score(community, other) for other in others]))
        return Attribution(units, means, notes)


def _matrix(x: Subject, made: Attribution) -> FloatArray:
    """Scores of pairs of words, NaN where the interaction scores none; without directions both are filled."""
    number = {unit[0]: i for i, unit in enumerate(x.units)}
    first, second = np.array([(number[a], number[b]) for a, b in made.units]).T
    scores = np.full((x.n_units, x.n_units), np.nan)
    scores[first, second] = made.scores
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
