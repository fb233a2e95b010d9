"""The unified framework as tables: each kind of explanation, by what it is made of, under each property."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

from verax.stats.inference import mean_interval
from verax.stats.recorded import parameter, recorded
from verax.stats.simulation import METRIC, simulated, simulated_by
from verax.types import Base, Estimate, Highlight, Kind, Score

KINDS: tuple[Kind, ...] = ("span_interaction", "token_interaction", "token")
BASES: tuple[Base, ...] = ("shapley", "attention", "integrated_gradients", "random")
PropertyName = Literal[
    "comprehensiveness",
    "sufficiency",
    "agreement_of_words",
    "agreement_of_pairs",
    "simulatability",
    "complexity",
]
Place = tuple[Kind, Base]


class Bounds(NamedTuple):
    """Mean entropy of as many scores drawn from [0, 1), and of as many equal ones."""

    random: float
    uniform: float


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of one base under one property.

    Args:
        method: its label in the run; of several methods of the same kind and base the first.
        value: the mean; of simulatability the RSF.
        n: instances that have a value.
        difference: how far the value lies above that of the random explanation of the same kind, over the `pairs`
            instances that both have; None of the random one itself, and where there is none. Of complexity, above the
            random bound: as many scores drawn at random. Random spans are fewer than those of a method, and the entropy
            of fewer scores is lower whatever they are.
        best: whether it is the best kind of its base, or can't be told apart from it: the 95 % interval of their
            difference holds 0. Never of random explanations.
        words: of flips, how many words the largest perturbation is about, on average.
        bounds: of complexity.
        sf: of simulatability, the F1 that the RSF is made from.
    """

    kind: Kind
    base: Base
    method: str
    value: Estimate
    n: int
    difference: Estimate | None = None
    pairs: int = 0
    best: bool = False
    words: float | None = None
    bounds: Bounds | None = None
    sf: Estimate | None = None

    @property
    def like_random(self) -> bool:
        """Whether the interval of the difference holds 0."""
        return self.difference is not None and holds_zero(self.difference)


@dataclass(frozen=True, slots=True)
class Property:
    """One property, measured by one metric of the run.

    Args:
        metric: its label in the run.
        parameters: of the metric, as the run card has them.
        over: what the intervals are over.
        seeds: how many agents were trained for each explanation, of simulatability.
        without: of simulatability, the F1 of agents that see no explanation.
    """

    name: PropertyName
    metric: str
    parameters: Mapping[str, Any]
    higher_is_better: bool
    cells: tuple[Cell, ...]
    over: str = "instances"
    seeds: int | None = None
    without: float | None = None

    def at(self, kind: Kind, base: Base) -> Cell | None:
        """The cell of a kind and a base."""
        return next((cell for cell in self.cells if (cell.kind, cell.base) == (kind, base)), None)


@dataclass(frozen=True, slots=True)
class Stability:
    """How far the spans of a method hang on its seed: mean adjusted Rand index of partitions by other seeds."""

    method: str
    base: Base | None
    value: Estimate
    n: int


@dataclass(frozen=True, slots=True)
class Unified:
    """All properties that a run measured, in the order of `PropertyName`, and the stability of its spans."""

    properties: tuple[Property, ...]
    stability: tuple[Stability, ...]

    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that have a value under any property."""
        met = {cell.kind for one in self.properties for cell in one.cells}
        return tuple(kind for kind in KINDS if kind in met)

    def bases(self) -> tuple[Base, ...]:
        """The same of bases."""
        met = {cell.base for one in self.properties for cell in one.cells}
        return tuple(base for base in BASES if base in met)


def unified(
    card: Mapping[str, Any], scores: Sequence[Score], highlights: Sequence[Highlight] = (), *, seed: int = 0
) -> Unified | None:
    """The tables of a run; None if it has fewer than two kinds of explanation, or none of the properties.

    Where agreement was measured within the budget, agreement over all words is left out.
    """
    grid = _grid(card)
    by_metric: dict[str, dict[str, list[Score]]] = {}
    for score in scores:
        by_metric.setdefault(score.metric, {}).setdefault(score.method, []).append(score)
    properties = []
    for name, entry in _chosen(card):
        rows = by_metric.get(entry["label"], {})
        if name == "simulatability":
            made = _simulatability(card, entry, grid, rows)
        else:
            higher = bool(entry.get("higher_is_better", name != "complexity"))
            made = Property(name, entry["label"], _parameters(entry), higher, _cells(grid, rows, higher, seed))
        if made.cells:
            properties.append(made)
    found = Unified(tuple(properties), _stability(card, highlights, seed))
    return found if len(found.kinds()) > 1 else None


def _grid(card: Mapping[str, Any]) -> dict[Place, str]:
    """The first method of each kind and base, in the order of the tables."""
    methods = [((entry.get("kind"), entry.get("base")), entry["label"]) for entry in recorded(card, "methods")]
    grid: dict[Place, str] = {}
    for kind in KINDS:
        for base in BASES:
            label = next((label for place, label in methods if place == (kind, base)), None)
            if label is not None:
                grid[kind, base] = label
    return grid


def _chosen(card: Mapping[str, Any]) -> list[tuple[PropertyName, Mapping[str, Any]]]:
    """The metrics that measure a property, by property and then as in the run card."""
    named = [(name, entry) for entry in recorded(card, "metrics") if (name := _property_of(entry)) is not None]
    within = any(name == "agreement_of_words" and parameter(entry, "within") == "budget" for name, entry in named)
    order = get_args(PropertyName)
    return sorted(
        (
            (name, entry)
            for name, entry in named
            if not (within and name == "agreement_of_words" and parameter(entry, "within") != "budget")
        ),
        key=lambda one: order.index(one[0]),
    )


def _property_of(entry: Mapping[str, Any]) -> PropertyName | None:
    match entry.get("name"):
        case "comprehensiveness_flips":
            return "comprehensiveness"
        case "sufficiency_flips":
            return "sufficiency"
        case "agreement":
            return "agreement_of_pairs" if parameter(entry, "level") == "interaction" else "agreement_of_words"
        case name if name == METRIC:
            return "simulatability"
        case "complexity" if parameter(entry, "top") == "span_pairs":
            return "complexity"
    return None


def _parameters(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    parameters = entry.get("parameters")
    return parameters if isinstance(parameters, Mapping) else {}


def _cells(grid: Mapping[Place, str], rows: Mapping[str, Sequence[Score]], higher: bool, seed: int) -> tuple[Cell, ...]:
    """The cells of a metric that scores single instances."""
    values = {
        place: known
        for place, label in grid.items()
        if (known := {row.instance_id: row.value for row in rows.get(label, ()) if row.value is not None})
    }

    cells = []
    for (kind, base), known in values.items():
        scored = [row for row in rows[grid[kind, base]] if row.value is not None]
        drawn = {row.instance_id: row.series["random"][0] for row in scored if row.series.get("random")}
        gap = _gap(known, drawn or values.get((kind, "random"), {}), seed) if base != "random" else None
        bounds = [_mean_of(scored, name, 0) for name in Bounds._fields]
        cells.append(
            Cell(
                kind=kind,
                base=base,
                method=grid[kind, base],
                value=mean_interval(list(known.values()), seed=seed),
                n=len(known),
                difference=gap and gap[0],
                pairs=gap[1] if gap else 0,
                words=_mean_of(scored, "words", -1),
                bounds=None if bounds[0] is None or bounds[1] is None else Bounds(bounds[0], bounds[1]),
            )
        )

    def between(one: Place, other: Place) -> Estimate | None:
        gap = _gap(values[one], values[other], seed)
        return gap and gap[0]

    return _with_best(cells, higher, between)


def _gap(one: Mapping[str, float], other: Mapping[str, float], seed: int) -> tuple[Estimate, int] | None:
    """The mean difference over the instances that both have, and how many these are; None without any."""
    apart_by = [value - other[instance] for instance, value in one.items() if instance in other]
    return (mean_interval(apart_by, seed=seed), len(apart_by)) if apart_by else None


def _mean_of(scores: Sequence[Score], name: str, place: int) -> float | None:
    """The mean of one number of a series over the scores that have it."""
    numbers = [score.series[name][place] for score in scores if score.series.get(name)]
    return math.fsum(numbers) / len(numbers) if numbers else None


def _with_best(
    cells: Sequence[Cell], higher: bool, difference: Callable[[Place, Place], Estimate | None]
) -> tuple[Cell, ...]:
    """The cells with the best kind of each base marked, and those that can't be told apart from it."""
    marked = []
    for cell in cells:
        rivals = [one for one in cells if one.base == cell.base]
        first = (max if higher else min)(rivals, key=lambda one: one.value.value)
        best = cell is first
        if not best and (gap := difference((cell.kind, cell.base), (first.kind, first.base))) is not None:
            best = holds_zero(gap)
        marked.append(replace(cell, best=best and cell.base != "random"))
    return tuple(marked)


def holds_zero(interval: Estimate) -> bool:
    """Whether 0 lies in an interval; where there is none nothing is told apart."""
    return interval.low is None or interval.high is None or interval.low <= 0 <= interval.high


def _simulatability(
    card: Mapping[str, Any], entry: Mapping[str, Any], grid: Mapping[Place, str], rows: Mapping[str, Sequence[Score]]
) -> Property:
    """The cells of agents: RSF, and its difference from that of agents that see the random explanation."""
    scores = [score for column in rows.values() for score in column]
    by_method = {row.method: row for row in simulated(card, scores).get(entry["label"], ())}
    found = {place: by_method[label] for place, label in grid.items() if label in by_method}

    def between(one: Place, other: Place) -> Estimate | None:
        return _rsf_apart(rows[grid[one]], rows[grid[other]])

    cells = []
    for (kind, base), row in found.items():
        gap, pairs = None, 0
        if base != "random" and (kind, "random") in found:
            mine, theirs = (_held_out(rows[grid[kind, one]]) for one in (base, "random"))
            gap, pairs = between((kind, base), (kind, "random")), len(mine & theirs)
        cells.append(Cell(kind, base, row.method, row.rsf, row.n, gap, pairs, sf=row.sf))
    first = max(found.values(), key=lambda row: row.n, default=None)  # methods may lack explanations of some instances
    return Property(
        "simulatability",
        entry["label"],
        _parameters(entry),
        True,
        _with_best(cells, True, between),
        over="instances" if first is None else first.over,
        seeds=None if first is None else first.seeds,
        without=None if first is None else first.without,
    )


def _held_out(scores: Sequence[Score]) -> set[str]:
    """The instances that agents were measured on."""
    return {score.instance_id for score in scores if "with" in score.series}


def _rsf_apart(one: Sequence[Score], other: Sequence[Score]) -> Estimate | None:
    """RSF of one explanation minus that of another, over the instances that both have.

    Agents without explanations are the same for both, so what is left is SF minus SF: the other takes their place.
    (Where a method lacks explanations of some instances its agents did without these too; SF minus SF it is all the
    same, on the instances that both have.)
    """
    named = {score.instance_id: score.series["with"] for score in other if "with" in score.series}
    paired = [
        replace(score, series={**score.series, "without": named[score.instance_id]})
        for score in one
        if score.instance_id in named and "with" in score.series
    ]
    return simulated_by("", paired).rsf if paired else None


def _stability(card: Mapping[str, Any], highlights: Sequence[Highlight], seed: int) -> tuple[Stability, ...]:
    """Of each method whose explanations tell it, in the order of the run card."""
    noted: dict[str, list[float]] = {}
    for highlight in highlights:
        note = highlight.notes.get("stability")
        if highlight.kind == "span_interaction" and isinstance(note, float):
            noted.setdefault(highlight.method, []).append(note)
    base = {entry["label"]: entry.get("base") for entry in recorded(card, "methods")}
    labels = [label for label in dict.fromkeys([*base, *noted]) if label in noted]
    return tuple(
        Stability(label, base.get(label), mean_interval(noted[label], seed=seed), len(noted[label])) for label in labels
    )
