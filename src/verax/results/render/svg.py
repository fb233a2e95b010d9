"""Figures as inline SVG. Colours come from the style sheet of the page; shapes alone tell series apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from verax.results.figure import Area, Dot, Line, Panel, Point, Region, Rule, Scale, Series, Ticks, extent, ticks_over
from verax.results.render.markup import Html, tag
from verax.results.render.numbers import estimate
from verax.types import Estimate

_WIDTH = 360.0
_PLOT_HEIGHT = 168.0
_ROW, _TOP, _FOOT = 21.0, 22.0, 34.0
_NAMES = 132.0
_LEFT, _RIGHT = 42.0, 10.0
_LONGEST_NAME = 22
_COLOURS = 6
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
    left = _NAMES if panel.rows else _LEFT
    y_axis = None if panel.rows else ticks_over(extent(panel.marks, "y"), panel.y.low, panel.y.high)
    frame = _Frame(left, _WIDTH - _RIGHT, _TOP, height, x_axis, y_axis)
    shapes = [*_x_grid(frame, panel.x), *_y_grid(frame, panel.y), *_names(panel)]
    for mark in panel.marks:
        shapes += _mark(frame, mark, panel, series)
    return tag(
        "svg",
        shapes,
        class_="chart",
        viewBox=f"0 0 {_WIDTH:.0f} {height + _FOOT:.0f}",
        role="img",
        aria_label=_spoken(panel, series),
    )


def _number(tick: float, scale: Scale) -> str:
    return f"{100 * tick:.4g}" if scale.percent else f"{tick:.4g}"


def _x_grid(frame: _Frame, scale: Scale) -> Iterator[Html]:
    for tick in frame.x_axis.values:
        x = f"{frame.x(tick):.1f}"
        yield tag("line", x1=x, x2=x, y1=round(frame.top), y2=f"{frame.bottom:.1f}", class_="grid")
        label = _number(tick, scale)
        yield tag("text", label, x=x, y=f"{frame.bottom + 14:.1f}", text_anchor="middle", class_="tick")
    words = scale.label
    if scale.better is not None:
        words = f"{words}, better →" if scale.better == "high" else f"← better, {words}"
    middle = (frame.left + frame.right) / 2
    yield tag("text", words, x=f"{middle:.1f}", y=f"{frame.bottom + 29:.1f}", text_anchor="middle", class_="tick way")


def _y_grid(frame: _Frame, scale: Scale) -> Iterator[Html]:
    if frame.y_axis is None:
        return
    for tick in frame.y_axis.values:
        y = frame.y(tick)
        yield tag("line", x1=round(frame.left), x2=round(frame.right), y1=f"{y:.1f}", y2=f"{y:.1f}", class_="grid")
        label = _number(tick, scale)
        yield tag("text", label, x=f"{frame.left - 5:.1f}", y=f"{y + 4:.1f}", text_anchor="end", class_="tick")
    yield tag("text", scale.label, x=2, y=12, class_="tick way")


def _names(panel: Panel) -> Iterator[Html]:
    for number, row in enumerate(panel.rows):
        y = f"{_TOP + _ROW * (number + 0.5) + 4:.1f}"
        heading = row.startswith("# ")
        name = row.removeprefix("# ").removeprefix("  ")
        short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
        x = 0 if heading else 10
        yield tag("text", tag("title", name), short, x=x, y=y, class_="kind" if heading else "tick")


def _mark(frame: _Frame, mark: object, panel: Panel, series: Sequence[Series]) -> list[Html]:
    match mark:
        case Dot():
            return _dot(frame, mark, panel, series)
        case Line():
            return _line(frame, mark, series)
        case Area():
            outline = [*zip(mark.x, mark.upper, strict=True), *zip(mark.x[::-1], mark.lower[::-1], strict=True)]
            return [tag("path", d=frame.path(outline, closed=True), class_=f"area {mark.sign}")]
        case Point():
            return _point(frame, mark, series)
        case Rule():
            return [_rule(frame, mark)]
        case Region():
            return _region(frame, mark)
    raise TypeError(f"{mark!r} is not a mark")


def _look(series: Sequence[Series], number: int) -> str:
    return "base" if series[number].baseline else f"s{number % _COLOURS}"


def _dot(frame: _Frame, mark: Dot, panel: Panel, series: Sequence[Series]) -> list[Html]:
    y, look = _TOP + _ROW * (panel.rows.index(mark.row) + 0.5), _look(series, mark.series)
    shapes = []
    if mark.x.interval is not None:
        low, high = (f"{frame.x(end):.1f}" for end in mark.x.interval)
        shapes.append(tag("line", x1=low, x2=high, y1=f"{y:.1f}", y2=f"{y:.1f}", class_=f"whisker {look}"))
    words = f"{mark.row.strip()}, {series[mark.series].name}: {estimate(mark.x)}"
    shape = _shape(series[mark.series], frame.x(mark.x.value), y, f"mark {look}{' hollow' if mark.hollow else ''}")
    return [*shapes, tag("g", tag("title", words), shape)]


def _line(frame: _Frame, mark: Line, series: Sequence[Series]) -> list[Html]:
    look = _look(series, mark.series)
    ends = [(x, value.interval) for x, value in zip(mark.x, mark.y, strict=True)]
    known = [(x, interval) for x, interval in ends if interval is not None]
    shapes = []
    if len(known) > 1:
        outline = [(x, high) for x, (_, high) in known] + [(x, low) for x, (low, _) in reversed(known)]
        shapes.append(tag("path", d=frame.path(outline, closed=True), class_=f"band {look}"))
    points = [(x, value.value) for x, value in zip(mark.x, mark.y, strict=True)]
    shapes.append(tag("path", d=frame.path(points), class_=f"line {look}"))
    for x, value in zip(mark.x, mark.y, strict=True):
        words = f"{series[mark.series].name} at {x:.4g}: {estimate(value)}"
        shape = _shape(series[mark.series], frame.x(x), frame.y(value.value), f"mark small {look}")
        shapes.append(tag("g", tag("title", words), shape))
    return shapes


def _point(frame: _Frame, mark: Point, series: Sequence[Series]) -> list[Html]:
    look = _look(series, mark.series)
    x, y = frame.x(mark.x.value), frame.y(mark.y.value)
    shapes = [
        tag("line", x1=f"{x1:.1f}", x2=f"{x2:.1f}", y1=f"{y1:.1f}", y2=f"{y2:.1f}", class_=f"whisker {look}")
        for x1, x2, y1, y2 in _crosshair(frame, mark, x, y)
    ]
    words = f"{mark.label}: {estimate(mark.x)}, {estimate(mark.y)}"
    shapes.append(tag("g", tag("title", words), _shape(series[mark.series], x, y, f"mark {look}")))
    if mark.label:
        end = x > frame.right - 40
        place = f"{x - 8:.1f}" if end else f"{x + 8:.1f}"
        anchor = "end" if end else "start"
        shapes.append(tag("text", mark.label, x=place, y=f"{y - 6:.1f}", text_anchor=anchor, class_="tick"))
    return shapes


def _crosshair(frame: _Frame, mark: Point, x: float, y: float) -> Iterator[tuple[float, float, float, float]]:
    if mark.x.interval is not None:
        yield frame.x(mark.x.interval[0]), frame.x(mark.x.interval[1]), y, y
    if mark.y.interval is not None:
        yield x, x, frame.y(mark.y.interval[0]), frame.y(mark.y.interval[1])


def _rule(frame: _Frame, mark: Rule) -> Html:
    if mark.axis == "x":
        x = f"{frame.x(mark.value):.1f}"
        return tag(
            "line", tag("title", mark.label), x1=x, x2=x, y1=round(frame.top), y2=f"{frame.bottom:.1f}", class_="rule"
        )
    y = f"{frame.y(mark.value):.1f}"
    return tag("line", tag("title", mark.label), x1=round(frame.left), x2=round(frame.right), y1=y, y2=y, class_="rule")


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
    """The sign of a series around a point."""
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
    """The sign of a series alone, for the legend."""
    look = "base" if series.baseline else f"s{number % _COLOURS}"
    sign = _shape(series, 7, 7, f"mark {look}")
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
            ends: list[Estimate] = [mark.y[0], mark.y[-1]]
            words.append(f"{series[mark.series].name}: from {estimate(ends[0])} to {estimate(ends[1])}")
    return f"{panel.title}. {'; '.join(words)}."
