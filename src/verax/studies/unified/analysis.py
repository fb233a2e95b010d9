"""Each kind of explanation, by the base that its scores are made from, under each property."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from verax.results.manifest import Manifest, MetricEntry
from verax.results.run import Labels, Run, run_names
from verax.stats.inference import mean_interval
from verax.stats.simulation import simulated_f1
from verax.types import Base, Estimate, Kind, UserError

KINDS: tuple[Kind, ...] = ("span_interaction", "token_interaction", "token")
BASES: tuple[Base, ...] = ("shapley", "attention", "integrated_gradients", "random")
PropertyName = Literal[
    "comprehensiveness", "sufficiency", "agreement_of_words", "agreement_of_pairs", "simulatability", "complexity"
]
Place = tuple[Kind, Base]
Series = Mapping[str, Sequence[float]]


class Bounds(NamedTuple):
    """Mean entropy of as many scores drawn from [0, 1), and of as many equal ones."""

    random: float
    uniform: float


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of one base under one property.

    Args:
        method: its label in the run; of several methods of the same kind and base the first.
        value: the mean; of simulatability the RSF.
        n: instances that have a value.
        difference: of the value from that of the random explanation of the same kind, over the `pairs` instances that
            both have; None for the random one itself. Of complexity, from the random bound: random spans are fewer
            than those of a method, and the entropy of fewer scores is lower whatever they are.
        best: whether it is the best kind of its base, or not significantly different from it: the 95 % interval of
            their difference contains 0. Never for random explanations.
        words: of flips, the mean number of words in the largest perturbation.
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
        """Whether the interval of the difference contains 0."""
        return self.difference is not None and self.difference.may_be(0.0)


@dataclass(frozen=True, slots=True)
class Property:
    """One property, measured by one metric of the run.

    Args:
        metric: its label in the run.
        parameters: of the metric.
        over: what the intervals are over.
        seeds: of simulatability, number of agents trained for each explanation.
        without: of simulatability, F1 of agents that see no explanation.
    """

    name: PropertyName
    metric: str
    parameters: Mapping[str, Any]
    higher_is_better: bool
    entries: tuple[Entry, ...]
    over: str = "instances"
    seeds: int | None = None
    without: float | None = None

    def at(self, kind: Kind, base: Base) -> Entry | None:
        """The entry of a kind and a base."""
        return next((entry for entry in self.entries if (entry.kind, entry.base) == (kind, base)), None)


@dataclass(frozen=True, slots=True)
class Stability:
    """How much the spans of a method depend on its seed: mean adjusted Rand index of partitions by other seeds."""

    method: str
    base: str | None
    value: Estimate
    n: int


@dataclass(frozen=True, slots=True)
class UnifiedRun:
    """All properties that a run measured, in the order of `PropertyName`, and the stability of its spans."""

    name: str
    properties: tuple[Property, ...]
    stability: tuple[Stability, ...]

    def kinds(self) -> tuple[Kind, ...]:
        """The kinds that have a value under any property."""
        present = {entry.kind for one in self.properties for entry in one.entries}
        return tuple(kind for kind in KINDS if kind in present)

    def bases(self) -> tuple[Base, ...]:
        """The bases that have a value under any property."""
        present = {entry.base for one in self.properties for entry in one.entries}
        return tuple(base for base in BASES if base in present)


@dataclass(frozen=True, slots=True)
class Unified:
    """The properties of each run."""

    runs: tuple[UnifiedRun, ...]


def analyse(runs: Sequence[Run]) -> Unified | None:
    """The properties of each run; None if the first has fewer than two kinds of explanation, or no property."""
    made = [_one_run(name, run) for name, run in zip(run_names(runs), runs, strict=True)]
    found = [one for one in made if one is not None]
    if not found:
        return None
    for run, one in zip(runs, made, strict=True):
        if one is None:
            raise UserError(f"{run.folder} has fewer than two kinds of explanation under the properties of this study")
    return Unified(tuple(found))


def _one_run(name: str, run: Run, seed: int = 0) -> UnifiedRun | None:
    grid = _grid(run.manifest)
    properties = []
    for property_name, entry in _measured(run.manifest):
        made = _property(run, property_name, entry, grid, seed)
        if made.entries:
            properties.append(made)
    found = UnifiedRun(name, tuple(properties), _stability(run, seed))
    return found if len(found.kinds()) > 1 else None


def _grid(manifest: Manifest) -> dict[Place, str]:
    """The first method of each kind and base, in the order of the tables."""
    grid: dict[Place, str] = {}
    for kind in KINDS:
        for base in BASES:
            label = next((m.label for m in manifest.methods if (m.kind, m.base) == (kind, base)), None)
            if label is not None:
                grid[kind, base] = label
    return grid


def _measured(manifest: Manifest) -> list[tuple[PropertyName, MetricEntry]]:
    """The metrics that measure a property, by property and then as in the manifest.

    Where agreement was measured within the budget, agreement over all words is left out.
    """
    named = [(name, entry) for entry in manifest.metrics if (name := _property_of(entry)) is not None]
    within = any(name == "agreement_of_words" and _within(entry) for name, entry in named)
    chosen = [
        (name, entry) for name, entry in named if not (within and name == "agreement_of_words" and not _within(entry))
    ]
    return sorted(chosen, key=lambda pair: get_args(PropertyName).index(pair[0]))


def _within(entry: MetricEntry) -> bool:
    return bool(entry.parameters.get("within") == "budget")


def _property_of(entry: MetricEntry) -> PropertyName | None:
    match entry.name:
        case "comprehensiveness_flips":
            return "comprehensiveness"
        case "sufficiency_flips":
            return "sufficiency"
        case "agreement":
            interaction = entry.parameters.get("level") == "interaction"
            return "agreement_of_pairs" if interaction else "agreement_of_words"
        case "simulatability":
            return "simulatability"
        case "complexity" if entry.parameters.get("top") == "span_pairs":
            return "complexity"
    return None


@dataclass(frozen=True)
class _Scored:
    """The values of one method under one metric, by instance, and their series."""

    values: dict[str, float]
    series: dict[str, Series]

    def mean_of(self, name: str, place: int) -> float | None:
        """The mean of one number of a series over the instances that have it."""
        numbers = [one[name][place] for one in self.series.values() if one.get(name)]
        return math.fsum(numbers) / len(numbers) if numbers else None


def _scored(run: Run, metric: str, method: str) -> _Scored:
    rows = run.scores.where(metric=metric, method=method)
    rows = rows[~np.isnan(run.scores.value[rows])]
    ids = run.scores.ids(rows)
    return _Scored(
        dict(zip(ids, run.scores.value[rows].tolist(), strict=True)),
        dict(zip(ids, run.scores.series(rows), strict=True)),
    )


def _property(run: Run, name: PropertyName, metric: MetricEntry, grid: Mapping[Place, str], seed: int) -> Property:
    scored = {place: _scored(run, metric.label, label) for place, label in grid.items()}
    if name == "simulatability":
        return _simulatability(metric, grid, scored)
    higher = name != "complexity" if metric.higher_is_better is None else metric.higher_is_better
    entries = _entries(grid, {place: one for place, one in scored.items() if one.values}, higher, seed)
    return Property(name, metric.label, metric.parameters, higher, entries)


def _entries(grid: Mapping[Place, str], scored: Mapping[Place, _Scored], higher: bool, seed: int) -> tuple[Entry, ...]:
    """The entries of a metric that scores single instances."""
    entries = []
    for (kind, base), one in scored.items():
        drawn = {instance: series["random"][0] for instance, series in one.series.items() if series.get("random")}
        random = scored.get((kind, "random"))
        against = drawn or (random.values if random is not None else {})
        gap = _gap(one.values, against, seed) if base != "random" else None
        bounds = [one.mean_of(field, 0) for field in Bounds._fields]
        entries.append(
            Entry(
                kind=kind,
                base=base,
                method=grid[kind, base],
                value=mean_interval(list(one.values.values()), seed=seed),
                n=len(one.values),
                difference=gap and gap[0],
                pairs=gap[1] if gap else 0,
                words=one.mean_of("words", -1),
                bounds=None if bounds[0] is None or bounds[1] is None else Bounds(bounds[0], bounds[1]),
            )
        )

    def between(one: Place, other: Place) -> Estimate | None:
        gap = _gap(scored[one].values, scored[other].values, seed)
        return gap and gap[0]

    return _with_best(entries, higher, between)


def _gap(one: Mapping[str, float], other: Mapping[str, float], seed: int) -> tuple[Estimate, int] | None:
    """The mean difference over the instances that both have, and their number; None without any."""
    differences = [value - other[instance] for instance, value in one.items() if instance in other]
    return (mean_interval(differences, seed=seed), len(differences)) if differences else None


def _with_best(
    entries: Sequence[Entry], higher: bool, difference: Callable[[Place, Place], Estimate | None]
) -> tuple[Entry, ...]:
    """The entries with the best kind of each base marked, and those that are not significantly different from it."""
    marked = []
    for entry in entries:
        rivals = [one for one in entries if one.base == entry.base]
        first = (max if higher else min)(rivals, key=lambda one: one.value.value)
        best = entry is first
        if not best and (gap := difference((entry.kind, entry.base), (first.kind, first.base))) is not None:
            best = gap.may_be(0.0)
        marked.append(replace(entry, best=best and entry.base != "random"))
    return tuple(marked)


def _simulatability(metric: MetricEntry, grid: Mapping[Place, str], scored: Mapping[Place, _Scored]) -> Property:
    """The entries of agents: RSF, and its difference from that of agents that see the random explanation."""
    answers = {place: _agents(one) for place, one in scored.items()}
    answers = {place: held_out for place, held_out in answers.items() if held_out}

    def between(one: Place, other: Place) -> Estimate | None:
        """SF of one explanation minus that of another, over the instances that both have.

        Agents without explanations are the same for both, so the difference of RSF is that of SF.
        """
        ours, theirs = answers[one], answers[other]
        paired = {
            instance: {**series, "without": theirs[instance]["with"]}
            for instance, series in ours.items()
            if instance in theirs
        }
        return _f1(paired)[1] if paired else None

    entries, largest = [], 0
    without, seeds = None, None
    for (kind, base), held_out in answers.items():
        sf, rsf = _f1(held_out)
        random = answers.get((kind, "random")) if base != "random" else None
        gap = None if random is None else between((kind, base), (kind, "random"))
        pairs = 0 if random is None else len(held_out.keys() & random.keys())
        entries.append(Entry(kind, base, grid[kind, base], rsf, len(held_out), gap, pairs, sf=sf))
        if len(held_out) > largest:  # methods may lack explanations of some instances
            largest, without = len(held_out), sf.value - rsf.value
            seeds = len(next(iter(held_out.values()))["with"])
    return Property(
        "simulatability",
        metric.label,
        metric.parameters,
        True,
        _with_best(entries, True, between),
        over="seeds and instances" if seeds is not None and seeds > 1 else "instances",
        seeds=seeds,
        without=without,
    )


def _agents(scored: _Scored) -> dict[str, Series]:
    """What agents predicted for each held-out instance."""
    return {instance: series for instance, series in scored.series.items() if "model" in series}


def _f1(held_out: Mapping[str, Series]) -> tuple[Estimate, Estimate]:
    ordered = [held_out[instance] for instance in sorted(held_out)]
    model = np.array([series["model"][0] for series in ordered], np.int64)
    agents = np.array([(series["with"], series["without"]) for series in ordered], np.int64)
    return simulated_f1(model, agents)


def _stability(run: Run, seed: int) -> tuple[Stability, ...]:
    """Of each method whose explanations record it, in the order of the manifest."""
    table = run.tables.table("explanations", columns=("method", "kind", "notes"))
    kind, method = Labels.of(table["kind"]), Labels.of(table["method"])
    noted = pc.fill_null(pc.match_substring(table["notes"], '"stability"'), False).to_numpy()
    rows = np.flatnonzero(noted & (kind.codes == kind.code("span_interaction")))
    recorded: dict[str, list[float]] = {}
    for row, notes in zip(rows.tolist(), table["notes"].take(pa.array(rows)).to_pylist(), strict=True):
        note = run.notes(notes).get("stability")
        if isinstance(note, float):
            recorded.setdefault(method.names[method.codes[row]], []).append(note)
    labels = [label for label in run.manifest.method_labels(recorded) if label in recorded]
    return tuple(
        Stability(
            label, run.manifest.method(label).base, mean_interval(recorded[label], seed=seed), len(recorded[label])
        )
        for label in labels
    )
