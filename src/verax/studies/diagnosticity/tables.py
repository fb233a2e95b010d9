"""Tables and figure of metrics on trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verax.results.figure import Dot, Figure, Panel, Rule, Scale, Series
from verax.results.render.numbers import plural
from verax.results.table import Column, Table, table_row
from verax.studies.diagnosticity.analysis import CHANCE, PAIRS, AgainstChance, Diagnosticity, Group, MetricTrial
from verax.studies.unified.tables import KIND_NAMES
from verax.types import Estimate, Kind

_KINDS: dict[Kind, str] = {"token": KIND_NAMES["token"], **dict(reversed(KIND_NAMES.items())), "text": "free text"}
_STANDINGS: dict[AgainstChance, str] = {
    "better": "better than chance",
    "chance": "not better than chance",
    "worse": "worse than chance",
    "unknown": "too few inputs to tell",
}
_SHARE = "Share of pairs of explanations of which the truer one is ranked higher, ties counted as one half"


def tables(result: Diagnosticity) -> list[Table]:
    """The verdict on each metric, then by group of inputs and by pair of levels, and what is not on trial."""
    trials = _on_trial(result)
    groups = {_group_name(group): [trial.by_group.get(group) for trial, _ in trials] for group in result.groups}
    pairs = {f"{truer} > {other}": [one.by_pair.get((truer, other)) for one, _ in trials] for truer, other in PAIRS}
    made = [
        _overview(trials),
        _detailed("by_group", "Diagnosticity by rule and data", trials, groups, _groups_caption(result)),
        _detailed("by_pair", "Diagnosticity by pair of levels", trials, pairs, f"{_SHARE}; the truer level first."),
    ]
    missing = [table_row(trial.display, trial.reason, trial.label) for trial in result.trials if trial.kind is None]
    columns = (Column("metric", "Metric", "text"), Column("reason", "Reason", "text"), Column("label"))
    return [*made, *([Table("not_on_trial", "Not on trial", columns, tuple(missing))] if missing else [])]


def _on_trial(result: Diagnosticity) -> list[tuple[MetricTrial, Kind]]:
    """Trials with a value, by kind, the most diagnostic metric first."""
    trials = [(trial, trial.kind) for trial in result.trials if trial.kind is not None]
    return sorted(trials, key=lambda one: (list(_KINDS).index(one[1]), -(one[0].overall or Estimate(0.0)).value))


def _overview(trials: Sequence[tuple[MetricTrial, Kind]]) -> Table:
    columns = (
        Column("metric", "Metric", "text"),
        Column("explanations", "Of", "text"),
        Column("diagnosticity", "Diagnosticity"),
        Column("n", "n", "count"),
        Column("passes", "Passes", "count"),
        Column("milliseconds", "ms"),
        Column("verdict", "Verdict", "text"),
        Column("label"),
        Column("forward"),
        Column("backward"),
    )
    rows = []
    for trial, kind in trials:
        forward, backward, seconds = trial.cost or (0.0, 0.0, 0.0)
        verdict = _qualified(_STANDINGS[trial.standing], _notes(trial))
        cost = (round(forward + backward), 1000 * seconds, verdict, trial.label, forward, backward)
        rows.append(table_row(trial.display, _KINDS[kind], trial.overall, trial.n, *cost, section=_KINDS[kind]))
    return Table(
        "diagnosticity",
        "Metrics on trial",
        columns,
        tuple(rows),
        caption=f"{_SHARE}, over {plural(len(PAIRS), 'pair')} of levels of each input; 0.5 is chance. n: inputs, with "
        "95 % intervals over them (BCa bootstrap). Passes requested of the model and milliseconds are means over the "
        "explanations measured; answers that are already known take no time, and training of agents is not counted. "
        "Metrics with another n were measured on other inputs: compare them by rule and data.",
    )


def _notes(trial: MetricTrial) -> list[str]:
    """What limits the verdict on a metric."""
    notes = {"truth approximate": not trial.exact, "not meant to rank": not trial.ranks, "see warnings": trial.warned}
    return [note for note, holds in notes.items() if holds]


def _qualified(text: str, notes: Sequence[str]) -> str:
    return f"{text} ({', '.join(notes)})" if notes else text


def _detailed(
    name: str,
    title: str,
    trials: Sequence[tuple[MetricTrial, Kind]],
    cells: Mapping[str, Sequence[Estimate | None]],
    caption: str,
) -> Table:
    columns = (
        Column("metric", "Metric", "text"),
        Column("explanations", "Of", "text"),
        *(Column(head.replace(" > ", "_over_"), head) for head in cells),
    )
    rows = tuple(
        table_row(trial.display, _KINDS[kind], *(several[number] for several in cells.values()), section=_KINDS[kind])
        for number, (trial, kind) in enumerate(trials)
    )
    return Table(name, title, columns, rows, caption=caption)


def _group_name(group: Group) -> str:
    return group.name if group.exact else f"≈ {group.name}"


def _groups_caption(result: Diagnosticity) -> str:
    sizes = ", ".join(f"{_group_name(group)} {n}" for group, n in result.groups.items())
    approximate = (
        " ≈: annotated reasons of the task, which a trained model need not use; these inputs count in the overview "
        "only where a metric has no others."
    )
    return f"Inputs: {sizes}.{'' if all(group.exact for group in result.groups) else approximate}"


def figures(result: Diagnosticity) -> list[Figure]:
    """Diagnosticity of each metric, a panel for each kind of explanation."""
    by_kind: dict[Kind, list[MetricTrial]] = {}
    for trial, kind in _on_trial(result):
        by_kind.setdefault(kind, []).append(trial)
    panels = [
        Panel(
            _KINDS[kind].capitalize(),
            Scale("pairs ranked rightly", low=0.0, high=1.0, better="high"),
            Scale(),
            (
                *(Dot(one.display, 0, one.overall, one.standing != "better") for one in trials if one.overall),
                Rule("x", CHANCE, "chance"),
            ),
            tuple(trial.display for trial in trials),
            description=f"A row for each metric of {_KINDS[kind]}, the most diagnostic first.",
        )
        for kind, trials in by_kind.items()
    ]
    caption = "Hollow: not better than chance (the interval contains 0.5 or is below it), or too few inputs to tell."
    return [Figure("diagnosticity", "Metrics on trial", (Series("diagnosticity"),), tuple(panels), caption)]


def findings(result: Diagnosticity) -> list[str]:
    """Which metrics rank truer explanations higher, and which do not."""
    found: dict[AgainstChance, dict[str, list[tuple[MetricTrial, Kind]]]] = {standing: {} for standing in _STANDINGS}
    for trial, kind in _on_trial(result):
        found[trial.standing].setdefault(trial.display, []).append((trial, kind))
    sentences = []
    for standing, named in found.items():
        listed = []
        for name, trials in named.items():
            alone = all(name not in other for other in found.values() if other is not named)
            kinds = [] if alone else [_KINDS[kind] for _, kind in trials]
            listed.append(_qualified(name, [*kinds, *dict.fromkeys(note for one, _ in trials for note in _notes(one))]))
        sentences += [f"{_STANDINGS[standing].capitalize()}: {', '.join(listed)}."] if listed else []
    missing = [trial.display for trial in result.trials if trial.kind is None]
    return [*sentences, *([f"Not on trial: {', '.join(missing)}."] if missing else [])]


def reading(result: Diagnosticity) -> list[str]:
    """How explanations are made, and what a result does not say."""
    lines = [
        "Each input is explained truly (its reasons are ranked first), partly (wrong pieces first, then half of the "
        "reasons), at random, plausibly but wrongly (content words without a role first), and inverted (the reasons "
        "last). The first is truer than the second, that than the next two, and these than the last.",
        "Metrics of agreement compare with the same annotation that the explanations are made from: they are the "
        "yardstick, and what they miss of 1 is what random explanations get right by accident.",
        "A metric that is not better than chance here cannot tell true from wrong explanations of these models. The "
        "intervals are not adjusted for the number of metrics.",
    ]
    if result.wrong:
        lines.append(
            f"Left out: {plural(result.wrong, 'instance')} whose label the model does not predict, since what decided "
            "there is not known."
        )
    return lines
