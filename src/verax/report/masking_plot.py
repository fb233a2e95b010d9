"""Recursive masking drawn as inline SVG: performance while words are masked, and below it the p-values."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise

from verax.report.masking_words import PERFORMANCE, baseline_of, invalid, span, stretches
from verax.report.text_width import TICK, label
from verax.results.render.markup import Html, tag
from verax.results.render.numbers import number, p_value, percent
from verax.stats.leaderboard import ALPHA
from verax.types import MaskingCurve, MaskingCurves

WIDTH = 360
_LEFT, _RIGHT = 40.0, 350.0
_UPPER, _LOWER = (22.0, 168.0), (196.0, 262.0)
_LEAST_P = 1e-4
_HATCH = 7.0
_DOTS = 25
_SPARK = (120, 30)


@dataclass(frozen=True, slots=True)
class Frame:
    """A plot area in drawing units and the values that its lower and upper edge stand for; ratios run from 0 to 1."""

    left: float
    right: float
    top: float
    bottom: float
    low: float
    high: float

    def x(self, ratio: float) -> float:
        """Where a masking ratio stands."""
        return self.left + (self.right - self.left) * min(max(ratio, 0.0), 1.0)

    def y(self, value: float) -> float:
        """Where a value stands; one beyond the edge stands on it."""
        share = (min(max(value, self.low), self.high) - self.low) / (self.high - self.low)
        return self.bottom - (self.bottom - self.top) * share

    def path(self, points: Iterable[tuple[float, float]], *, closed: bool = False) -> str:
        """A line through (ratio, value) points, as SVG writes it."""
        joined = "L".join(f"{self.x(ratio):.1f} {self.y(value):.1f}" for ratio, value in points)
        return f"M{joined}{'Z' if closed else ''}"


def panel(curves: MaskingCurves, row: MaskingCurve) -> Html:
    """One measure beside the random one: performance above, p-values below where they are known."""
    random = baseline_of(curves)
    frame = _performance_frame(curves)
    with_p = row.p_values is not None or random.p_values is not None
    lowest = _LOWER[1] if with_p else _UPPER[1]
    shapes = [
        *_grid(frame, [(tick, f"{100 * tick:.0f}") for tick in _quarters(frame)], f"{PERFORMANCE[row.metric]} [%]"),
        *_ribbon(frame, random),
        *(
            tag("path", d=frame.path(outline, closed=True), class_=f"area {side}")
            for side, outline in between(random, row)
        ),
        tag("path", d=frame.path([(0, curves.majority), (1, curves.majority)]), class_="majority"),
        *_hatching(frame, invalid(curves, row), len(row.curve)),
        tag("path", d=frame.path(_line(random)), class_="random"),
        *_measured(frame, row),
    ]
    if with_p:
        shapes += _p_plot(curves, row, random)
    shapes += _x_axis(frame, lowest)
    shapes += [_probe(frame, place, lowest, row, random) for place in range(len(row.curve))]
    height = round(lowest) + 32
    return tag("svg", shapes, class_="plot masked", viewBox=f"0 0 {WIDTH} {height}", role="img", aria_label=_said(row))


def between(random: MaskingCurve, row: MaskingCurve) -> Iterator[tuple[str, list[tuple[float, float]]]]:
    """The areas between two curves: where the measure is below random (what ACU counts) and where it is above."""
    corners: list[tuple[float, float, float]] = []
    for ratio, one, other in zip(row.ratios, random.curve, row.curve, strict=True):
        if corners and (corners[-1][1] - corners[-1][2]) * (one.value - other.value) < 0:
            before, a, b = corners[-1]
            share = (a - b) / ((a - b) - (one.value - other.value))
            met = a + share * (one.value - a)
            corners.append((before + share * (ratio - before), met, met))
        corners.append((ratio, one.value, other.value))
    pieces = [(start, end, (start[1] - start[2]) + (end[1] - end[2])) for start, end in pairwise(corners)]
    for gap, run in groupby(pieces, key=lambda piece: math.copysign(1, piece[2]) if piece[2] else 0):
        if gap:
            held = list(run)
            outline = [held[0][0], *(end for _, end, _ in held)]
            there = [(ratio, one) for ratio, one, _ in outline]
            back = [(ratio, other) for ratio, _, other in reversed(outline)]
            yield ("below" if gap > 0 else "above"), there + back


def _performance_frame(curves: MaskingCurves) -> Frame:
    """The same for all measures: 0 to 1, and lower where a correlation falls below 0."""
    values = [v for row in curves.curves for point in row.curve for v in point if v is not None]
    low = min(0.0, math.floor(4 * min([*values, curves.majority])) / 4)
    return Frame(_LEFT, _RIGHT, *_UPPER, low, 1.0)


def _quarters(frame: Frame) -> list[float]:
    return [place / 4 for place in range(round(4 * frame.low), 5)]


def _line(row: MaskingCurve) -> list[tuple[float, float]]:
    return [(ratio, point.value) for ratio, point in zip(row.ratios, row.curve, strict=True)]


def _ends(row: MaskingCurve) -> list[tuple[float, float, float]]:
    """Ratio and ends of the interval, where there is one."""
    known = zip(row.ratios, row.curve, strict=True)
    return [(ratio, low, high) for ratio, (_, low, high) in known if low is not None and high is not None]


def _ribbon(frame: Frame, row: MaskingCurve) -> list[Html]:
    ends = _ends(row)
    if len(ends) < 2:
        return []
    outline = [(ratio, high) for ratio, _, high in ends] + [(ratio, low) for ratio, low, _ in reversed(ends)]
    return [tag("path", d=frame.path(outline, closed=True), class_="ribbon")]


def _measured(frame: Frame, row: MaskingCurve) -> list[Html]:
    """The measure's curve; its intervals as uprights, its points as dots unless they are too many."""
    uprights = "".join(frame.path([(ratio, low), (ratio, high)]) for ratio, low, high in _ends(row))
    shapes = [tag("path", d=uprights, class_="ends")] if uprights else []
    shapes.append(tag("path", d=frame.path(_line(row)), class_="measure"))
    if len(row.curve) <= _DOTS:
        shapes += [
            tag("circle", cx=f"{frame.x(ratio):.1f}", cy=f"{frame.y(value):.1f}", r="2.6", class_="point")
            for ratio, value in _line(row)
        ]
    return shapes


def _hatching(frame: Frame, places: Sequence[int], points: int) -> list[Html]:
    """Slanted lines over each stretch of points, half a step to either side, ending at the edges of the plot."""
    shapes = []
    for first, last in stretches(places):
        left, right = (frame.x((place + side) / (points - 1)) for place, side in ((first, -0.5), (last, 0.5)))
        slants = []
        rise = _HATCH * math.ceil((left + frame.top) / _HATCH)
        while rise < right + frame.bottom:  # the line x + y = rise, cut at the four edges
            start, end = max(left, rise - frame.bottom), min(right, rise - frame.top)
            slants.append(f"M{start:.1f} {rise - start:.1f}L{end:.1f} {rise - end:.1f}")
            rise += _HATCH
        box = {"x": f"{left:.1f}", "width": f"{right - left:.1f}"}
        box |= {"y": f"{frame.top:.1f}", "height": f"{frame.bottom - frame.top:.1f}"}
        shapes.append(tag("rect", class_="outside", **box))
        shapes.append(tag("path", d="".join(slants), class_="hatch"))
    return shapes


def _p_plot(curves: MaskingCurves, row: MaskingCurve, random: MaskingCurve) -> list[Html]:
    """The p-values on a logarithmic axis that all measures share, with the line below which inputs count as outside."""
    least = min(p for one in curves.curves for p in one.p_values or ())
    power = min(-2, math.floor(math.log10(max(least, _LEAST_P)) + 1e-9))
    frame = Frame(_LEFT, _RIGHT, *_LOWER, float(power), 0.0)
    ticks = [(float(tick), f"{10.0**tick:g}") for tick in range(power, 1)]
    if least < 10.0**power:
        ticks[0] = (ticks[0][0], f"≤ {ticks[0][1]}")
    shapes = _grid(frame, ticks, f"in-distribution p (log scale); dashed: {ALPHA}")
    shapes.append(tag("path", d=frame.path([(0, math.log10(ALPHA)), (1, math.log10(ALPHA))]), class_="level"))
    for one, look in ((random, "random"), (row, "measure")):
        points = zip(one.ratios, one.p_values or (), strict=False)
        drawn = [(ratio, math.log10(max(p, 10.0**power))) for ratio, p in points]
        if drawn:
            shapes.append(tag("path", d=frame.path(drawn), class_=look))
    return shapes


def _grid(frame: Frame, ticks: Sequence[tuple[float, str]], title: str) -> list[Html]:
    shapes = [label(title, TICK, x=f"{_LEFT:.0f}", y=f"{frame.top - 8:.0f}", class_="tick")]
    for value, shown in ticks:
        shapes.append(tag("path", d=frame.path([(0, value), (1, value)]), class_="grid"))
        end, y = _LEFT - 6, f"{frame.y(value) + 4:.1f}"
        shapes.append(label(shown, TICK, room=end, x=f"{end:.0f}", y=y, text_anchor="end", class_="tick"))
    return shapes


def _x_axis(frame: Frame, bottom: float) -> list[Html]:
    shapes = []
    for tick in range(0, 101, 20):
        x, y = f"{frame.x(tick / 100):.1f}", f"{bottom + 15:.0f}"
        shapes.append(label(str(tick), TICK, x=x, y=y, text_anchor="middle", class_="tick"))
    x, y = f"{frame.x(0.5):.0f}", f"{bottom + 28:.0f}"
    return [*shapes, label("masked [%]", TICK, x=x, y=y, text_anchor="middle", class_="tick")]


def _probe(frame: Frame, place: int, bottom: float, row: MaskingCurve, random: MaskingCurve) -> Html:
    """An unseen column over one point that says its numbers when pointed at."""
    said = f"{100 * row.ratios[place]:.3g} % masked: {span(row.curve[place])}"
    said += f"; {random.method} {span(random.curve[place])}"
    if row.p_values is not None:
        said += f"; p {p_value(row.p_values[place])}"
    left, right = (frame.x((place + side) / (len(row.curve) - 1)) for side in (-0.5, 0.5))
    box = {"x": f"{left:.1f}", "width": f"{right - left:.1f}", "y": f"{frame.top:.1f}"}
    return tag("rect", tag("title", said), height=f"{bottom - frame.top:.1f}", class_="probe", **box)


def _said(row: MaskingCurve) -> str:
    """The drawing for who can't see it."""
    values = ", ".join(f"{100 * ratio:.3g} %: {percent(value)}" for ratio, value in _line(row))
    said = f"{PERFORMANCE[row.metric]} in percent while words are masked by {row.method}. {values}."
    if row.p_values is not None:
        said += f" In-distribution p-values: {', '.join(map(p_value, row.p_values))}."
    return said


def spark(curve: Sequence[float], random: Sequence[float] | None) -> Html:
    """One instance: the gold class's probability while words are masked, the random measure in grey."""
    width, height = _SPARK
    frame = Frame(2.0, width - 2.0, 3.0, height - 3.0, 0.0, 1.0)
    shapes = [tag("path", d=frame.path([(0, edge), (1, edge)]), class_="grid") for edge in (0.0, 1.0)]
    for values, look in ((random, "random"), (curve, "measure")):
        if values:
            steps = max(len(values) - 1, 1)
            drawn = [(place / steps, value) for place, value in enumerate(values)]
            shapes.append(tag("path", d=frame.path(drawn), class_=look))
    said = f"gold probability while masked: {', '.join(map(number, curve))}"
    return tag("svg", shapes, class_="plot spark", width=width, height=height, role="img", aria_label=said)


def swatch(look: str) -> Html:
    """A sample of one thing that is drawn, for the key."""
    frame = Frame(0.0, 28.0, 2.0, 12.0, 0.0, 1.0)
    shapes: list[Html] = []
    if look == "random":
        shapes.append(tag("rect", x=0, y=2, width=28, height=10, class_="ribbon"))
    if look == "hatch":
        shapes += _hatching(frame, [0, 1], 2)
    elif look in {"below", "above"}:
        shapes.append(tag("rect", x=0, y=2, width=28, height=10, class_=f"area {look}"))
    else:
        shapes.append(tag("path", d=frame.path([(0, 0.5), (1, 0.5)]), class_=look))
    if look == "measure":
        shapes.append(tag("path", d=frame.path([(0.5, 0), (0.5, 1)]), class_="ends"))
        shapes.append(tag("circle", cx=14, cy=7, r="2.6", class_="point"))
    return tag("svg", shapes, class_="plot swatch", width=28, height=14, aria_hidden="true")
