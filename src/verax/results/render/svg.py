"""Figures as inline SVG. Colours come from the style sheet of the page; shapes alone tell series apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from verax.results.figure import (
    AnyMark,
    Area,
    Bar,
    Dot,
    Line,
    Panel,
    Point,
    Region,
    Rule,
    Scale,
    Series,
    Swarm,
    Ticks,
    extent,
    ticks_over,
)
from verax.results.render.markup import Html, tag
from verax.results.render.numbers import estimate
from verax.results.render.text_width import TICK, cut_to, fitted, label, text_width

_WIDTH = 360.0
_PLOT_HEIGHT = 168.0
_ROW, _TOP, _FOOT = 21.0, 22.0, 34.0
_NAMES, _WIDEST_NAMES, _INDENT, _HEADING = 132.0, 200.0, 10.0, 12.0
_LEFT, _RIGHT = 42.0, 10.0
_DODGE = 7.0
COLOURS = 6
"""Number of colours of series; further series begin again."""
_HATCH = 7.0


@dataclass(frozen=True, slots=True)
class _Frame:
    """The plot area in drawing units, and the axes whose values it shows."""

    left: float
    right: float
    top: float
    bottom: float
    x_axis: Ticks
    y_axis: Ticks | None

    def x(self, value: float) -> float:
        return self.left + (self.right - self.left) * min(max(self.x_axis.share(value), 0.0), 1.0)

    def y(self, value: float) -> float:
        share = 0.5 if self.y_axis is None else min(max(self.y_axis.share(value), 0.0), 1.0)
        return self.bottom - (self.bottom - self.top) * share

    def path(self, points: Sequence[tuple[float, float]], *, closed: bool = False) -> str:
        joined = "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)
        return f"M{joined}{'Z' if closed else ''}"


def figure_svg(panel: Panel, series: Sequence[Series]) -> Html:
    """One panel."""
    x_axis = ticks_over(extent(panel.marks, "x"), panel.x.low, panel.x.high)
    if x_axis is None:
        return tag("p", "nothing to draw", class_="note")
    height = _TOP + (_ROW * len(panel.rows) if panel.rows else _PLOT_HEIGHT)
    left = _names_width(panel) if panel.rows else _LEFT
    width = _WIDTH + (left - _NAMES if panel.rows else 0.0)
    y_axis = None if panel.rows else ticks_over(extent(panel.marks, "y"), panel.y.low, panel.y.high)
    frame = _Frame(left, width - _RIGHT, _TOP, height, x_axis, y_axis)
    shapes = [*_x_grid(frame, panel.x), *_y_grid(frame, panel.y), *_names(panel, left)]
    for mark in panel.marks:
        shapes += _mark(frame, mark, panel, series)
    shapes += _point_labels(frame, [mark for mark in panel.marks if isinstance(mark, Point)])
    return tag(
        "svg",
        shapes,
        class_="chart",
        viewBox=f"0 0 {width:.0f} {height + _FOOT:.0f}",
        role="img",
        aria_label=_spoken(panel, series),
    )


def _names_width(panel: Panel) -> float:
    """Room for the names of rows: that of the longest, within limits."""
    longest = max(text_width(row.removeprefix("# ").strip(), TICK) for row in panel.rows)
    return min(max(_NAMES, _INDENT + longest + 6), _WIDEST_NAMES)


def _x_grid(frame: _Frame, scale: Scale) -> Iterator[Html]:
    for tick in frame.x_axis.values:
        x = f"{frame.x(tick):.1f}"
        yield tag("line", x1=x, x2=x, y1=round(frame.top), y2=f"{frame.bottom:.1f}", class_="grid")
        yield label(scale.tick(tick), TICK, x=x, y=f"{frame.bottom + 14:.1f}", text_anchor="middle", class_="tick")
    place = {"x": f"{(frame.left + frame.right) / 2:.1f}", "y": f"{frame.bottom + 29:.1f}", "text_anchor": "middle"}
    yield label(scale.words, TICK, room=frame.right - frame.left + 2 * _RIGHT, **place, class_="tick way")


def _y_grid(frame: _Frame, scale: Scale) -> Iterator[Html]:
    if frame.y_axis is None:
        return
    for tick in frame.y_axis.values:
        y = frame.y(tick)
        yield tag("line", x1=round(frame.left), x2=round(frame.right), y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid")
        place = {"x": f"{frame.left - 5:.1f}", "y": f"{y + 4:.1f}", "text_anchor": "end"}
        yield label(scale.tick(tick), TICK, room=frame.left - 5, **place, class_="tick")
    yield label(scale.label, TICK, room=frame.right - 2, x=2, y=12, class_="tick way")


def _names(panel: Panel, width: float) -> Iterator[Html]:
    for number, row in enumerate(panel.rows):
        y = f"{_TOP + _ROW * (number + 0.5) + 4:.1f}"
        heading = row.startswith("# ")
        name = row.removeprefix("# ").strip()
        x, size = (0.0, _HEADING) if heading else (_INDENT, TICK)
        shown = cut_to(name, width - x - 4, size)
        yield label(shown, size, tag("title", name), x=f"{x:g}", y=y, class_="kind" if heading else "tick")


def _mark(frame: _Frame, mark: AnyMark, panel: Panel, series: Sequence[Series]) -> list[Html]:
    match mark:
        case Dot():
            shapes = _dot(frame, mark, panel, series)
        case Line():
            shapes = _line(frame, mark, series)
        case Area():
            outline = [*zip(mark.x, mark.upper, strict=True), *zip(mark.x[::-1], mark.lower[::-1], strict=True)]
            shapes = [tag("path", d=frame.path(outline, closed=True), class_=f"area {mark.sign}")]
        case Point():
            shapes = _point(frame, mark, series)
        case Rule():
            shapes = [_rule(frame, mark)]
        case Region():
            shapes = _region(frame, mark)
        case Bar():
            shapes = [_bar(frame, mark, panel)]
        case Swarm():
            shapes = _swarm(frame, mark, panel, series)
    return shapes


def _look(series: Series, number: int) -> str:
    """CSS class of a series."""
    return "base" if series.baseline else f"s{number % COLOURS}"


def _dot(frame: _Frame, mark: Dot, panel: Panel, series: Sequence[Series]) -> list[Html]:
    look = _look(series[mark.series], mark.series)
    place, sharing = panel.place_of(mark)
    step = min(_DODGE, (_ROW - 7) / max(sharing - 1, 1))
    y = _row_middle(panel, mark.row) + step * (place - (sharing - 1) / 2)
    shapes = []
    if mark.x.interval is not None:
        low, high = (f"{frame.x(end):.1f}" for end in mark.x.interval)
        shapes.append(tag("line", x1=low, x2=high, y1=f"{y:.1f}", y2=f"{y:.1f}", class_=f"whisker {look}"))
    words = f"{mark.row.strip()}, {series[mark.series].name}: {estimate(mark.x)}"
    shape = _shape(series[mark.series], frame.x(mark.x.value), y, f"mark {look}{' hollow' if mark.hollow else ''}")
    return [*shapes, tag("g", tag("title", words), shape)]


def _row_middle(panel: Panel, row: str) -> float:
    return _TOP + _ROW * (panel.rows.index(row) + 0.5)


def _bar(frame: _Frame, mark: Bar, panel: Panel) -> Html:
    y, half = _row_middle(panel, mark.row), _ROW / 2 - 4
    (left, right), (top, bottom) = (frame.x(mark.start), frame.x(mark.end)), (y - half, y + half)
    outline = f"M{left:.1f} {top:.1f}H{right:.1f}V{bottom:.1f}H{left:.1f}Z"
    return tag("path", tag("title", f"{mark.row.strip()}: {mark.label}"), d=outline, class_=f"bar {mark.sign}")


def _swarm(frame: _Frame, mark: Swarm, panel: Panel, series: Sequence[Series]) -> list[Html]:
    look, y = _look(series[mark.series], mark.series), _row_middle(panel, mark.row)
    return [_shape(series[mark.series], frame.x(value), y, f"mark small {look}") for value in mark.values]


def _line(frame: _Frame, mark: Line, series: Sequence[Series]) -> list[Html]:
    look = _look(series[mark.series], mark.series)
    shapes = []
    if any(value.interval is not None for value in mark.y):
        # where all values are equal there is no interval, and the band has no width
        ends = [(x, value.interval or (value.value,) * 2) for x, value in zip(mark.x, mark.y, strict=True)]
        outline = [(x, high) for x, (_, high) in ends] + [(x, low) for x, (low, _) in reversed(ends)]
        shapes.append(tag("path", d=frame.path(outline, closed=True), class_=f"band {look}"))
    points = [(x, value.value) for x, value in zip(mark.x, mark.y, strict=True)]
    shapes.append(tag("path", d=frame.path(points), class_=f"line {look}"))
    for x, value in zip(mark.x, mark.y, strict=True):
        words = f"{series[mark.series].name} at {x:.4g}: {estimate(value)}"
        shape = _shape(series[mark.series], frame.x(x), frame.y(value.value), f"mark small {look}")
        shapes.append(tag("g", tag("title", words), shape))
    return shapes


def _point(frame: _Frame, mark: Point, series: Sequence[Series]) -> list[Html]:
    look = _look(series[mark.series], mark.series)
    x, y = frame.x(mark.x.value), frame.y(mark.y.value)
    shapes = [
        tag("line", x1=f"{x1:.1f}", x2=f"{x2:.1f}", y1=f"{y1:.1f}", y2=f"{y2:.1f}", class_=f"whisker {look}")
        for x1, x2, y1, y2 in _crosshair(frame, mark, x, y)
    ]
    words = f"{mark.label}: {estimate(mark.x)}, {estimate(mark.y)}"
    shapes.append(tag("g", tag("title", words), _shape(series[mark.series], x, y, f"mark {look}")))
    return shapes


def _point_labels(frame: _Frame, points: Sequence[Point]) -> Iterator[Html]:
    """Labels next to their points, on the first side where they cover neither another point nor another label."""
    dots = [(frame.x(point.x.value), frame.y(point.y.value)) for point in points]
    taken: list[tuple[float, float, float]] = []
    for point, (x, y) in zip(points, dots, strict=True):
        if not point.label:
            continue
        width = text_width(point.label, TICK)
        sides = [(x + 8, y - 6), (x - 8 - width, y - 6), (x + 8, y + 12), (x - 8 - width, y + 12), (x + 8, y - 18)]
        inside = [side for side in sides if frame.left <= side[0] and side[0] + width <= frame.right + _RIGHT]
        others = [dot for dot in dots if dot != (x, y)]
        free = [side for side in inside if not _covers(side, width, others) and not _touches(side, width, taken)]
        left, base = (free or inside or sides)[0]
        taken.append((left, base, width))
        yield fitted(point.label, width, x=f"{left:.1f}", y=f"{base:.1f}", class_="tick")


def _covers(side: tuple[float, float], width: float, dots: Sequence[tuple[float, float]]) -> bool:
    left, base = side
    return any(left - 5 < x < left + width + 5 and base - TICK - 4 < y < base + 4 for x, y in dots)


def _touches(side: tuple[float, float], width: float, taken: Sequence[tuple[float, float, float]]) -> bool:
    left, base = side
    return any(
        left < other + room and other < left + width and abs(base - below) < TICK for other, below, room in taken
    )


def _crosshair(frame: _Frame, mark: Point, x: float, y: float) -> Iterator[tuple[float, float, float, float]]:
    if mark.x.interval is not None:
        yield frame.x(mark.x.interval[0]), frame.x(mark.x.interval[1]), y, y
    if mark.y.interval is not None:
        yield x, x, frame.y(mark.y.interval[0]), frame.y(mark.y.interval[1])


def _rule(frame: _Frame, mark: Rule) -> Html:
    if mark.axis == "x":
        x = f"{frame.x(mark.value):.1f}"
        ends = {"x1": x, "x2": x, "y1": f"{frame.top:.0f}", "y2": f"{frame.bottom:.1f}"}
    else:
        y = f"{frame.y(mark.value):.1f}"
        ends = {"x1": f"{frame.left:.0f}", "x2": f"{frame.right:.0f}", "y1": y, "y2": y}
    return tag("line", tag("title", mark.label), **ends, class_="rule")


def _region(frame: _Frame, mark: Region) -> list[Html]:
    """Slanted lines inside a range; no pattern definition, whose id would have to be unique in the page."""
    left, right = frame.x(mark.start), frame.x(mark.end)
    height = frame.bottom - frame.top
    lines = []
    start = left - height
    while start < right:
        first, last = max(start, left), min(start + height, right)
        if last > first:
            y1, y2 = frame.bottom - (first - start), frame.bottom - (last - start)
            lines.append(f"M{first:.1f} {y1:.1f}L{last:.1f} {y2:.1f}")
        start += _HATCH
    return [tag("g", tag("title", mark.label), tag("path", d="".join(lines)), class_="hatch")]


def _shape(series: Series, x: float, y: float, look: str) -> Html:
    """The shape of a series around a point."""
    paths = {
        "square": "M-4.2 -4.2H4.2V4.2H-4.2Z",
        "triangle": "M0 -5.4L5.2 3.9L-5.2 3.9Z",
        "diamond": "M0 -5.6L5.6 0L0 5.6L-5.6 0Z",
        "cross": "M-4 -4L4 4M-4 4L4 -4",
    }
    place = f"translate({x:.1f} {y:.1f})"
    if series.shape == "circle":
        return tag("circle", r="4.6", transform=place, class_=look)
    return tag("path", d=paths[series.shape], transform=place, class_=look)


def swatch(series: Series, number: int) -> Html:
    """The shape of a series alone, for the legend."""
    sign = _shape(series, 7, 7, f"mark {_look(series, number)}")
    return tag("svg", sign, class_="chart swatch", width=14, height=14, aria_hidden="true")


def _spoken(panel: Panel, series: Sequence[Series]) -> str:
    """The panel for readers who cannot see it."""
    if panel.description:
        return panel.description
    words = []
    for mark in panel.marks:
        if isinstance(mark, Dot):
            words.append(f"{mark.row.strip()}, {series[mark.series].name}: {estimate(mark.x)}")
        elif isinstance(mark, Point):
            words.append(f"{mark.label}: {estimate(mark.x)}, {estimate(mark.y)}")
        elif isinstance(mark, Line):
            words.append(f"{series[mark.series].name}: from {estimate(mark.y[0])} to {estimate(mark.y[-1])}")
    return f"{panel.title}. {'; '.join(words)}."
