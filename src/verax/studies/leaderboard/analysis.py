"""The leaderboard of one run, or of several next to each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from verax.results.manifest import CONTENT_FREE, Manifest, MetricEntry
from verax.results.matching import MatchedMethod, match_methods
from verax.results.run import Run, run_names
from verax.stats.intervals import Ends, bca_of_means
from verax.stats.joint import (
    ALPHA,
    JointTest,
    TooFew,
    inputs_needed,
    joint_differences,
    joint_test,
    mean_of,
    mean_over_groups,
)
from verax.types import FAILED, NOT_APPLICABLE, Estimate, FloatArray, UserError


@dataclass(frozen=True, slots=True)
class Standing:
    """A method under a metric. Everything about significance is read from the joint test of the metric.

    Args:
        baseline: label of the random explanation that it is compared with; its own for that itself.
        random: whether it is a random explanation, that others are compared with or a further one.
        mean: over the n inputs that have a value, with its interval; None if there is none.
        p: against its baseline, adjusted for all pairs of methods; None for a baseline and without one.
        like_random: not significantly different from its baseline, although it could have been.
        best: no other method is significantly better.
        group: letters; methods that share one are not significantly different.
        unbeaten: label of the best content-free baseline of the metric, if the method is not significantly better.
    """

    method: str
    baseline: str
    random: bool
    mean: Estimate | None
    baseline_mean: float | None
    p: float | None
    better: bool
    worse: bool
    like_random: bool
    best: bool
    group: str
    beaten_by: tuple[str, ...]
    reasons: dict[str, int]
    unbeaten: str | None = None

    @property
    def n(self) -> int:
        """Number of inputs that have a value."""
        return 0 if self.mean is None else self.mean.n or 0

    @property
    def is_baseline(self) -> bool:
        """Whether it is the random explanation that others are compared with."""
        return self.method == self.baseline

    @property
    def failed(self) -> int:
        """Instances on which an unexpected error occurred."""
        return self.reasons.get(FAILED, 0)

    @property
    def not_applicable(self) -> int:
        """Instances for which the metric is not defined by design."""
        return sum(number for reason, number in self.reasons.items() if reason in NOT_APPLICABLE)

    @property
    def skipped(self) -> int:
        """Instances without a value for any other reason."""
        return sum(self.reasons.values()) - self.failed - self.not_applicable


@dataclass(frozen=True, slots=True)
class Board:
    """The methods under one metric, best first, those without a value last.

    Args:
        inputs: number of inputs with a value of any method.
        too_few: why nothing could become significant; None where something could.
        any_difference: whether any two methods are significantly different.
    """

    metric: MetricEntry
    standings: tuple[Standing, ...]
    inputs: int
    too_few: TooFew | None
    any_difference: bool

    @property
    def best(self) -> tuple[Standing, ...]:
        """The methods that may be best."""
        return tuple(standing for standing in self.standings if standing.best)


@dataclass(frozen=True)
class RunBoards:
    """The boards of one run, by the label of their metric."""

    name: str
    run: Run
    boards: dict[str, Board]


@dataclass(frozen=True)
class Leaderboard:
    """The leaderboards of some runs, and their methods matched across the runs."""

    runs: tuple[RunBoards, ...]
    methods: tuple[MatchedMethod, ...]

    @property
    def sequential(self) -> bool:
        """Whether the results of a run decided when it stopped."""
        return any(run.run.manifest.sequential for run in self.runs)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Labels of the metrics of all runs."""
        return tuple(dict.fromkeys(metric for run in self.runs for metric in run.boards))

    def records(self) -> list[dict[str, Any]]:
        """One record for each run, metric and method, best first."""
        several = len(self.runs) > 1
        return [
            {**({"run": run.name} if several else {}), **_record(board, standing)}
            for run in self.runs
            for board in run.boards.values()
            for standing in board.standings
        ]


def _record(board: Board, standing: Standing) -> dict[str, Any]:
    value, low, high = (None, None, None) if standing.mean is None else standing.mean
    return {
        "method": standing.method,
        "metric": board.metric.label,
        "mean": value,
        "low": low,
        "high": high,
        "n": standing.n,
        "skipped": standing.skipped,
        "failed": standing.failed,
        "not_applicable": standing.not_applicable,
        "random": standing.baseline_mean,
        "p": standing.p,
        "best": standing.best,
        "higher_is_better": board.metric.ascending,
        "group": standing.group,
    }


def analyse(runs: Sequence[Run]) -> Leaderboard | None:
    """Leaderboards of the metrics that rank explanations; None where no run has one."""
    made = tuple(RunBoards(name, run, boards_of(run)) for name, run in zip(run_names(runs), runs, strict=True))
    if not any(one.boards for one in made):
        return None
    return Leaderboard(made, tuple(match_methods(runs, ranked_methods)))


def ranked_methods(run: Run) -> list[str]:
    """The methods that give scores: free text is tested, not ranked."""
    texts = set(run.text_methods)
    return [label for label in run.methods if label not in texts]


class MetricTest(NamedTuple):
    """The one joint test of a metric of a run: every table that compares these methods reads it.

    Args:
        methods: in the order of the columns of `values`.
        values: shape [inputs, methods], translations of one input averaged, NaN where there is none.
    """

    metric: MetricEntry
    methods: tuple[str, ...]
    values: FloatArray
    test: JointTest

    def baselines(self, manifest: Manifest) -> list[int | None]:
        """The place of each method's random explanation, its own for that itself; None where it has no scores."""
        labels = map(manifest.baseline, self.methods)
        return [self.methods.index(label) if label in self.methods else None for label in labels]

    def controls(self, manifest: Manifest) -> set[int]:
        """Places of the methods that are never best: random explanations and other controls."""
        own = enumerate(self.baselines(manifest))
        return {i for i, base in own if base == i or manifest.method(self.methods[i]).baseline}


def metric_test(run: Run, label: str, seed: int = 0) -> MetricTest:
    """The joint test of all methods that have scores under a metric, computed once for each run."""
    return run.cached(("joint test", label, seed), lambda: _test(run, label, seed))


def _test(run: Run, label: str, seed: int) -> MetricTest:
    metric = run.manifest.metric(label)
    scored = set(run.scores.methods_of(label))
    methods = [method for method in ranked_methods(run) if method in scored]
    values = values_by_input(run, label, methods)[0]
    tolerance = run.manifest.tolerance(label)
    test = joint_test(
        values,
        higher_is_better=metric.ascending,
        tolerance=tolerance,
        seed=seed,
        sequential=run.manifest.sequential,
    )
    return MetricTest(metric, tuple(methods), values, test)


def boards_of(run: Run, seed: int = 0) -> dict[str, Board]:
    """The leaderboard of each metric of a run that ranks, in the order of the manifest."""
    ranking = [label for label in run.metrics if run.manifest.metric(label).ranked]
    tested = [made for label in ranking if (made := metric_test(run, label, seed)).methods]
    # one pass over the resamples serves all metrics of the run
    intervals = iter(bca_of_means(_padded([one.values for one in tested]), seed=seed))
    return {one.metric.label: _board(run, one, [next(intervals) for _ in one.methods]) for one in tested}


def _padded(matrices: Sequence[FloatArray]) -> FloatArray:
    """Matrices next to each other, the shorter ones filled with NaN."""
    rows = max((len(matrix) for matrix in matrices), default=0)
    fill = [np.pad(matrix, ((0, rows - len(matrix)), (0, 0)), constant_values=np.nan) for matrix in matrices]
    return np.concatenate(fill, axis=1) if fill else np.zeros((0, 0))


def values_by_input(run: Run, metric: str, methods: Sequence[str]) -> tuple[FloatArray, list[str]]:
    """Values of a metric with translations of one input averaged, [inputs, methods], and the inputs."""
    values, _, ids = run.scores.matrix(metric, methods)
    return mean_over_groups(values, ids, run.parallel)


def _board(run: Run, tested: MetricTest, intervals: Sequence[Ends | None]) -> Board:
    metric, methods, values, test = tested
    places = tested.baselines(run.manifest)
    means = [mean_of(values[:, i]) for i in range(len(methods))]
    known = {i: mean for i, mean in enumerate(means) if mean is not None}
    order = sorted(known, key=lambda i: (-known[i] if metric.ascending else known[i], i))
    letters = test.letters(order)
    entries = [run.manifest.method(method) for method in methods]
    controls = tested.controls(run.manifest)
    best = test.best(controls, order)
    form = test.strongest([i for i in known if entries[i].name == CONTENT_FREE])
    standings = []
    for i in [*order, *(i for i in range(len(methods)) if i not in known)]:
        base = places[i] if places[i] != i else None
        standings.append(
            Standing(
                method=methods[i],
                baseline=run.manifest.baseline(methods[i]),
                random=places[i] == i or entries[i].random,
                mean=Estimate.of(known[i], intervals[i], int(test.shared[i, i])) if i in known else None,
                baseline_mean=None if places[i] is None else mean_of(values[~np.isnan(values[:, i]), places[i]]),
                **test.against(i, base)._asdict(),
                best=i in best and not test.undecided(i, base),
                group=letters[i],
                beaten_by=tuple(methods[j] for j in order if test.beats(j, i)),
                reasons=run.scores.reasons(metric.label, methods[i]),
                unbeaten=None if form is None or i in controls or test.beats(i, form) else methods[form],
            )
        )
    return Board(metric, tuple(standings), test.inputs, test.too_few, test.any_difference)


@dataclass(frozen=True, slots=True)
class Contrast:
    """A method under a metric in two runs, over the inputs that both have a value for.

    Args:
        difference: second minus first; differences below rounding noise count as 0.
        p: of the difference, adjusted for all methods and metrics; None for fewer than two inputs.
        too_few: whether so few inputs could not have made it significant.
    """

    metric: MetricEntry
    method: MatchedMethod
    first: float | None
    second: float | None
    difference: float | None
    n: int
    p: float | None
    too_few: bool

    @property
    def change(self) -> str:
        """Which way the second run differs from the first."""
        if self.difference is None:
            return "unknown"
        if self.difference == 0.0:
            return "equal"
        if self.p is None or self.p >= ALPHA:
            return "too few inputs" if self.too_few else "not significantly different"
        return "better" if (self.difference > 0) == self.metric.ascending else "worse"


def contrast(first: Run, second: Run, *, seed: int = 0) -> list[Contrast]:
    """Each method under each metric that two runs share, in the order of the first run.

    If results decided when a run stopped, the test is sequential, over the inputs in the order of that run.
    """
    stopped = [run for run in (first, second) if run.manifest.until_decided is not None]
    if len({run.manifest.until_decided.order for run in stopped if run.manifest.until_decided}) > 1:
        raise UserError(
            f"{first.folder} and {second.folder} were run until decided in different orders of the inputs, so no test "
            "of their differences is valid; run both with the same data and seed"
        )
    metrics = [metric for metric in first.metrics if metric in second.metrics]
    methods = [one for one in match_methods([first, second]) if None not in one.labels]
    found: list[tuple[MetricEntry, MatchedMethod]] = []
    columns: list[tuple[dict[str, float], dict[str, float]]] = []
    for metric in metrics:
        for method in methods:
            sides = [_column(run, metric, label) for run, label in zip((first, second), method.labels, strict=True)]
            if all(side is not None for side in sides):
                found.append((first.manifest.metric(metric), method))
                columns.append((sides[0] or {}, sides[1] or {}))
    if not columns:
        return []
    ids = list(dict.fromkeys(one for pair in columns for side in pair for one in side))
    if stopped:
        place = {name: number for number, name in enumerate(stopped[0].instances.ids)}
        ids.sort(key=lambda name: place.get(name, len(place)))
    a, b = (
        np.array([[pair[side].get(one, np.nan) for pair in columns] for one in ids]).reshape(len(ids), len(columns))
        for side in (0, 1)
    )
    tolerance = [max(run.manifest.tolerance(entry.label) for run in (first, second)) for entry, _ in found]
    differences, p = joint_differences(b - a, tolerance=np.array(tolerance), seed=seed, sequential=bool(stopped))
    known = ~np.isnan(b - a)
    # where something is significant, as many inputs as that had are enough
    needed = min([inputs_needed(len(p)), *known[:, p < ALPHA].sum(axis=0)])
    return [
        Contrast(
            entry,
            method,
            mean_of(a[known[:, i], i]),
            mean_of(b[known[:, i], i]),
            None if np.isnan(differences[i]) else float(differences[i]),
            int(known[:, i].sum()),
            None if np.isnan(p[i]) else float(p[i]),
            bool(known[:, i].sum() < needed),
        )
        for i, (entry, method) in enumerate(found)
    ]


def _column(run: Run, metric: str, label: str | None) -> dict[str, float] | None:
    """The values of a method by input; None if the run has no row of it."""
    if label is None or not len(run.scores.where(metric=metric, method=label)):
        return None
    values, inputs = values_by_input(run, metric, [label])
    return {one: value for one, value in zip(inputs, values[:, 0].tolist(), strict=True) if not math.isnan(value)}
