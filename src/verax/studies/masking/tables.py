"""Tables of recursive masking, and what they say."""

from __future__ import annotations

from collections.abc import Sequence

from verax.results.render.numbers import estimate, listed, percent, plural
from verax.results.table import Cell, Column, Table, table_row
from verax.studies.marks import marks_of
from verax.studies.masking.analysis import NO_AREA
from verax.studies.masking.curves import (
    ALPHA,
    CONVERGED,
    NOT_RECORDED,
    AllData,
    MaskingCurve,
    MaskingCurves,
    MaskingResult,
    Training,
    over_data,
)
from verax.types import Performance
from verax.types.numbers import FEWEST

PERFORMANCE: dict[Performance, str] = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "matthews": "Matthews correlation",
}
_REASONS = {NO_AREA: "the area under random is not positive"}
MAJORITY = {
    "training": "the most frequent class of the training data",
    "measured": "the most frequent class of the measured data (that of the training data is not recorded)",
}
_COLUMNS = (
    Column("method", "Measure", "text"),
    Column("acu", "ACU [%]", "percent"),
    Column("racu", "RACU [%]", "percent"),
    Column("n", "n", "count"),
    Column("skipped", "Skipped", "count"),
    Column("flags", "Note", "flags"),
    *(
        Column(name)
        for name in (
            "metric", "signed", "over", "out_of_distribution", "valid", "unmasked", "fully_masked", "majority",
            "majority_of"
        )
    ),
)  # fmt: skip


def tables(result: MaskingResult) -> list[Table]:
    """The areas of each data set or metric, best first, the random measure last; of several groups, together too."""
    several = len(result.groups) > 1
    together = [
        training
        for training in result.trainings
        if (result.compared and len(result.of_training(training)) > 1) or has_roar(result.of_training(training))
    ]
    return [
        *(_data_sets(result, training) for training in together),
        *([_performance_table(result)] if result.compared else []),
        *(_table(group, result.title(group) if several else "") for group in result.groups),
    ]


def _data_sets(result: MaskingResult, training: Training) -> Table:
    """Measures on all data sets, with Recursive ROAR where it was measured (the paper's Tables 1, 11 and 12)."""
    groups = result.of_training(training)
    with_roar = has_roar(groups)
    rows, overall = [], over_data(groups) if len(groups) > 1 and not result.by_metric else None
    for group in groups:
        for curve in group.curves:
            if curve.method != group.baseline:
                roar = Cell(curve.roar) if curve.roar is not None else Cell(reason="not measured")
                areas = [_acu(curve), _racu(curve), *([roar] if with_roar else [])]
                note = "; ".join(flags(group, curve))
                rows.append(table_row(group.name, _measure(group, curve.method), *areas, note, section=group.name))
    baselines = {group.shown(group.baseline) for group in groups}
    for name, (area, share) in overall.areas.items() if overall is not None else ():
        if name not in baselines:
            relative = Cell(share) if share is not None else Cell(reason="no area")
            rows.append(table_row("All", name, area, relative, *([None] if with_roar else []), "", section="All"))
    name = "data-sets" if len(result.trainings) == 1 else f"data-sets, {training}"
    columns = (
        Column("data", "Data set", "text"),
        Column("method", "Measure", "text"),
        Column("acu", "ACU [%]", "percent"),
        Column("racu", "RACU [%]", "percent"),
        *([Column("roar", "R-ROAR RACU [%]", "percent")] if with_roar else []),
        Column("flags", "Note", "flags"),
    )
    kind = "" if training == NOT_RECORDED else f" of models from {training}"
    over = dict.fromkeys(map(intervals, groups))
    caption = [*(over if len(over) == 1 else ()), *([all_data(overall)] if overall is not None else [])]
    if len(over) > 1:
        kinds = ", ".join(f"{group.name}: over {group.random.over}" for group in groups)
        caption.insert(0, f"In brackets: 95 % intervals, not all over the same ({kinds}).")
    return Table(name, f"Areas between the curves on each data set{kind}", columns, tuple(rows), " ".join(caption))


def has_roar(groups: Sequence[MaskingCurves]) -> bool:
    """Whether Recursive ROAR was measured for any measure."""
    return any(curve.roar is not None for group in groups for curve in group.curves)


def all_data(overall: AllData) -> str:
    """What the means over data sets are over, and which seeds were left out."""
    count = plural(len(overall.seeds), "seed")
    words = f"All: the mean over the data sets of each seed that all of them have ({count}), then over seeds."
    if overall.excluded:
        names = [
            f"seed {seed} on {data} ({percent(value)} unmasked, {percent(least)} needed)"
            for data, seed, value, least in overall.excluded
        ]
        words += (
            f" Left out of it, because they did not converge: {listed(names)}. A seed converged if its unmasked "
            f"performance gains at least {CONVERGED:.0%} of what the best seed gains over the most frequent class."
        )
    return words


def _performance_table(result: MaskingResult) -> Table:
    """Performance unmasked and fully masked, by data set and training (the paper's Figures 2, 3 and 7 to 15)."""
    names = ("data", "training", "unmasked", "fully_masked", "majority", "majority_of", "runs", "converged")
    titles = ("Data set", "Training", "Unmasked [%]", "100 % masked [%]", "Most frequent class [%]", "", "Runs", "")
    rows = []
    for group in result.groups:
        converged = len(group.converged)
        performance = group.unmasked, group.fully_masked, group.majority, group.majority_of
        rows.append(table_row(group.name, str(group.training), *performance, group.runs, converged, section="data"))
    notes = []
    for training in result.trainings:
        groups = result.of_training(training)
        if len(groups) > 1:
            overall = over_data(groups)
            means = overall.unmasked, overall.fully_masked, overall.majority, None
            rows.append(table_row("All", str(training), *means, len(overall.seeds), None, section="All"))
            notes.append(f"{training}: {all_data(overall)}" if len(result.trainings) > 1 else all_data(overall))
    formats = ("text", "text", "percent", "percent", "percent", "text", "count", "count")
    columns = tuple(Column(*column) for column in zip(names, titles, formats, strict=True))  # type: ignore[arg-type]
    metrics = list(dict.fromkeys(PERFORMANCE[group.random.metric] for group in result.groups))
    title = f"Performance of the models ({listed(metrics)})"
    return Table("performance", title, columns, tuple(rows), notes=tuple(notes))


def _table(group: MaskingCurves, name: str) -> Table:
    ranked = group.ranked()
    rows = []
    for curve in ranked:
        random = curve.method == group.baseline
        areas = [Cell(reason="0 by definition")] * 2 if random else [_acu(curve), _racu(curve)]
        outside = None if curve.p_values is None else " ".join(f"{curve.ratios[i]:.4g}" for i in curve.outside())
        valid = not group.invalid(curve) if group.tested(curve) else None
        rows.append(
            table_row(
                _measure(group, curve.method), *areas,
                curve.n, curve.skipped, "; ".join(flags(group, curve)),
                curve.metric, curve.signed, curve.over, outside, valid, curve.curve[0].value, curve.curve[-1].value,
                group.majority, group.majority_of, baseline=random,
            )
        )  # fmt: skip
    for method, reason in group.without.items():
        cells = [_measure(group, method), *[Cell(reason=reason)] * 2]
        rows.append(table_row(*cells, *[None] * (len(_COLUMNS) - len(cells))))
    title = f"Areas between the curves of {PERFORMANCE[ranked[0].metric]}, in percent (higher is better)"
    return Table(
        name or "areas",
        f"{name}: {title[0].lower()}{title[1:]}" if name else title,
        _COLUMNS,
        tuple(rows),
        caption=intervals(group),
        verdict=" ".join([performance_sentence(group), distribution(group)]),
    )


def _measure(group: MaskingCurves, method: str) -> Cell:
    return Cell(method, shown=group.shown(method))


def _acu(curve: MaskingCurve) -> Cell:
    marks = marks_of(best=False, like_random=curve.against.like_random, worse=curve.against.worse)
    return Cell(curve.acu, marks=marks)


def _racu(curve: MaskingCurve) -> Cell:
    return Cell(curve.racu) if curve.racu is not None else Cell(reason="no area")


def ratios(places: Sequence[int], points: int) -> str:
    """The masking ratios of some points: `10 %, 40–100 %`."""
    stretches: list[list[int]] = []
    for place in places:
        if stretches and stretches[-1][-1] == place - 1:
            stretches[-1].append(place)
        else:
            stretches.append([place])
    ends = [dict.fromkeys(f"{100 * end / (points - 1):.3g}" for end in (one[0], one[-1])) for one in stretches]
    return ", ".join(f"{'–'.join(pair)} %" for pair in ends)


def flags(group: MaskingCurves, curve: MaskingCurve) -> list[str]:
    """What must be known to read a row."""
    found = []
    if places := group.invalid(curve):
        found.append(f"not valid at {ratios(places, len(curve.curve))}")
    if curve.method == group.baseline:
        return found
    if curve.racu is None:
        found.append(f"no RACU: {_REASONS.get(curve.reason or '', curve.reason)}")
    elif curve.signed:
        found.append("no bound")
    return found


def performance_sentence(group: MaskingCurves) -> str:
    """Performance with nothing and with everything masked, compared with the most frequent class."""
    name, last = PERFORMANCE[group.random.metric], group.random.curve[-1]
    words = (
        f"{name[0].upper()}{name[1:]} in percent: {estimate(group.random.curve[0], percent)} with nothing masked, "
        f"{estimate(last, percent)} with everything masked; always predicting {MAJORITY[group.majority_of]} gives "
        f"{percent(group.majority)}."
    )
    if last.high is not None and last.high < group.majority:
        words += " With everything masked the model is worse than that: such inputs are unlike its training data."
    return words


def distribution(group: MaskingCurves) -> str:
    """Whether masked inputs are in-distribution, and where they are not."""
    ranked = group.ranked()
    known = [curve for curve in ranked if curve.p_values is not None]
    if not known:
        return (
            "Whether masked inputs are in-distribution was not tested (metric in_distribution): the areas are valid "
            "only if they are."
        )
    missing = [group.shown(curve.method) for curve in ranked if curve not in known]
    untested = f" Not tested: {', '.join(missing)}." if missing else ""
    out = [curve for curve in known if curve.outside()]
    if not out:
        return f"Masked inputs are in-distribution at every masking ratio (no p below {ALPHA}).{untested}"
    every = ratios(sorted({place for curve in out for place in curve.outside()}), len(out[0].curve))
    names = (
        listed([group.shown(curve.method) for curve in out])
        if len(out) <= 2
        else f"{len(out)} of {len(known)} measures"
    )
    rejected, tests = sum(len(curve.outside()) for curve in out), sum(len(curve.p_values or ()) for curve in known)
    return (
        f"Masked inputs are not in-distribution (p < {ALPHA}) at masking ratios {every}, with {names}: the areas are "
        f"not valid there. Of {plural(tests, 'test')} (a measure at a ratio) {rejected} reject; they are not corrected "
        f"for their number, and up to {ALPHA:.0%} reject without a cause.{untested}"
    )


def intervals(group: MaskingCurves) -> str:
    """What the intervals are over."""
    if group.random.over == "seeds":
        runs = f"{group.runs} runs that differ in the seed of their model"
        return (
            f"In brackets: 95 % intervals over {runs}."
            if group.runs >= FEWEST
            else f"Means over {runs}; there are intervals from {FEWEST} runs on."
        )
    instances = plural(group.random.n, "instance")
    if group.random.n < FEWEST:
        return f"Of {instances}; there are intervals from {FEWEST} on."
    return f"In brackets: 95 % intervals over the {instances} of this run (BCa bootstrap)."


def findings(result: MaskingResult) -> list[str]:
    """What is missing."""
    return [
        f"{name}: the random measure has no curve, so there is nothing to measure the others against."
        for name in result.missing
    ]


def reading(result: MaskingResult) -> list[str]:
    """How the areas came about."""
    if not result.groups:
        return []
    return [
        "The words that a measure ranks first are masked, the masked input is explained again, and so on until all "
        "words are masked. The faster performance falls, the better the measure knows what the model uses.",
        "ACU is the area between the curve of the random measure and that of the measure; negative: masking at random "
        "hurts more. RACU is its share of the area between the random curve and its end, which a measure would reach "
        "that finds everything that matters at the first step. It is undefined unless that area is positive, and has "
        "no interval where that area is not significantly so.",
        "Intervals show how large an area may be. Whether a measure is better than random is decided by the joint test "
        "of the leaderboard, which compares the probability of the gold class input by input; marks are those of it.",
        "No bound: a signed measure distinguishes support from opposition, so masking by it can flip the prediction, "
        "below what masking everything does. Its RACU can exceed 100 %; compare it with other signed measures.",
        f"Not valid: at these masking ratios the inputs masked by the measure, or at random, are not in-distribution "
        f"(p < {ALPHA}). What the model does there may be due to the unusual input rather than to the missing words.",
    ]
