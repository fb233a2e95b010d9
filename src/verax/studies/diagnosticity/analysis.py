"""Diagnosticity: the share of pairs of explanations of known truth that a metric ranks rightly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Literal, NamedTuple, cast, get_args

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from verax.data.rules import rule_of
from verax.registry import display_names
from verax.results.manifest import MetricEntry
from verax.results.run import Run
from verax.stats.intervals import ratio
from verax.types import Estimate, FloatArray, Kind, UserError

CHANCE = 0.5
_TIERS = {"true": 0, "partial": 1, "random": 2, "plausible": 2, "inverted": 3}
"""The levels of truth; one of a lower tier is truer, and those of the same tier are not compared."""
LevelPair = tuple[str, str]
PAIRS: tuple[LevelPair, ...] = tuple(pair for pair in combinations(_TIERS, 2) if _TIERS[pair[0]] < _TIERS[pair[1]])
"""Pairs of levels, the truer one first."""
_COSTS = ("forward_asked", "backward_asked", "seconds")

AgainstChance = Literal["better", "chance", "worse", "unknown"]
"""Compared with chance: the interval is above 0.5, contains it, is below it, or there is none."""


class MeasuringCost(NamedTuple):
    """Mean cost of measuring one explanation: passes that were requested, and seconds."""

    forward: float
    backward: float
    seconds: float


class Group(NamedTuple):
    """Inputs of one rule, or of one data set; `exact` if their reasons are known from how the model was made."""

    name: str
    exact: bool


@dataclass(frozen=True)
class MetricTrial:
    """A metric on trial with explanations of one kind, or the reason why it is not.

    Args:
        kind: of the explanations; None if the metric has no value at all.
        overall: share of pairs ranked rightly, over inputs of exactly known truth, or over all if there are none.
        exact: whether their truth is known exactly.
        by_group, by_pair: the same for each group of inputs, and for each pair of levels.
        ranks: whether the metric is meant to rank explanations.
        warned: whether a run has warnings about the metric, such as agents that learned nothing.
    """

    label: str
    display: str
    kind: Kind | None = None
    overall: Estimate | None = None
    n: int = 0
    exact: bool = True
    by_group: Mapping[Group, Estimate | None] = field(default_factory=dict)
    by_pair: Mapping[LevelPair, Estimate | None] = field(default_factory=dict)
    cost: MeasuringCost | None = None
    ranks: bool = True
    warned: bool = False
    reason: str = ""

    @property
    def standing(self) -> AgainstChance:
        """The verdict on the metric, which its interval decides."""
        if self.overall is None or self.overall.interval is None:
            return "unknown"
        low, high = self.overall.interval
        return "better" if low > CHANCE else "worse" if high < CHANCE else "chance"


@dataclass(frozen=True)
class Diagnosticity:
    """All metrics of some runs on trial.

    Args:
        groups: number of inputs in each group.
        wrong: number of inputs whose label the model does not predict; they are left out, as their reasons are unknown.
    """

    trials: tuple[MetricTrial, ...]
    groups: Mapping[Group, int]
    wrong: int


def analyse(runs: Sequence[Run]) -> Diagnosticity | None:
    """Put the metrics of runs with explanations of known truth on trial; None if a run has none."""
    known = [_KnownRun(run) for run in runs]
    if not all(one.methods for one in known):
        return None
    _check_different(runs)
    groups: Counter[Group] = Counter()
    for one in known:
        groups.update(one.inputs.values())
    entries: dict[str, MetricEntry] = {}
    for run in runs:
        entries |= {label: run.manifest.metric(label) for label in run.metrics if label not in entries}
    names = display_names("metrics", [(entry.name or label, entry.parameters) for label, entry in entries.items()])
    trials = [trial for label, name in zip(entries, names, strict=True) for trial in _of_metric(known, label, name)]
    on_trial = {entry.name for entry in entries.values()}
    left_out = {name: reason for run in reversed(runs) for name, reason in run.manifest.left_out.items()}
    trials += [
        MetricTrial(name, display_names("metrics", [(name, {})])[0], reason=left_out[name])
        for name in sorted(left_out.keys() - on_trial)
    ]
    return Diagnosticity(tuple(trials), groups, sum(one.wrong for one in known))


def claims(runs: Sequence[Run]) -> bool:
    """Whether all explanations of all runs are of known truth, but for random ones: then only metrics are measured."""
    several = [run.manifest.methods for run in runs]
    return all(
        any(entry.known_truth for entry in methods) and all(entry.known_truth or entry.random for entry in methods)
        for methods in several
    )


def _check_different(runs: Sequence[Run]) -> None:
    """Reject runs of the same model on the same inputs, which would count twice."""
    seen: dict[tuple[str, str], Run] = {}
    for run in runs:
        model, data = run.manifest.model.hash, run.manifest.data.hash
        if model is not None and data is not None and (earlier := seen.setdefault((model, data), run)) is not run:
            raise UserError(f"{earlier.folder} and {run.folder} have the same model and inputs: name one of them")


class _KnownRun:
    """A run with its explanations of known truth, and the inputs whose reasons are known."""

    def __init__(self, run: Run) -> None:
        self.run = run
        entries = [entry for entry in run.manifest.methods if entry.known_truth]
        self.methods = {
            (cast("Kind", one.kind), str(one.parameters.get("truth", "true"))): one.label for one in entries
        }

    @cached_property
    def _groups(self) -> dict[str, Group]:
        """The group of each instance whose label the model predicts."""
        facts, data = self.run.manifest.model.facts, self.run.manifest.data.name
        whole = Group(f"planted {facts['planted']}", True) if "planted" in facts else Group(data, False)
        predicted = {one.instance_id: one.label.casefold() for one in self.run.predictions()}
        groups = {}
        for instance in self.run.inputs():
            if instance.label is not None and predicted.get(instance.id) == instance.label.casefold():
                rule = rule_of(instance) if "rules" in facts else None
                groups[instance.id] = whole if rule is None else Group(rule, True)
        return groups

    @cached_property
    def inputs(self) -> dict[str, Group]:
        """The group of each input; translations of one input count once."""
        return {self.run.parallel.get(instance, instance): group for instance, group in self._groups.items()}

    @property
    def wrong(self) -> int:
        """Number of instances that are left out."""
        return len(self.run.instances) - len(self._groups)

    def ranked(self, metric: str, kind: Kind) -> dict[Group, FloatArray]:
        """For the inputs of each group, whether each pair of levels is ranked rightly.

        Returns:
            Arrays of shape [inputs, pairs]: 1 if the truer one is better, 0 if it is worse, 0.5 for a tie, NaN if one
            has no value; for translations of an input their mean. Inputs without any pair are left out.
        """
        values, _, ids = self.run.scores.matrix(metric, [self.methods.get((kind, level), "") for level in _TIERS])
        column = dict(zip(_TIERS, values.T, strict=True))
        sign = 1 if self.run.manifest.metric(metric).ascending else -1
        differences = np.stack([sign * (column[truer] - column[other]) for truer, other in PAIRS], axis=1)
        tied = np.abs(differences) <= self.run.manifest.tolerance(metric)
        right = np.where(np.isnan(differences), np.nan, np.where(tied, 0.5, differences > 0))
        rows: dict[Group, dict[str, list[FloatArray]]] = {}
        for instance, row in zip(ids, right, strict=True):
            if instance in self._groups and not np.isnan(row).all():
                unit = self.run.parallel.get(instance, instance)
                rows.setdefault(self._groups[instance], {}).setdefault(unit, []).append(row)
        return {group: np.array([_mean(several) for several in units.values()]) for group, units in rows.items()}

    def costs(self, metric: str, kind: Kind) -> FloatArray:
        """Costs of each score of a metric that has a value, shape [scores, 3]."""
        scores = self.run.scores
        methods = [label for (other, _), label in self.methods.items() if other == kind]
        rows = np.concatenate([scores.where(metric=metric, method=method) for method in methods] or [np.zeros(0, int)])
        rows = rows[~np.isnan(scores.value[rows])]
        column = self.run.tables.table("scores", columns=("cost",))["cost"].take(pa.array(rows))
        return np.stack([pc.struct_field(column, name).to_numpy() for name in _COSTS], axis=1)

    def reasons(self, metric: str) -> Iterator[str]:
        """Why explanations have no value, the most frequent reasons first, each with an example."""
        scores = self.run.scores
        counts: Counter[str] = Counter()
        for method in self.methods.values():
            counts.update(scores.reasons(metric, method))
        for reason, n in counts.most_common(2):
            (rows,) = np.nonzero(
                (scores.metric.codes == scores.metric.code(metric))
                & (scores.reason.codes == scores.reason.code(reason))
            )
            detail = self.run.score_rows(rows=rows[:1])[0].detail
            yield f"{reason} ({n})" + (f": {detail}" if detail else "")


def _of_metric(runs: Sequence[_KnownRun], label: str, display: str) -> Iterator[MetricTrial]:
    """The trials of one metric: one for each kind of explanation that it measures, or one with a reason."""
    measured = False
    for kind in get_args(Kind):
        ranked = [run.ranked(label, kind) for run in runs]
        groups = dict.fromkeys(group for one in ranked for group in one)
        rows = {group: np.concatenate([one[group] for one in ranked if group in one]) for group in groups}
        if not rows:
            continue
        measured = True
        exact = [group for group in rows if group.exact]
        counted = np.concatenate([rows[group] for group in exact or rows])
        yield MetricTrial(
            label,
            display,
            kind,
            _share(counted),
            len(counted),
            bool(exact),
            {group: _share(of_group) for group, of_group in rows.items()},
            {pair: _share(counted[:, [number]]) for number, pair in enumerate(PAIRS)},
            MeasuringCost(*np.concatenate([run.costs(label, kind) for run in runs]).mean(0).tolist()),
            any(run.run.manifest.metric(label).ranked for run in runs if label in run.run.metrics),
            any(warning.startswith(f"{label}: ") for run in runs for warning in run.run.manifest.warnings),
        )
    if not measured:
        listed = "; ".join(reason for run in runs for reason in run.reasons(label))
        yield MetricTrial(label, display, reason=f"no value, {listed}" if listed else "no value")


def _mean(rows: Sequence[FloatArray]) -> FloatArray:
    """The mean over the translations of an input, NaN where none has a value."""
    table = np.array(rows)
    known = ~np.isnan(table)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, table, 0.0).sum(0) / known.sum(0))


def _share(rows: FloatArray) -> Estimate | None:
    """Share of pairs that are ranked rightly, with its interval over inputs; rows have shape [inputs, pairs]."""
    known = ~np.isnan(rows)
    return ratio(np.where(known, rows, 0.0).sum(1), known.sum(1).astype(float))
