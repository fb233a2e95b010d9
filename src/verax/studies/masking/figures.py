"""Figures of recursive masking: performance while words are masked, and p-values of the in-distribution test."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby, pairwise

from verax.results.figure import AnyMark, Area, Dot, Figure, Line, Panel, Region, Rule, Scale, Series, Shape
from verax.results.render.numbers import estimate, percent
from verax.studies.masking.curves import ALPHA, MaskingCurve, MaskingCurves, MaskingResult, over_data
from verax.studies.masking.tables import MAJORITY, PERFORMANCE
from verax.types import Estimate

_LEAST_P = 1e-4
_ALL = "All"


def figures(result: MaskingResult) -> list[Figure]:
    """Performance of the models if there are several groups; a panel for each measure; where tested, its p-values."""
    found = [_performance(result)] if result.compared else []
    for group in result.groups:
        shown = [curve for curve in group.ranked() if curve.method != group.baseline]
        if shown:
            found.append(_curves(result.title(group), group, shown))
    for name in dict.fromkeys(group.name for group in result.groups):
        found += _p_values(name, [group for group in result.groups if group.name == name])
    return found


def _performance(result: MaskingResult) -> Figure:
    """Performance unmasked and fully masked on each data set and on all, by training (Figures 2, 3 and 7 to 15)."""
    trainings = result.trainings
    rows = list(dict.fromkeys(group.name for group in result.groups))
    dots: dict[str, list[Dot]] = {"unmasked": [], "fully_masked": []}
    for number, training in enumerate(trainings):
        groups = result.of_training(training)
        overall = over_data(groups) if len(groups) > 1 else None
        for place, marks in dots.items():
            marks += [Dot(group.name, number, getattr(group, place)) for group in groups]
            mean = getattr(overall, place, None)
            if mean is not None:
                marks.append(Dot(_ALL, number, mean))
        majorities = {group.name: group.majority for group in groups} | ({_ALL: overall.majority} if overall else {})
        dots["fully_masked"] += [Dot(row, len(trainings), Estimate(value)) for row, value in majorities.items()]
    rows += [_ALL] if any(dot.row == _ALL for dot in dots["unmasked"]) else []
    shapes: tuple[Shape, ...] = ("circle", "square", "triangle", "diamond", "cross")
    series = [Series(str(training), shapes[number % len(shapes)]) for number, training in enumerate(trainings)]
    titles = {"unmasked": "Unmasked", "fully_masked": "100 % masked"}
    panels = tuple(
        Panel(title, Scale("performance [%]", percent=True), Scale(), tuple(dots[place]), tuple(rows))
        for place, title in titles.items()
    )
    return Figure(
        "performance",
        "Performance of the models, with nothing and with everything masked",
        (*series, Series("always the most frequent class", "diamond", baseline=True)),
        panels,
    )


def _curves(title: str, group: MaskingCurves, shown: list[MaskingCurve]) -> Figure:
    values = [end for curve in group.curves for point in curve.curve for end in point if end is not None]
    low = min(0.0, math.floor(4 * min([*values, group.majority])) / 4)
    return Figure(
        "curves",
        f"{title}: performance while words are masked",
        (Series("masked by the measure"), Series(f"masked by {group.baseline}", "square", baseline=True)),
        tuple(_panel(group, curve, low) for curve in shown),
        legend=(
            "blue area (below random): counted by ACU; orange area (above): subtracted from it",
            f"dashed line: always {MAJORITY[group.majority_of]}",
            f"hatched: not in-distribution (p < {ALPHA}), not valid",
        ),
    )


def _p_values(name: str, groups: list[MaskingCurves]) -> list[Figure]:
    """The p-values of each measure; those of models that were trained in other ways in the same panel (Figure 4)."""
    several = len(groups) > 1
    lines: dict[str, list[tuple[int, MaskingCurve]]] = {}
    for number, group in enumerate(groups):
        for curve in group.ranked():
            if curve.p_values is not None and curve.method != group.baseline:
                lines.setdefault(group.shown(curve.method), []).append((number, curve))
    if not lines:
        return []
    random = groups[0].random
    if several:
        series = tuple(Series(str(group.training)) for group in groups)
    else:
        series = (Series("masked by the measure"), Series(f"masked by {random.method}", "square", baseline=True))
        if random.p_values is not None:
            lines = {measure: [(1, random), *curves] for measure, curves in lines.items()}
    caption = f"p-value of the data set at each masking ratio; dashed: {ALPHA}. Logarithm to base 10."
    panels = tuple(_p_panel(measure, curves) for measure, curves in lines.items())
    return [Figure("p-values", f"{name}: are masked inputs in-distribution?", series, panels, caption)]


def _panel(group: MaskingCurves, curve: MaskingCurve, low: float) -> Panel:
    random = group.random
    marks: list[AnyMark] = [Region(*stretch, "not in-distribution") for stretch in _stretches(group, curve)]
    marks += [*between(random, curve), Rule("y", group.majority, "always the most frequent class")]
    marks += [Line(1, random.ratios, random.curve), Line(0, curve.ratios, curve.curve)]
    racu = "no RACU" if curve.racu is None else f"RACU {estimate(curve.racu, percent)}"
    return Panel(
        group.shown(curve.method),
        Scale("words masked [%]", percent=True, low=0.0, high=1.0),
        Scale(f"{PERFORMANCE[curve.metric]} [%]", percent=True, low=low, high=1.0),
        tuple(marks),
        caption=f"ACU {estimate(curve.acu, percent)}, {racu}",
        description=(
            f"{group.shown(curve.method)}: {PERFORMANCE[curve.metric]} falls from {percent(curve.curve[0].value)} to "
            f"{percent(curve.curve[-1].value)} percent; ACU {estimate(curve.acu, percent)}."
        ),
    )


def _stretches(group: MaskingCurves, curve: MaskingCurve) -> list[tuple[float, float]]:
    """The masking ratios that are not valid, half a step around each point."""
    step = 1 / (len(curve.curve) - 1)
    found: list[tuple[float, float]] = []
    for place in group.invalid(curve):
        start, end = max(0.0, (place - 0.5) * step), min(1.0, (place + 0.5) * step)
        if found and abs(found[-1][1] - start) < step / 4:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def between(random: MaskingCurve, curve: MaskingCurve) -> Iterator[Area]:
    """The areas between two curves: where the measure is below random, which ACU counts, and where it is above."""
    corners: list[tuple[float, float, float]] = []
    for ratio, one, other in zip(curve.ratios, random.curve, curve.curve, strict=True):
        if corners and (corners[-1][1] - corners[-1][2]) * (one.value - other.value) < 0:
            before, a, b = corners[-1]
            share = (a - b) / ((a - b) - (one.value - other.value))
            crossing = a + share * (one.value - a)
            corners.append((before + share * (ratio - before), crossing, crossing))
        corners.append((ratio, one.value, other.value))
    pieces = [(start, end, (start[1] - start[2]) + (end[1] - end[2])) for start, end in pairwise(corners)]
    for sign, members in groupby(pieces, key=lambda piece: math.copysign(1, piece[2]) if piece[2] else 0):
        if sign:
            run = list(members)
            x, upper, lower = zip(run[0][0], *(end for _, end, _ in run), strict=True)
            yield Area(x, lower, upper, "positive") if sign > 0 else Area(x, upper, lower, "negative")


def _p_panel(measure: str, curves: list[tuple[int, MaskingCurve]]) -> Panel:
    marks: list[AnyMark] = [Rule("y", math.log10(ALPHA), f"p = {ALPHA}")]
    for number, curve in curves:
        points = tuple(Estimate(math.log10(max(p, _LEAST_P))) for p in curve.p_values or ())
        marks.append(Line(number, curve.ratios, points))
    return Panel(
        measure,
        Scale("words masked [%]", percent=True, low=0.0, high=1.0),
        Scale("log10 p", low=math.log10(_LEAST_P), high=0.0),
        tuple(marks),
        caption="p-values",
    )
