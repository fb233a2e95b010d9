"""The leaderboard of one run, or of several side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verax.results.manifest import MetricEntry
from verax.results.matching import MatchedMethod, match_methods
from verax.results.run import Run, run_names
from verax.stats.joint import ALPHA, Compared, PairedMeans, compare_columns, compare_methods, mean_over_groups
from verax.types import FloatArray


@dataclass(frozen=True, slots=True)
class Standing:
    """A method under a metric.

    Args:
        method: its label in the run.
        baseline: label of the random explanation that it is compared with.
        compared: mean, tests and group.
        skipped: number of instances without a value.
        reasons: their reasons, with counts.
    """

    method: str
    baseline: str
    compared: Compared
    skipped: int
    reasons: dict[str, int]

    @property
    def like_random(self) -> bool:
        """Whether the test does not distinguish it from its baseline, which itself has no test."""
        return self.compared.p_holm is not None and self.compared.p_holm >= ALPHA

    @property
    def is_baseline(self) -> bool:
        """Whether it is the random explanation that others are compared with."""
        return self.method == self.baseline


@dataclass(frozen=True, slots=True)
class Board:
    """The methods under one metric, best first, those without a value last."""

    metric: MetricEntry
    standings: tuple[Standing, ...]

    @property
    def best(self) -> tuple[Standing, ...]:
        """The best method and those that share a letter with it, best first."""
        first = self.standings[0] if self.standings else None
        if first is None or first.compared.mean is None:
            return ()
        letters = set(first.compared.group)
        return tuple(one for one in self.standings if one is first or set(one.compared.group) & letters)


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
    compared = standing.compared
    value, low, high = (None, None, None) if compared.mean is None else compared.mean
    return {
        "method": standing.method,
        "metric": board.metric.label,
        "mean": value,
        "low": low,
        "high": high,
        "n": compared.n,
        "skipped": standing.skipped,
        "random": compared.baseline_mean,
        "p": compared.p,
        "p_holm": compared.p_holm,
        "higher_is_better": board.metric.ascending,
        "group": compared.group,
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


def boards_of(run: Run, seed: int = 0) -> dict[str, Board]:
    """The leaderboard of each metric of a run that ranks, in the order of the manifest."""
    methods = ranked_methods(run)
    boards = {}
    for metric in run.metrics:
        entry = run.manifest.metric(metric)
        scored = set(run.scores.methods_of(metric)) if entry.ranked else set()
        present = [method for method in methods if method in scored]
        if present:
            boards[metric] = Board(entry, _ranked(run, entry, present, seed))
    return boards


def values_by_input(run: Run, metric: str, methods: Sequence[str]) -> tuple[FloatArray, list[int], list[str]]:
    """Values of a metric with translations of one input averaged, what is skipped, and the inputs."""
    values, skipped, ids = run.scores.matrix(metric, methods)
    means, inputs = mean_over_groups(values, ids, run.parallel)
    return means, skipped.tolist(), inputs


def _ranked(run: Run, entry: MetricEntry, methods: list[str], seed: int) -> tuple[Standing, ...]:
    values, skipped, _ = values_by_input(run, entry.label, methods)
    baselines = [run.manifest.baseline(method) for method in methods]
    places = [methods.index(base) if base in methods else None for base in baselines]
    compared = compare_methods(values, places, higher_is_better=entry.ascending, seed=seed)
    standings = [
        Standing(method, baseline, row, missing, run.scores.reasons(entry.label, method) if missing else {})
        for method, baseline, row, missing in zip(methods, baselines, compared, skipped, strict=True)
    ]
    return tuple(sorted(standings, key=lambda one: _place(one, entry.ascending)))


def _place(standing: Standing, ascending: bool) -> tuple[bool, float]:
    mean = standing.compared.mean
    return (True, 0.0) if mean is None else (False, -mean.value if ascending else mean.value)


@dataclass(frozen=True, slots=True)
class Contrast:
    """A method under a metric in two runs, over the inputs that both have a value for."""

    metric: MetricEntry
    method: MatchedMethod
    means: PairedMeans

    @property
    def change(self) -> str:
        """Which way the second run differs from the first."""
        first, second, _, _, p = self.means
        if first is None or second is None or p is None:
            return "unknown"
        if p >= ALPHA:
            return "not significantly different"
        return "better" if (second > first) == self.metric.ascending else "worse"


def contrast(first: Run, second: Run, *, seed: int = 0) -> list[Contrast]:
    """Each method under each metric that two runs share, in the order of the first run."""
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
    ids = list(dict.fromkeys(one for pair in columns for side in pair for one in side))
    stacked = [
        np.array([[pair[side].get(one, np.nan) for pair in columns] for one in ids]).reshape(len(ids), len(columns))
        for side in (0, 1)
    ]
    means = compare_columns(stacked[0], stacked[1], seed=seed) if columns else []
    return [Contrast(metric, method, row) for (metric, method), row in zip(found, means, strict=True)]


def _column(run: Run, metric: str, label: str | None) -> dict[str, float] | None:
    """The values of a method by input; None if the run has no row of it."""
    if label is None or not len(run.scores.where(metric=metric, method=label)):
        return None
    values, _, inputs = values_by_input(run, metric, [label])
    return {one: value for one, value in zip(inputs, values[:, 0].tolist(), strict=True) if not math.isnan(value)}
