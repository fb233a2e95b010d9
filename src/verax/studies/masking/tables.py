"""Tables of recursive masking, and what they say."""

from __future__ import annotations

from collections.abc import Sequence

from verax.results.render.numbers import estimate, listed, percent, plural
from verax.results.table import Cell, Column, Table, table_row
from verax.studies.masking.analysis import ALPHA, NO_AREA, Masking, MaskingCurve, MaskingCurves
from verax.types import Performance

PERFORMANCE: dict[Performance, str] = {
    "accuracy": "accuracy",
    "macro_f1": "macro F1",
    "micro_f1": "micro F1",
    "matthews": "Matthews correlation",
}
_REASONS = {NO_AREA: "random masking costs nothing"}
_ONLY_THE_END = (
    " The test tends to reject fully masked inputs, because it has seen few of them; performance is more informative "
    "there: it must not be below that of the most frequent class."
)
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
            "metric", "signed", "over", "out_of_distribution", "valid", "unmasked", "fully_masked", "majority"
        )
    ),
)  # fmt: skip


def tables(result: Masking) -> list[Table]:
    """The areas of each data set or metric, best first, the random measure last."""
    return [_table(group, several=len(result.groups) > 1) for group in result.groups]


def _table(group: MaskingCurves, *, several: bool) -> Table:
    ranked = group.ranked()
    rows = []
    for curve in ranked:
        random = curve.method == group.baseline
        areas = [Cell(reason="0 by definition")] * 2 if random else [Cell(curve.acu), _racu(curve)]
        outside = None if curve.p_values is None else " ".join(f"{curve.ratios[i]:.4g}" for i in curve.outside())
        valid = not group.invalid(curve) if group.tested(curve) else None
        rows.append(
            table_row(
                Cell(curve.method, shown=group.shown(curve.method)), *areas,
                curve.n, curve.skipped, "; ".join(flags(group, curve)),
                curve.metric, curve.signed, curve.over, outside, valid, curve.curve[0].value, curve.curve[-1].value,
                group.majority, baseline=random,
            )
        )  # fmt: skip
    for method, reason in group.without.items():
        cells = [Cell(method, shown=group.shown(method)), *[Cell(reason=reason)] * 2]
        rows.append(table_row(*cells, *[None] * (len(_COLUMNS) - len(cells))))
    name = PERFORMANCE[ranked[0].metric]
    title = f"Areas between the curves of {name}, in percent (higher is better)"
    return Table(
        "areas" if not several else group.name,
        f"{group.name}: {title[0].lower()}{title[1:]}" if several else title,
        _COLUMNS,
        tuple(rows),
        caption=intervals(group),
        verdict=" ".join([performance(group), distribution(group)]),
    )


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


def performance(group: MaskingCurves) -> str:
    """Performance with nothing and with everything masked, compared with the most frequent class."""
    name, last = PERFORMANCE[group.random.metric], group.random.curve[-1]
    words = (
        f"{name[0].upper()}{name[1:]} in percent: {estimate(group.random.curve[0], percent)} with nothing masked, "
        f"{estimate(last, percent)} with everything masked; always predicting the most frequent class gives "
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
    return (
        f"Masked inputs are not in-distribution (p < {ALPHA}) at masking ratios {every}, with {names}: the areas are "
        f"not valid there.{_ONLY_THE_END if every == '100 %' else ''}{untested}"
    )


def intervals(group: MaskingCurves) -> str:
    """What the intervals are over."""
    if group.random.over == "seeds":
        few = " So few runs say little." if group.runs < 3 else ""
        return f"In brackets: 95 % intervals over {group.runs} runs that differ in the seed of their model.{few}"
    return f"In brackets: 95 % intervals over the {plural(group.random.n, 'instance')} of this run (BCa bootstrap)."


def findings(result: Masking) -> list[str]:
    """What is missing."""
    return [
        f"{name}: the random measure has no curve, so there is nothing to measure the others against."
        for name in result.missing
    ]


def reading(result: Masking) -> list[str]:
    """How the areas came about."""
    if not result.groups:
        return []
    return [
        "The words that a measure ranks first are masked, the masked input is explained again, and so on until all "
        "words are masked. The faster performance falls, the better the measure knows what the model uses.",
        "ACU is the area between the curve of the random measure and that of the measure; negative: masking at random "
        "hurts more. RACU is its share of the area between the random curve and its end, which a measure would reach "
        "that finds everything that matters at the first step. Where that area is small, RACU is uncertain.",
        "No bound: a signed measure distinguishes support from opposition, so masking by it can flip the prediction, "
        "below what masking everything does. Its RACU can exceed 100 %; compare it with other signed measures.",
        f"Not valid: at these masking ratios the inputs masked by the measure, or at random, are not in-distribution "
        f"(p < {ALPHA}). What the model does there may be due to the unusual input rather than to the missing words.",
    ]
