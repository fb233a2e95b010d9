"""Recursive masking on a data set: performance curves, their areas, and where they are valid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from verax.results.manifest import MetricEntry
from verax.results.matching import (
    MatchedMethod,
    by_data,
    data_name,
    match_methods,
    require_different_models,
    require_equal,
)
from verax.results.run import Run
from verax.stats.areas import curve_areas
from verax.stats.inference import RESAMPLES, mean_interval, simes
from verax.stats.performance import majority
from verax.types import Estimate, IntArray, Performance, UserError

METRIC, TEST = "recursive_masking", "in_distribution"
ALPHA = 0.05
NO_AREA = "no_area"
Series = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class MaskingCurve:
    """One measure under recursive masking: the model's performance while words are masked, and the area it loses.

    Args:
        method: its label.
        metric: how performance is measured.
        curve: performance at each masking ratio, from 0 to 1 in equal steps.
        acu: area between the random curve and this one: positive where masking by this measure hurts more.
        racu: acu as a share of the area between the random curve and its end; None with `reason` without such an area.
        signed: whether the measure distinguishes support from opposition; its racu may then exceed 1.
        n: instances that both this measure and the random one have a curve for; of several runs, the fewest.
        skipped: instances that they do not; of several runs, the most.
        over: what the intervals are over: instances of one run, or seeds, one run each.
        p_values: in-distribution p-value of the data set at each masking ratio; None if it was not tested.
    """

    method: str
    metric: Performance
    curve: tuple[Estimate, ...]
    acu: Estimate
    racu: Estimate | None
    reason: str | None
    signed: bool
    n: int
    skipped: int
    over: Literal["instances", "seeds"]
    p_values: tuple[float, ...] | None = None

    @property
    def ratios(self) -> tuple[float, ...]:
        """Share of words masked at each point of the curve."""
        return tuple(i / (len(self.curve) - 1) for i in range(len(self.curve)))

    def outside(self, alpha: float = ALPHA) -> tuple[int, ...]:
        """The points at which the masked inputs are not in-distribution."""
        return tuple(place for place, p in enumerate(self.p_values or ()) if p < alpha)


@dataclass(frozen=True, slots=True)
class MaskingCurves:
    """Every measure of a run, or of several runs that differ in their seed.

    Args:
        name: of the data set, or of the metric where a run has several.
        baseline: label of the random measure, whose curve is among `curves`.
        majority: performance of always predicting the most frequent class.
        runs: number of runs that these are the means of.
        without: measures that have no curve, or not in every run, and why.
        display: display names of the measures.
    """

    name: str
    baseline: str
    majority: float
    curves: tuple[MaskingCurve, ...]
    runs: int = 1
    without: Mapping[str, str] = field(default_factory=dict)
    display: Mapping[str, str] = field(default_factory=dict)

    def shown(self, method: str) -> str:
        """The display name of a measure."""
        return self.display.get(method, method)

    @property
    def random(self) -> MaskingCurve:
        """The curve of the random measure."""
        return next(curve for curve in self.curves if curve.method == self.baseline)

    def ranked(self) -> list[MaskingCurve]:
        """The measures by their area, best first, the random one last."""
        return sorted(self.curves, key=lambda curve: (curve.method == self.baseline, -curve.acu.value))

    def invalid(self, curve: MaskingCurve) -> tuple[int, ...]:
        """The points at which a measure or the random one is not in-distribution: its area is not valid there."""
        return tuple(sorted({*curve.outside(), *self.random.outside()}))

    def tested(self, curve: MaskingCurve) -> bool:
        """Whether both curves that an area lies between were tested."""
        return curve.p_values is not None and self.random.p_values is not None


@dataclass(frozen=True, slots=True)
class Masking:
    """The curves of each data set, or of each metric of one run; `missing` names metrics without a random curve."""

    groups: tuple[MaskingCurves, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class MaskedRun:
    """What recursive masking recorded in one run.

    Args:
        series: by method and instance, the series of its score: `gold` and `predicted`; empty where it was skipped.
        p_values: by method, the p-values of each tested instance at each masking ratio.
        metric: how performance is measured on the data.
        baseline: label of the random measure.
        signed: for each method, whether it distinguishes support from opposition.
    """

    series: Mapping[str, Mapping[str, Series]]
    p_values: Mapping[str, Sequence[Sequence[float]]]
    metric: Performance
    baseline: str
    signed: Mapping[str, bool]

    @property
    def has_random_curve(self) -> bool:
        """Whether there is anything to measure the others against."""
        return any("predicted" in series for series in self.series.get(self.baseline, {}).values())


def analyse(runs: Sequence[Run]) -> Masking | None:
    """Curves and areas of one run, with intervals over instances; of several, over the runs of each data set."""
    with_metric = [run for run in runs if masked_metrics(run)]
    if not with_metric:
        return None
    for run in runs:
        if run not in with_metric:
            raise UserError(f"{run.folder} has no scores of {METRIC}, and {with_metric[0].folder} has")
    made = _one_group(runs[0]) if len(runs) == 1 else _groups(runs)
    groups = tuple(_displayed(curves, runs) for curves in made.values() if curves is not None)
    return Masking(groups, tuple(name for name, curves in made.items() if curves is None))


def _one_group(run: Run) -> dict[str, MaskingCurves | None]:
    """The curves of each metric of one run."""
    return {entry.label: masking_curves(entry.label, [masked_run(run, entry)]) for entry in masked_metrics(run)}


def _groups(runs: Sequence[Run]) -> dict[str, MaskingCurves | None]:
    """The curves of each data set, and of each metric where runs have several."""
    for number, run in enumerate(runs):
        for other in runs[:number]:
            if data_name(run) == data_name(other):
                require_equal([other, run], _DATA_FACTS, "averaged")
    made = {}
    for name, members in by_data(runs).items():
        require_equal(members, _SEED_FACTS, "averaged")
        require_different_models(members)
        entries = masked_metrics(members[0])
        for place, entry in enumerate(entries):
            title = f"{name}: {entry.label}" if len(entries) > 1 else name
            made[title] = _over_seeds(title, members, place)
    return made


def _displayed(curves: MaskingCurves, runs: Sequence[Run]) -> MaskingCurves:
    names = [*(one.method for one in curves.curves), *curves.without]
    return replace(curves, display={name: runs[0].manifest.display(name) for name in names})


def masked_metrics(run: Run) -> list[MetricEntry]:
    """The recursive-masking metrics of a run that have scores."""
    return [entry for entry in run.manifest.metrics if entry.name == METRIC and run.scores.methods_of(entry.label)]


def masked_run(run: Run, entry: MetricEntry) -> MaskedRun:
    """What one metric recorded; of several in-distribution tests the first one at the same steps counts."""
    manifest, scores = run.manifest, run.scores
    steps = entry.parameters.get("steps")
    tests = [one.label for one in manifest.metrics if one.name == TEST and one.parameters.get("steps") == steps]
    series, p_values = {}, {}
    for method in scores.methods_of(entry.label):
        rows = scores.where(metric=entry.label, method=method)
        series[method] = dict(zip(scores.ids(rows), scores.series(rows), strict=True))
    for method in scores.methods_of(tests[0]) if tests else ():
        curves = scores.curves(scores.where(metric=tests[0], method=method))
        p_values[method] = [curve for curve in curves if curve is not None]
    baseline = next((one.label for one in manifest.methods if one.name == "random"), "random")
    return MaskedRun(series, p_values, manifest.data.metric, baseline, {m: manifest.method(m).signed for m in series})


def _over_seeds(name: str, runs: Sequence[Run], place: int) -> MaskingCurves | None:
    """The runs of one data set, which differ in the seed of their model alone, under the metric at this place."""
    entries = {run.folder: masked_metrics(run)[place] for run in runs}
    recorded = [masked_run(run, entries[run.folder]) for run in runs]
    for run, masked in zip(runs, recorded, strict=True):
        if len(runs) > 1 and not masked.has_random_curve:
            raise UserError(f"{run.folder} has no curve of the random measure: it cannot be averaged with other runs")
    matched = match_methods(runs, lambda run: run.scores.methods_of(entries[run.folder].label))
    return masking_curves(name, recorded, matched)


def _model_fact(name: str, run: Run) -> Any:
    return run.manifest.model.facts.get(name)


_DATA_FACTS: dict[str, Callable[[Run], Any]] = {
    "the data (number of inputs)": lambda run: run.manifest.data.n,
    "the data (inputs)": lambda run: run.manifest.data.hash,
}
_SEED_FACTS: dict[str, Callable[[Run], Any]] = {
    "steps": lambda run: [entry.parameters.get("steps") for entry in masked_metrics(run)],
    **{
        f"the model ({name})": partial(_model_fact, name)
        for name in ("architecture", "parameters", "masking", "select")
    },
}


def masking_curves(
    name: str,
    runs: Sequence[MaskedRun],
    matched: Sequence[MatchedMethod] | None = None,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> MaskingCurves | None:
    """Curves of one run, with intervals over instances, or of several, with intervals over runs.

    None if a run has no curve of the random measure.
    """
    if len(runs) == 1:
        return _one_run(name, runs[0], seed, resamples)
    made = [found for run in runs if (found := _one_run(name, run, seed, 0)) is not None]
    return averaged(name, made, matched, seed) if made and len(made) == len(runs) else None


def _one_run(name: str, run: MaskedRun, seed: int, resamples: int) -> MaskingCurves | None:
    random = run.series.get(run.baseline, {})
    known = {
        method: [one for one, series in rows.items() if "predicted" in series and "predicted" in random.get(one, {})]
        for method, rows in run.series.items()
    }
    if not known.get(run.baseline):
        return None
    curves, without = [], {}
    for method, rows in run.series.items():
        chosen = known[method]
        if not chosen:
            without[method] = "no curve"
            continue
        gold = _gold(random, chosen)
        at_random, by_measure = (_predicted(which, chosen) for which in (random, rows))
        areas = curve_areas(gold, at_random, by_measure, run.metric, seed=seed, resamples=resamples)
        tested = run.p_values.get(method)
        curves.append(
            MaskingCurve(
                method=method,
                metric=run.metric,
                curve=areas.curve,
                acu=areas.acu,
                racu=areas.racu,
                reason=None if areas.racu is not None else NO_AREA,
                signed=run.signed.get(method, True),
                n=len(chosen),
                skipped=len(rows.keys() | random.keys()) - len(chosen),
                over="instances",
                p_values=tuple(simes(column) for column in np.array(tested).T) if tested else None,
            )
        )
    golds = _gold(random, known[run.baseline])
    constant = majority(golds, int(golds.max()) + 1, run.metric)
    return MaskingCurves(name, run.baseline, constant, tuple(curves), without=without)


def _gold(rows: Mapping[str, Series], chosen: Sequence[str]) -> IntArray:
    return np.array([int(rows[one]["gold"][0]) for one in chosen])


def _predicted(rows: Mapping[str, Series], chosen: Sequence[str]) -> IntArray:
    return np.array([rows[one]["predicted"] for one in chosen]).astype(np.int64)


def averaged(
    name: str, made: Sequence[MaskingCurves], matched: Sequence[MatchedMethod] | None = None, seed: int = 0
) -> MaskingCurves:
    """Means over runs, and intervals of them; measures that not every run has are named."""
    labels: dict[str, tuple[str | None, ...]] = {
        curve.method: (curve.method,) * len(made) for run in made for curve in run.curves
    }
    if matched is not None:
        labels = {one.name: one.labels for one in matched}
    curves, without = [], {}
    for method, in_runs in labels.items():
        rows = [_find(run, label) for run, label in zip(made, in_runs, strict=True)]
        present = [row for row in rows if row is not None]
        if len(present) == len(made):
            curves.append(_mean_curve(method, present, seed))
        else:
            without[method] = "not in every run" if present else "no curve"
    baseline = next((name for name, in_runs in labels.items() if in_runs[0] == made[0].baseline), made[0].baseline)
    if baseline in without:
        raise UserError(f"{name}: the random measures of these runs are not the same, so they cannot be averaged")
    constant = float(np.mean([run.majority for run in made]))
    return MaskingCurves(name, baseline, constant, tuple(curves), len(made), without)


def _mean_curve(method: str, rows: Sequence[MaskingCurve], seed: int) -> MaskingCurve:
    areas = [row.racu.value for row in rows if row.racu is not None]
    tested = [row.p_values for row in rows if row.p_values is not None]
    complete = len(areas) == len(rows)
    return MaskingCurve(
        method=method,
        metric=rows[0].metric,
        curve=tuple(mean_interval([row.curve[i].value for row in rows], seed=seed) for i in range(len(rows[0].curve))),
        acu=mean_interval([row.acu.value for row in rows], seed=seed),
        racu=mean_interval(areas, seed=seed) if complete else None,
        reason=None if complete else NO_AREA,
        signed=rows[0].signed,
        n=min(row.n for row in rows),
        skipped=max(row.skipped for row in rows),
        over="seeds",
        # the worst of the seeds: where one of them leaves the distribution, the mean is not valid either
        p_values=tuple(np.min(tested, axis=0).tolist()) if tested else None,
    )


def _find(run: MaskingCurves, method: str | None) -> MaskingCurve | None:
    return next((curve for curve in run.curves if curve.method == method), None)
