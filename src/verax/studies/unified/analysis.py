"""Each kind of explanation, by the base that its scores are made from, under each property."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from verax.results.manifest import Manifest, MetricEntry
from verax.results.run import Labels, Run, run_names
from verax.stats.intervals import mean_interval, mean_over_draws
from verax.stats.joint import JointTest, TooFew, joint_test, mean_of, mean_over_columns, mean_over_groups, swap_test
from verax.stats.performance import counted, performance
from verax.stats.simulation import simulated_f1
from verax.studies.leaderboard.analysis import metric_test, values_by_input
from verax.studies.marks import test_notes
from verax.types import BY_BUDGET, Base, Estimate, FloatArray, Kind, UserError
from verax.types.score import ScoreSeries

KINDS: tuple[Kind, ...] = ("span_interaction", "token_interaction", "token")
BASES: tuple[Base, ...] = ("shapley", "attention", "integrated_gradients", "random")
PropertyName = Literal[
    "comprehensiveness", "sufficiency", "agreement_of_words", "agreement_of_pairs", "simulatability", "complexity"
]
Place = tuple[Kind, Base]
MethodGrid = Mapping[Place, tuple[str, ...]]
"""Labels of the methods of each kind and base."""


class Bounds(NamedTuple):
    """Mean entropy of as many scores drawn from [0, 1), and of as many equal ones."""

    random: float
    uniform: float


@dataclass(frozen=True, slots=True)
class Entry:
    """One kind of one base under one property.

    Args:
        method: its label in the run; of several methods of the same kind and base the first, but all random ones.
        difference: of the value from that of the random explanation that it is compared with on the leaderboard too,
            over the `pairs` instances that both have; None for the random one itself.
        p: of that difference, in the joint test of all kinds and bases under the property.
        better, worse: significantly different from random, in which direction.
        like_random: not significantly different, although it could have been.
        best: whether no other kind of its base is significantly better. Never for random explanations.
        words: of flips, the mean number of words in the largest perturbation.
        maximum: of agreement within the budget, the mean of the highest value that so few words can have.
        sf: of simulatability, the F1 that the RSF is made from.
    """

    kind: Kind
    base: Base
    method: str
    value: Estimate
    n: int
    difference: Estimate | None = None
    pairs: int = 0
    p: float | None = None
    better: bool = False
    worse: bool = False
    like_random: bool = False
    best: bool = False
    words: float | None = None
    bounds: Bounds | None = None
    maximum: float | None = None
    sf: Estimate | None = None


@dataclass(frozen=True, slots=True)
class Property:
    """One property, measured by one metric of the run.

    Args:
        seeds: of simulatability, number of agents trained for each explanation.
        without: of simulatability, F1 of agents that see no explanation.
        too_few: why nothing could become significant; None where something could.
        draws: budgets by how many seeds of the spans enter the intervals.
    """

    name: PropertyName
    metric: str
    parameters: Mapping[str, Any]
    higher_is_better: bool
    entries: tuple[Entry, ...]
    over: str = "instances"
    seeds: int | None = None
    without: float | None = None
    too_few: TooFew | None = None
    draws: int = 1

    def at(self, kind: Kind, base: Base) -> Entry | None:
        """The entry of a kind and a base."""
        return next((entry for entry in self.entries if (entry.kind, entry.base) == (kind, base)), None)


@dataclass(frozen=True, slots=True)
class Stability:
    """How much the spans of a method depend on its seed: mean adjusted Rand index of partitions by other seeds."""

    method: str
    display: str
    base: str | None
    value: Estimate
    n: int


@dataclass(frozen=True, slots=True)
class UnifiedRun:
    """All properties that a run measured, in the order of `PropertyName`, and the stability of its spans."""

    name: str
    properties: tuple[Property, ...]
    stability: tuple[Stability, ...]
    model: str = ""
    data: str = ""
    f1: Estimate | None = None

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
    """The properties of each run, and of all inputs of several runs together.

    `notes` say which tests the marks come from.
    """

    runs: tuple[UnifiedRun, ...]
    together: UnifiedRun | None = None
    notes: tuple[str, ...] = ()

    @property
    def sections(self) -> tuple[UnifiedRun, ...]:
        """The runs, then all of them together."""
        return self.runs if self.together is None else (*self.runs, self.together)


def analyse(runs: Sequence[Run], seed: int = 0) -> Unified | None:
    """The properties of each run; None if the first has fewer than two kinds of explanation, or no property."""
    made = [_one_run(name, run, seed) for name, run in zip(run_names(runs), runs, strict=True)]
    found = [one for one in made if one is not None]
    if not found:
        return None
    for run, one in zip(runs, made, strict=True):
        if one is None:
            raise UserError(f"{run.folder} has fewer than two kinds of explanation under the properties of this study")
    return Unified(tuple(found), _together(runs, seed) if len(runs) > 1 else None, test_notes(runs))


def _one_run(name: str, run: Run, seed: int) -> UnifiedRun | None:
    grid = _grid(run.manifest)
    made = [_property(run, property_name, entry, grid, seed) for property_name, entry in _measured(run.manifest)]
    properties = tuple(one for one in made if one.entries)
    data = run.manifest.data.name
    found = UnifiedRun(name, properties, _stability(run, seed), run.manifest.model.name, data, run.macro_f1)
    return found if len(found.kinds()) > 1 else None


def _grid(manifest: Manifest) -> dict[Place, tuple[str, ...]]:
    """The first method of each kind and base, in the order of the tables; of random ones all that are baselines."""
    grid: dict[Place, tuple[str, ...]] = {}
    for kind in KINDS:
        for base in BASES:
            labels = [m.label for m in manifest.methods if (m.kind, m.base) == (kind, base)]
            if base == "random":
                mine = {manifest.baseline(label) for place in grid if place[0] == kind for label in grid[place]}
                labels = [label for label in labels if label in mine] or labels[:1]
            if labels:
                grid[kind, base] = tuple(labels) if base == "random" else (labels[0],)
    return grid


def _measured(manifest: Manifest) -> list[tuple[PropertyName, MetricEntry]]:
    """The metrics that measure a property, by property and then as in the manifest."""
    named = [(name, entry) for entry in manifest.metrics if (name := _property_of(entry)) is not None]
    return sorted(named, key=lambda pair: get_args(PropertyName).index(pair[0]))


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
class _Layout:
    """The columns of a joint test that belong to each kind and base, and the one of the random explanation of each."""

    columns: dict[Place, tuple[int, ...]]
    baseline: dict[Place, int]

    @classmethod
    def of(cls, manifest: Manifest, grid: MethodGrid, methods: Sequence[str]) -> _Layout:
        """By the methods that the columns are of; the random explanation is that of the leaderboard."""
        found = {place: tuple(methods.index(one) for one in labels if one in methods) for place, labels in grid.items()}
        rivals = {place: manifest.baseline(labels[0]) for place, labels in grid.items() if place[1] != "random"}
        return cls(
            {place: columns for place, columns in found.items() if columns},
            {place: methods.index(rival) for place, rival in rivals.items() if rival in methods},
        )

    def verdict(self, test: JointTest, place: Place) -> dict[str, Any]:
        """What the joint test says about a kind and base: the fields of its entry."""
        i, j = self.columns[place][0], self.baseline.get(place)
        bases = [(base, columns) for (_, base), columns in self.columns.items()]
        random = [column for base, columns in bases if base == "random" for column in columns]
        alike = [columns[0] for base, columns in bases if base == place[1]]
        return {**test.against(i, j)._asdict(), "best": i in test.best(random, alike) and not test.undecided(i, j)}


def _entries(
    values: FloatArray, test: JointTest, layout: _Layout, grid: MethodGrid, tolerance: float, seed: int
) -> tuple[Entry, ...]:
    """The entry of each kind and base that has a value.

    Args:
        values: shape [draws, inputs, columns], with the columns of the test; further draws are at budgets by
            other seeds.
    """
    entries = []
    for place, columns in layout.columns.items():
        own = np.stack([mean_over_columns(drawn[:, columns]) for drawn in values])
        known = ~np.isnan(own[0])
        if not known.any():
            continue
        rival = layout.baseline.get(place)
        gaps = np.full_like(own, np.nan) if rival is None else own - values[:, :, rival]
        gaps = gaps[:, ~np.isnan(gaps[0])]
        gaps[np.abs(gaps) <= tolerance] = 0.0
        entries.append(
            Entry(
                *place,
                ", ".join(grid[place]),
                mean_over_draws(own[:, known], seed=seed),
                int(known.sum()),
                mean_over_draws(gaps, seed=seed) if gaps.size else None,
                gaps.shape[1],
                **layout.verdict(test, place),
            )
        )
    return tuple(entries)


def _drawn(run: Run, metric: str, methods: Sequence[str], values: FloatArray) -> FloatArray:
    """Values of a metric, and those at budgets by other seeds: [inputs, methods] -> [draws, inputs, methods].

    Where there are none the value itself stands for them. Translations of one input are averaged before, so that they
    have none.
    """
    _, _, ids = run.scores.matrix(metric, methods)
    if run.parallel:
        return values[None]
    places = {instance: row for row, instance in enumerate(ids)}
    elsewhere = [
        (places[instance], column, series[BY_BUDGET])
        for column, method in enumerate(methods)
        for (_, instance), series in _Noted.of(run, metric, (method,)).series.items()
        if BY_BUDGET in series
    ]
    most = max((len(others) for _, _, others in elsewhere), default=0)
    drawn = np.repeat(values[None], 1 + most, axis=0)
    for row, column, others in elsewhere:
        drawn[1 : 1 + len(others), row, column] = others
    return drawn


def _property(run: Run, name: PropertyName, metric: MetricEntry, grid: MethodGrid, seed: int) -> Property:
    if name == "simulatability":
        return _simulatability(run, metric, grid, seed)
    tested = metric_test(run, metric.label, seed)
    layout = _Layout.of(run.manifest, grid, tested.methods)
    values = _drawn(run, metric.label, tested.methods, tested.values)
    entries = _entries(values, tested.test, layout, grid, run.manifest.tolerance(metric.label), seed)
    described = tuple(
        replace(
            entry,
            words=noted.mean_of("words", -1),
            bounds=noted.bounds(),
            maximum=noted.mean_of("maximum", 0),
        )
        for entry in entries
        for noted in [_Noted.of(run, metric.label, grid[entry.kind, entry.base])]
    )
    return _property_of_entries(name, metric, described, tested.test, draws=len(values))


def _property_of_entries(
    name: PropertyName, metric: MetricEntry, entries: tuple[Entry, ...], test: JointTest, **facts: Any
) -> Property:
    higher = name != "complexity" if metric.higher_is_better is None else metric.higher_is_better
    return Property(
        name,
        metric.label,
        metric.parameters,
        higher,
        entries,
        too_few=test.too_few,
        **facts,
    )


def _together(runs: Sequence[Run], seed: int) -> UnifiedRun:
    """All inputs of several runs: an input counts once, by the mean over the models that were run on it.

    Properties that are means over inputs and that every run has under the same label.
    """
    grids = [_grid(run.manifest) for run in runs]
    shared = [pair for pair in _measured(runs[0].manifest) if pair[0] != "simulatability"]
    properties = []
    for name, metric in shared:
        if all(metric.label in run.scores.metric.names for run in runs):
            values, test, layout = _joined(runs, grids, metric, seed)
            tolerance = max(run.manifest.tolerance(metric.label) for run in runs)
            methods = dict.fromkeys(layout.columns, ("all runs",))
            entries = _entries(values, test, layout, methods, tolerance, seed)
            properties.append(_property_of_entries(name, metric, entries, test, draws=len(values)))
    return UnifiedRun("all runs", tuple(one for one in properties if one.entries), ())


def _joined(
    runs: Sequence[Run], grids: Sequence[MethodGrid], metric: MetricEntry, seed: int
) -> tuple[FloatArray, JointTest, _Layout]:
    """Values of each kind and base and of its random explanation, [draws, inputs, columns], and their test.

    The inputs are those of all runs; draws are as in `_drawn`, and a run with fewer of them repeats its first.
    """
    places = [place for place in dict.fromkeys(place for grid in grids for place in grid) if place[1] != "random"]
    blocks, inputs = [], []
    for run, grid in zip(runs, grids, strict=True):
        methods = run.scores.methods_of(metric.label)
        found, ids = values_by_input(run, metric.label, methods)
        layout = _Layout.of(run.manifest, grid, methods)
        own = [layout.columns[place][0] if place in layout.columns else None for place in places]
        columns = [*own, *(layout.baseline.get(place) for place in places)]
        drawn = _drawn(run, metric.label, methods, found)
        empty = np.full(drawn.shape[:2], np.nan)
        blocks.append(np.stack([empty if column is None else drawn[:, :, column] for column in columns], axis=2))
        inputs += [f"{run.manifest.data.name}/{run.manifest.data.split}/{one}" for one in ids]
    positions = [str(number) for number in range(len(inputs))]
    shared = dict(zip(positions, inputs, strict=True))
    draws = [
        np.concatenate([block[number if number < len(block) else 0] for block in blocks])
        for number in range(max(map(len, blocks)))
    ]
    values = np.stack([mean_over_groups(drawn, positions, shared)[0] for drawn in draws])
    test = joint_test(
        values[0],
        sequential=any(run.manifest.sequential for run in runs),
        higher_is_better=metric.ascending,
        tolerance=max(run.manifest.tolerance(metric.label) for run in runs),
        seed=seed,
    )
    known = [mean_of(column) is not None for column in values[0].T]
    rivals = {place: number + len(places) for number, place in enumerate(places) if known[number + len(places)]}
    at: dict[Place, tuple[int, ...]] = {place: (number,) for number, place in enumerate(places) if known[number]}
    for kind in KINDS:
        if random := tuple(column for place, column in rivals.items() if place[0] == kind):
            at[kind, "random"] = random
    return values, test, _Layout(at, rivals)


@dataclass(frozen=True)
class _Noted:
    """The series that some methods have under one metric, by method and instance."""

    series: dict[tuple[str, str], ScoreSeries]

    @classmethod
    def of(cls, run: Run, metric: str, methods: Sequence[str]) -> _Noted:
        """Of the scores that have a value."""
        found: dict[tuple[str, str], ScoreSeries] = {}
        for method in methods:
            rows = run.scores.where(metric=metric, method=method)
            rows = rows[~np.isnan(run.scores.value[rows])]
            found |= {
                (method, instance): series
                for instance, series in zip(run.scores.ids(rows), run.scores.series(rows), strict=True)
            }
        return cls(found)

    def mean_of(self, name: str, place: int) -> float | None:
        """The mean of one number of a series over the scores that have it."""
        numbers = [one[name][place] for one in self.series.values() if one.get(name)]
        return math.fsum(numbers) / len(numbers) if numbers else None

    def bounds(self) -> Bounds | None:
        """The bounds of complexity, where they were stored."""
        random, uniform = (self.mean_of(field, 0) for field in Bounds._fields)
        return None if random is None or uniform is None else Bounds(random, uniform)

    def agents(self) -> dict[str, ScoreSeries]:
        """What agents predicted for each held-out instance; those of several methods as so many more seeds."""
        answers: dict[str, dict[str, Sequence[float]]] = {}
        for (_, instance), series in self.series.items():
            if "model" in series:
                known = answers.setdefault(instance, {"model": series["model"], "with": (), "without": ()})
                for side in ("with", "without"):
                    known[side] = (*known[side], *series[side])
        most = max((len(one["with"]) for one in answers.values()), default=0)
        return {instance: one for instance, one in answers.items() if len(one["with"]) == most}


def _simulatability(run: Run, metric: MetricEntry, grid: MethodGrid, seed: int) -> Property:
    """The entries of agents: RSF, and its difference from that of agents that see the random explanation."""
    labels = [label for several in grid.values() for label in several]
    of_method = {label: _Noted.of(run, metric.label, (label,)).agents() for label in dict.fromkeys(labels)}
    of_method = {label: held_out for label, held_out in of_method.items() if held_out}
    if not of_method:
        return Property("simulatability", metric.label, metric.parameters, True, ())
    methods = list(of_method)
    test = _agents_tested(list(of_method.values()), seed)
    layout = _Layout.of(run.manifest, grid, methods)
    entries, largest, without = [], 0, None
    for place in layout.columns:
        held_out = _Noted.of(run, metric.label, grid[place]).agents()
        sf, rsf = _f1(held_out)
        rival = of_method[methods[layout.baseline[place]]] if place in layout.baseline else {}
        # agents without explanations are the same for both, so the difference of RSF is that of SF
        paired = {
            instance: {**series, "without": rival[instance]["with"]}
            for instance, series in held_out.items()
            if instance in rival
        }
        gap = _f1(paired)[1] if paired else None
        verdict = layout.verdict(test, place)
        named = ", ".join(grid[place])
        entries.append(Entry(*place, named, rsf, len(held_out), gap, len(paired), sf=sf, **verdict))
        if len(held_out) > largest:  # methods may lack explanations of some instances
            largest, without = len(held_out), sf.value - rsf.value
    seeds = len(next(iter(next(iter(of_method.values())).values()))["with"])
    over = "seeds and instances" if seeds > 1 else "instances"
    return _property_of_entries("simulatability", metric, tuple(entries), test, over=over, seeds=seeds, without=without)


def _agents_tested(answers: Sequence[Mapping[str, ScoreSeries]], seed: int) -> JointTest:
    """Joint test of macro F1 averaged over seeds: two explanations swap what their agents predicted for an input."""
    ids = sorted({instance for held_out in answers for instance in held_out})
    seeds = len(next(iter(answers[0].values()))["with"])
    model, agents = np.zeros(len(ids), np.int64), np.zeros((len(ids), len(answers), seeds), np.int64)
    known = np.zeros((len(ids), len(answers)), bool)
    for column, held_out in enumerate(answers):
        for row, instance in enumerate(ids):
            if instance in held_out:
                model[row] = held_out[instance]["model"][0]
                agents[row, column] = held_out[instance]["with"]
                known[row, column] = True
    classes = int(max(model.max(), agents.max())) + 1
    counts = counted(model, agents.reshape(len(ids), -1), classes)
    shape = (seeds, *counts.shape[2:])

    def macro_f1(sums: FloatArray) -> FloatArray:
        return np.asarray(performance(sums.reshape(len(sums), *shape), "macro_f1").mean(axis=-1))

    return swap_test(counts.reshape(len(ids), len(answers), -1).astype(np.float64), macro_f1, known=known, seed=seed)


def _f1(held_out: Mapping[str, ScoreSeries]) -> tuple[Estimate, Estimate]:
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
            label,
            run.manifest.display(label),
            run.manifest.method(label).base,
            mean_interval(recorded[label], seed=seed),
            len(recorded[label]),
        )
        for label in labels
    )
