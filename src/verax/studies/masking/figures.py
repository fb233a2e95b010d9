"""Figures of recursive masking: performance while words are masked, and the p-values of the in-distribution test."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby, pairwise

from verax.results.figure import AnyMark, Area, Figure, Line, Panel, Region, Rule, Scale, Series
from verax.results.render.numbers import estimate, percent
from verax.studies.masking.analysis import ALPHA, Masking, MaskingCurve, MaskingCurves
from verax.studies.masking.tables import PERFORMANCE
from verax.types import Estimate

_LEAST_P = 1e-4


def figures(result: Masking) -> list[Figure]:
    """A panel for each measure; below it, where tested, its p-values."""
    return [figure for group in result.groups for figure in _of_group(group)]


def _of_group(group: MaskingCurves) -> Iterator[Figure]:
    shown = [curve for curve in group.ranked() if curve.method != group.baseline]
    if not shown:
        return
    values = [end for curve in group.curves for point in curve.curve for end in point if end is not None]
    low = min(0.0, math.floor(4 * min([*values, group.majority])) / 4)
    series = (Series("masked by the measure"), Series(f"masked by {group.baseline}", "square", baseline=True))
    yield Figure(
        "curves",
        f"{group.name}: performance while words are masked",
        series,
        tuple(_panel(group, curve, low) for curve in shown),
        legend=(
            "blue area: counted by ACU; orange area: subtracted from it",
            "dashed line: always the most frequent class",
            f"hatched: not in-distribution (p < {ALPHA}), not valid",
        ),
    )
    if any(curve.p_values is not None for curve in group.curves):
        yield Figure(
            "p-values",
            f"{group.name}: are masked inputs in-distribution?",
            series,
            tuple(_p_panel(group, curve) for curve in shown if curve.p_values is not None),
            caption=f"p-value of the data set at each masking ratio; dashed: {ALPHA}. Logarithm to base 10.",
        )


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


def _p_panel(group: MaskingCurves, curve: MaskingCurve) -> Panel:
    marks: list[AnyMark] = [Rule("y", math.log10(ALPHA), f"p = {ALPHA}")]
    for number, one in ((1, group.random), (0, curve)):
        if one.p_values is not None:
            points = tuple(Estimate(math.log10(max(p, _LEAST_P))) for p in one.p_values)
            marks.append(Line(number, one.ratios, points))
    return Panel(
        group.shown(curve.method),
        Scale("words masked [%]", percent=True, low=0.0, high=1.0),
        Scale("log10 p", low=math.log10(_LEAST_P), high=0.0),
        tuple(marks),
        caption="p-values",
    )
