"""Recursive masking on a data set: performance curves, their areas, and where they are valid."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

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
from verax.stats.intervals import RESAMPLES, mean_interval
from verax.stats.masf import simes
from verax.stats.performance import constant, most_frequent
from verax.studies.leaderboard.analysis import metric_test
from verax.studies.masking.curves import (
    NOT_RECORDED,
    MaskingCurve,
    MaskingCurves,
    MaskingResult,
    SeedValues,
    Training,
    paper_name,
)
from verax.types import IntArray, Performance, UserError
from verax.types.score import ScoreSeries

METRIC, TEST = "recursive_masking", "in_distribution"
NO_AREA = "no_area"


@dataclass(frozen=True)
class MaskedRun:
    """What recursive masking recorded in one run.

    Args:
        series: by method and instance, the series of its score: `gold`, `predicted` at each point of each masking, and
            the number of `maskings` (1 by default); empty where it was skipped.
        p_values: by method, the p-values of each tested instance at each masking ratio.
        majority: the most frequent class of the training data; None if it is not known.
    """

    series: Mapping[str, Mapping[str, ScoreSeries]]
    p_values: Mapping[str, Sequence[Sequence[float]]]
    metric: Performance
    baseline: str
    signed: Mapping[str, bool]
    majority: int | None = None
    seed: str = "0"
    training: Training = NOT_RECORDED
    data: str = ""

    @property
    def has_random_curve(self) -> bool:
        """Whether there is anything to measure the others against."""
        return any("predicted" in series for series in self.series.get(self.baseline, {}).values())


def analyse(runs: Sequence[Run]) -> MaskingResult | None:
    """Curves and areas of one run, with intervals over instances.

    Of several runs: of each data set, and of each way of training its models; intervals are over the runs.
    """
    with_metric = [run for run in runs if masked_metrics(run)]
    if not with_metric:
        return None
    for run in runs:
        if run not in with_metric:
            raise UserError(f"{run.folder} has no scores of {METRIC}, and {with_metric[0].folder} has")
    made = _one_group(runs[0]) if len(runs) == 1 else _groups(runs)
    groups = tuple(_displayed(curves, runs) for curves in made.values() if curves is not None)
    by_metric = any(len(masked_metrics(run)) > 1 for run in runs)
    return MaskingResult(groups, tuple(name for name, curves in made.items() if curves is None), by_metric)


def _one_group(run: Run) -> dict[str, MaskingCurves | None]:
    """The curves of each metric of one run."""
    return {
        entry.label: _tested(run, entry, masking_curves(entry.label, [masked_run(run, entry)]))
        for entry in masked_metrics(run)
    }


def _tested(run: Run, entry: MetricEntry, made: MaskingCurves | None) -> MaskingCurves | None:
    """Curves of one run with what the joint test of its leaderboard says about each measure and the random one."""
    if made is None:
        return None
    _, methods, _, test = metric_test(run, entry.label)
    random = methods.index(made.baseline)
    rows = (replace(row, against=test.against(methods.index(row.method), random)) for row in made.curves)
    return replace(made, curves=tuple(rows))


def _groups(runs: Sequence[Run]) -> dict[str, MaskingCurves | None]:
    """The curves of each data set, and of each metric where runs have several."""
    for number, run in enumerate(runs):
        for other in runs[:number]:
            if data_name(run) == data_name(other):
                require_equal([other, run], _DATA_FACTS, "averaged")
    made: dict[str, MaskingCurves | None] = {}
    for name, of_data in by_data(runs).items():
        trainings = list(dict.fromkeys(_training(run) for run in of_data))
        for training in trainings:
            members = [run for run in of_data if _training(run) == training]
            require_equal(members, _SEED_FACTS, "averaged")
            require_different_models(members)
            entries = masked_metrics(members[0])
            for place, entry in enumerate(entries):
                title = f"{name}: {entry.label}" if len(entries) > 1 else name
                key = f"{title}, {training}" if len(trainings) > 1 else title
                made[key] = _over_seeds(title, members, place)
    return made


def _training(run: Run) -> Training:
    return Training(*(_model_fact(name, run) for name in Training._fields))


def _displayed(curves: MaskingCurves, runs: Sequence[Run]) -> MaskingCurves:
    """The curves with the display names that the first run with each measure gives it."""
    names = [*(one.method for one in curves.curves), *curves.without]
    shown = {entry.label: run.manifest.display(entry.label) for run in reversed(runs) for entry in run.manifest.methods}
    return replace(curves, display={name: paper_name(shown.get(name, name)) for name in names})


def masked_metrics(run: Run) -> list[MetricEntry]:
    """The recursive-masking metrics of a run that have scores."""
    return [entry for entry in run.manifest.metrics if entry.name == METRIC and run.scores.methods_of(entry.label)]


def masked_run(run: Run, entry: MetricEntry, number: int = 1) -> MaskedRun:
    """What one metric recorded; of several in-distribution tests the first one at the same steps counts.

    Args:
        number: of the run, in place of the seed of its model if that is not recorded.
    """
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
    majority = _model_fact("training_majority", run)
    return MaskedRun(
        series,
        p_values,
        manifest.data.metric,
        baseline,
        {method: manifest.method(method).signed for method in series},
        manifest.model.labels.index(majority) if majority in manifest.model.labels else None,
        str(_model_fact("training_seed", run) or number),
        _training(run),
        manifest.data.name,
    )


def _over_seeds(name: str, runs: Sequence[Run], place: int) -> MaskingCurves | None:
    """The runs of one data set, which differ in the seed of their model alone, under the metric at this place."""
    entries = {run.folder: masked_metrics(run)[place] for run in runs}
    recorded = [masked_run(run, entries[run.folder], number) for number, run in enumerate(runs, 1)]
    for run, masked in zip(runs, recorded, strict=True):
        if len(runs) > 1 and not masked.has_random_curve:
            raise UserError(f"{run.folder} has no curve of the random measure: it cannot be averaged with other runs")
    matched = match_methods(runs, lambda run: run.scores.methods_of(entries[run.folder].label))
    made = masking_curves(name, recorded, matched)
    return made if len(runs) > 1 else _tested(runs[0], entries[runs[0].folder], made)


def _model_fact(name: str, run: Run) -> Any:
    return run.manifest.model.facts.get(name)


_DATA_FACTS: dict[str, Callable[[Run], Any]] = {
    "the data (number of inputs)": lambda run: run.manifest.data.n,
    "the data (inputs)": lambda run: run.manifest.data.hash,
}
_SEED_FACTS: dict[str, Callable[[Run], Any]] = {
    "steps": lambda run: [entry.parameters.get("steps") for entry in masked_metrics(run)],
    "the number of random maskings": lambda run: [entry.parameters.get("maskings", 1) for entry in masked_metrics(run)],
    "the in-distribution test": lambda run: [one.parameters for one in run.manifest.metrics if one.name == TEST],
    "how performance is measured": lambda run: run.manifest.data.metric,
    "the parts that are masked": lambda run: run.manifest.data.explained_parts,
    **{f"the model ({name})": partial(_model_fact, name) for name in ("architecture", "parameters")},
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
        ends = areas.curve[0].value, areas.curve[-1].value
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
                seeds=(SeedValues(run.seed, *ends, areas.acu.value, areas.racu and areas.racu.value),),
            )
        )
    golds = _gold(random, known[run.baseline])
    return MaskingCurves(
        name,
        run.baseline,
        constant(golds, most_frequent(golds) if run.majority is None else run.majority, run.metric),
        tuple(curves),
        "measured" if run.majority is None else "training",
        run.training,
        run.data,
        without=without,
    )


def _gold(rows: Mapping[str, ScoreSeries], chosen: Sequence[str]) -> IntArray:
    return np.array([int(rows[one]["gold"][0]) for one in chosen])


def _predicted(rows: Mapping[str, ScoreSeries], chosen: Sequence[str]) -> IntArray:
    """Predicted classes, shape [instances, maskings, points]."""
    maskings = int(rows[chosen[0]].get("maskings", (1,))[0])
    predicted = np.array([rows[one]["predicted"] for one in chosen]).astype(np.int64)
    return np.asarray(predicted.reshape(len(chosen), maskings, -1))


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
    return MaskingCurves(
        name,
        baseline,
        float(np.mean([run.majority for run in made])),
        tuple(curves),
        "training" if all(run.majority_of == "training" for run in made) else "measured",
        made[0].training,
        made[0].data,
        len(made),
        without,
    )


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
        seeds=tuple(seed for row in rows for seed in row.seeds),
    )


def _find(run: MaskingCurves, method: str | None) -> MaskingCurve | None:
    return next((curve for curve in run.curves if curve.method == method), None)
