"""Figures on a page: plots with their marks, and the legend below them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from verax.results.figure import AnyMark, Area, Bar, Dot, Figure, Line, Panel, Point, Region, Rule, Scale, Series, Swarm
from verax.results.render.paper.canvas import (
    GRID,
    INK,
    LINE,
    QUIET,
    TITLE,
    Page,
    own_settings,
    width_of,
    wrapped,
)
from verax.results.render.paper.layout import DODGE, EDGE, GAP, INDENT, Placed, place, y_label

COLOURS = ("#084c8d", "#d4690a", "#1d6b4f", "#9a4bb0", "#8f8400", "#c2314f")
"""Of different lightness where they follow each other."""
SIGNS = {"positive": ("#e67800", ""), "negative": ("#5aa9d6", "////"), "unsigned": ("#7d5fa8", "")}
"""Colour and hatching of bars: without colour, hatching tells what opposes."""
_AREAS = {"positive": ("#5aa9d6", ""), "negative": ("#e67800", "....")}
_BASELINE = "#6e6e6e"
_MARKERS = {"circle": "o", "square": "s", "triangle": "^", "diamond": "D", "cross": "X"}
_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.2, 1.2, 1.2)), (0, (1.2, 1.2)), (0, (4, 1.5)), (0, (8, 2)), (0, (2, 3)))
_RULES: tuple[Any, ...] = ((0, (4, 2.5)), (0, (1, 1.8)), (0, (6, 1.5, 1, 1.5)))
_MARK, _SMALL, _DOT = 4.2, 2.8, 2.4
_MOST_MARKERS = 15
_HANDLE = 0.2
_KEY_GAP = 0.16
_BACKGROUND = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.3}
"""Of labels, below which lines may pass."""
_POINTS = 72.0


def draw(figure: Figure, width: float, *, title: bool = True) -> Page:
    """A figure on a page of some width in inches, as high as it needs to be."""
    with own_settings():
        page = _draw(figure, width, title=title)
    page.warn_of_missing_glyphs()
    return page


def _draw(figure: Figure, width: float, *, title: bool) -> Page:
    repeated = [panel.title for panel in figure.panels] == [figure.title]
    heading = wrapped(figure.title, width - 2 * EDGE, TITLE, bold=True) if title and not repeated else []
    notes = wrapped(figure.caption, width - 2 * EDGE) if title else []
    top = EDGE + LINE * 1.15 * len(heading) + LINE * len(notes) + (0.08 if heading or notes else 0.0)
    placed = place(figure.panels, width, top)
    end = max([top, *(one.bottom for one in placed)])
    keys = list(_keys(figure, width))
    words = [line for text in figure.legend for line in wrapped(text, width - 2 * EDGE)]
    height = end + GAP * bool(keys or words) + LINE * (len(keys) + len(words)) + EDGE / 2
    page = Page(width, height, figure.title)
    y = EDGE + LINE / 2
    for line in heading:
        page.write(EDGE, y, line, size=TITLE, bold=True)
        y += LINE * 1.15
    for line in notes:
        page.write(EDGE, y, line, color=QUIET)
        y += LINE
    rules = _rules(figure)
    for one in placed:
        _Plot(page, one, figure.series, rules).draw()
    y = end + GAP + LINE / 2
    for row in keys:
        for x, handle, name in row:
            handle(page, x, y)
            page.write(x + _HANDLE + 0.04, y, name)
        y += LINE
    for line in words:
        page.write(EDGE, y, line, color=QUIET)
        y += LINE
    return page


# -- legend -------------------------------------------------------------------------------------------------------

_Handle = Callable[[Page, float, float], None]


def _rules(figure: Figure) -> list[str]:
    """The labels of reference lines, each once; their order gives the dashes."""
    labels = [mark.label for panel in figure.panels for mark in panel.marks if isinstance(mark, Rule) and mark.label]
    return list(dict.fromkeys(labels))


def _keys(figure: Figure, width: float) -> Iterator[list[tuple[float, _Handle, str]]]:
    """The rows of the legend: x, what draws the sign, and the name of each entry."""
    marks = [mark for panel in figure.panels for mark in panel.marks]
    lines = any(isinstance(mark, Line) for mark in marks)
    used = {mark.series for mark in marks if isinstance(mark, Dot | Line | Point | Swarm)}
    entries: list[tuple[_Handle, str]] = [
        (_series_handle(one, number, with_line=lines), one.name)
        for number, one in enumerate(figure.series)
        if number in used and len(used) > 1
    ]
    entries += [(_rule_handle(number), label) for number, label in enumerate(_rules(figure))]
    room, x = width - EDGE, EDGE
    row: list[tuple[float, _Handle, str]] = []
    for handle, name in entries:
        first, *rest = wrapped(name, room - EDGE - _HANDLE - 0.04) or [" "]
        needed = _HANDLE + 0.04 + width_of(first)
        if row and (x + needed > room or rest):
            yield row
            row, x = [], EDGE
        row.append((x, handle, first))
        x += needed + _KEY_GAP
        for line in rest:
            yield row
            row, x = [(EDGE, lambda *_: None, line)], room
    if row:
        yield row


def _series_handle(series: Series, number: int, *, with_line: bool) -> _Handle:
    def handle(page: Page, x: float, y: float) -> None:
        if with_line:
            page.line([x, x + _HANDLE], [y, y], color=_colour(series, number), linestyle=_dashes(number), linewidth=1.1)
        page.line([x + _HANDLE / 2], [y], **_marker(series, number))

    return handle


def _rule_handle(number: int) -> _Handle:
    def handle(page: Page, x: float, y: float) -> None:
        page.line([x, x + _HANDLE], [y, y], **_rule_look(number))

    return handle


def _colour(series: Series, number: int) -> str:
    return _BASELINE if series.baseline else COLOURS[number % len(COLOURS)]


def _dashes(number: int) -> Any:
    return _DASHES[number % len(_DASHES)]


def _marker(series: Series, number: int, size: float = _MARK, *, hollow: bool = False) -> dict[str, Any]:
    """The look of a mark."""
    colour = _colour(series, number)
    face = "white" if hollow else colour
    return {
        "marker": _MARKERS[series.shape],
        "markersize": size,
        "markerfacecolor": face,
        "markeredgecolor": colour,
        "markeredgewidth": 0.9 if hollow else 0.5,
        "linestyle": "none",
    }


def _rule_look(number: int) -> dict[str, Any]:
    return {"color": QUIET, "linestyle": _RULES[number % len(_RULES)], "linewidth": 0.9}


# -- plots --------------------------------------------------------------------------------------------------------


class _Plot:
    """One panel on a page. Its coordinates are inches from the lower left corner of the plot, so that nothing moves."""

    def __init__(self, page: Page, placed: Placed, series: Sequence[Series], rules: list[str]) -> None:
        self.page, self.placed, self.series, self.rules = page, placed, series, rules
        self.panel: Panel = placed.panel
        self.width, self.height = placed.width, placed.plot_height

    def draw(self) -> None:
        """The title, the axes and the marks."""
        one = self.placed
        for number, line in enumerate([*one.head, *one.caption]):
            bold = number < len(one.head)
            color = INK if bold else QUIET
            self.page.write(one.head_left, one.top + LINE * (number + 0.5), line, bold=bold, color=color)
        if one.x_axis is None:
            self.page.write(one.plot_left, one.plot_top + LINE, "nothing to draw", color=QUIET)
            return
        self.axes = self._new_axes()
        self._x_ticks()
        self._y_ticks()
        self._names()
        for mark in self.panel.marks:
            self._mark(mark)
        self._point_labels()

    def _new_axes(self) -> Axes:
        one = self.placed
        width, height = self.page.size
        box = (one.plot_left / width, 1 - (one.plot_top + self.height) / height, self.width / width)
        axes = self.page.add_axes((*box, self.height / height), label=f"panel {len(self.page.axes)}")
        axes.set(xlim=(0, self.width), ylim=(0, self.height), xticks=[], yticks=[])
        axes.patch.set_visible(False)
        for side, spine in axes.spines.items():
            spine.set_visible(side == "bottom" or (side == "left" and not self.panel.rows))
            spine.set(color=QUIET, linewidth=0.6)
        return axes

    def x(self, value: float) -> float:
        """A value on the x axis; values beyond it are at its end."""
        axis, (left, right) = self.placed.x_axis, self.placed.pads
        share = 0.0 if axis is None else min(max(axis.share(value), 0.0), 1.0)
        return left + share * (self.width - left - right)

    def y(self, value: float) -> float:
        """A value on the y axis."""
        axis, pad = self.placed.y_axis, 0.04
        share = 0.5 if axis is None else min(max(axis.share(value), 0.0), 1.0)
        return pad + share * (self.height - 2 * pad)

    def middle(self, row: str) -> float:
        """The height of the centre of a row."""
        return self.height - self.placed.rows[row].middle

    def _x_ticks(self) -> None:
        one, axis, scale = self.placed, self.placed.x_axis, self.panel.x
        below = one.plot_top + self.height
        values = () if axis is None else axis.values
        named = _apart([(self.x(value), width_of(_tick(scale, value))) for value in values], self.width)
        for number, value in enumerate(values):
            at = self.x(value)
            self.axes.plot([at, at], [0, self.height], color=GRID, linewidth=0.5, zorder=0.4, gid="grid")
            if number in named:
                self.page.write(one.plot_left + at, below + 0.09, _tick(scale, value), ha="center")
        for number, line in enumerate(one.x_label):
            self.page.write(one.plot_left + self.width / 2, below + 0.17 + LINE * (number + 0.5), line, ha="center")

    def _y_ticks(self) -> None:
        one, axis, scale = self.placed, self.placed.y_axis, self.panel.y
        for value in () if axis is None else axis.values:
            at = self.y(value)
            self.axes.plot([0, self.width], [at, at], color=GRID, linewidth=0.5, zorder=0.4, gid="grid")
            self.page.write(one.plot_left - 0.04, one.plot_top + self.height - at, _tick(scale, value), ha="right")
        if axis is not None:
            centre = one.plot_top + self.height / 2
            for number, line in enumerate(y_label(self.panel)):
                place = {"ha": "center", "va": "center", "rotation": 90}
                self.page.write(one.left + LINE * (number + 0.5), centre, line, **place)

    def _names(self) -> None:
        one = self.placed
        for row in one.rows.values() if one.named else ():
            x = one.left + (0.0 if row.heading else INDENT)
            first = one.plot_top + row.middle - LINE * (len(row.lines) - 1) / 2
            for number, line in enumerate(row.lines):
                self.page.write(x, first + LINE * number, line, bold=row.heading)

    def _mark(self, mark: AnyMark) -> None:
        match mark:
            case Dot():
                self._dot(mark)
            case Line():
                self._line(mark)
            case Area():
                self._area(mark)
            case Point():
                self._point(mark)
            case Rule():
                self._rule(mark)
            case Region():
                self._region(mark)
            case Bar():
                self._bar(mark)
            case Swarm():
                self._swarm(mark)

    def _whisker(self, x: tuple[float, float], y: tuple[float, float], series: int) -> None:
        colour = _colour(self.series[series], series)
        self.axes.plot(x, y, color=colour, linewidth=1.1, solid_capstyle="butt", zorder=2.5, gid="whisker")

    def _sign(self, x: float, y: float, series: int, size: float = _MARK, *, hollow: bool = False) -> None:
        look = _marker(self.series[series], series, size, hollow=hollow)
        self.axes.plot([x], [y], **look, zorder=3, clip_on=False, gid="mark")

    def _dot(self, mark: Dot) -> None:
        place, sharing = self.panel.place_of(mark)
        y = self.middle(mark.row) - DODGE * (place - (sharing - 1) / 2)
        if mark.x.interval is not None:
            low, high = mark.x.interval
            self._whisker((self.x(low), self.x(high)), (y, y), mark.series)
        self._sign(self.x(mark.x.value), y, mark.series, hollow=mark.hollow)

    def _line(self, mark: Line) -> None:
        colour = _colour(self.series[mark.series], mark.series)
        xs, ys = [self.x(value) for value in mark.x], [self.y(one.value) for one in mark.y]
        if any(one.interval is not None for one in mark.y):
            ends = [one.interval or (one.value, one.value) for one in mark.y]
            low, high = ([self.y(end[side]) for end in ends] for side in (0, 1))
            self.axes.fill_between(xs, low, high, color=colour, alpha=0.18, linewidth=0, zorder=1.5, gid="band")
        look = _marker(self.series[mark.series], mark.series, _SMALL) | {"linestyle": _dashes(mark.series)}
        every = max(1, -(-len(xs) // _MOST_MARKERS))
        self.axes.plot(
            xs, ys, **look, color=colour, linewidth=1.1, markevery=every, zorder=2.6, clip_on=False, gid="line"
        )

    def _area(self, mark: Area) -> None:
        colour, hatch = _AREAS[mark.sign]
        xs = [self.x(value) for value in mark.x]
        low, high = ([self.y(value) for value in values] for values in (mark.lower, mark.upper))
        look: dict[str, Any] = {"facecolor": f"{colour}55", "edgecolor": colour, "hatch": hatch, "linewidth": 0.0}
        self.axes.fill_between(xs, low, high, **look, zorder=1, gid="area")

    def _point(self, mark: Point) -> None:
        for x, y in self._crosshair(mark):
            self._whisker(x, y, mark.series)
        self._sign(self.x(mark.x.value), self.y(mark.y.value), mark.series)

    def _crosshair(self, mark: Point) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
        """The intervals of a point: both x and both y of each."""
        x, y = self.x(mark.x.value), self.y(mark.y.value)
        if mark.x.interval is not None:
            yield (self.x(mark.x.interval[0]), self.x(mark.x.interval[1])), (y, y)
        if mark.y.interval is not None:
            yield (x, x), (self.y(mark.y.interval[0]), self.y(mark.y.interval[1]))

    def _rule(self, mark: Rule) -> None:
        look = _rule_look(self.rules.index(mark.label)) if mark.label else {"color": QUIET, "linewidth": 0.6}
        ends: tuple[list[float], list[float]] = (
            ([self.x(mark.value)] * 2, [0, self.height])
            if mark.axis == "x"
            else ([0, self.width], [self.y(mark.value)] * 2)
        )
        self.axes.plot(*ends, **look, zorder=2, gid="rule")

    def _region(self, mark: Region) -> None:
        left, right = self.x(mark.start), self.x(mark.end)
        look: dict[str, Any] = {"facecolor": "none", "edgecolor": "#9a9a9a", "hatch": "/////", "linewidth": 0}
        self.axes.add_patch(Rectangle((left, 0), right - left, self.height, **look, zorder=0.8, gid="region"))

    def _bar(self, mark: Bar) -> None:
        colour, hatch = SIGNS[mark.sign]
        left, right, y = self.x(mark.start), self.x(mark.end), self.middle(mark.row)
        look: dict[str, Any] = {"facecolor": colour, "edgecolor": INK if hatch else colour, "hatch": hatch}
        corner = (min(left, right), y - 0.048)
        self.axes.add_patch(Rectangle(corner, abs(right - left), 0.096, **look, linewidth=0.4, zorder=2.4, gid="bar"))
        if mark.label:
            side = 1 if mark.end >= mark.start else -1
            x = self.placed.plot_left + right + 0.03 * side
            y = self.placed.plot_top + self.height - y
            self.page.write(x, y, mark.label, ha="left" if side > 0 else "right", bbox=_BACKGROUND)

    def _swarm(self, mark: Swarm) -> None:
        """All swarms of a row are laid out together, when the last of them is drawn."""
        sharing = [other for other in self.panel.marks if isinstance(other, Swarm) and other.row == mark.row]
        if sharing[-1] is not mark:
            return
        dots = sorted((self.x(value), one.series) for one in sharing for value in one.values)
        heights = swarm_heights([x for x, _ in dots], _DOT / _POINTS, self.placed.rows[mark.row].height - 0.04)
        for one in sharing:
            own = [(x, y) for (x, series), y in zip(dots, heights, strict=True) if series == one.series]
            look = _marker(self.series[one.series], one.series, _DOT) | {"markeredgewidth": 0.0}
            ys = [self.middle(mark.row) + y for _, y in own]
            self.axes.plot([x for x, _ in own], ys, **look, alpha=0.8, zorder=3, clip_on=False, gid="swarm")

    def _point_labels(self) -> None:
        """Labels next to their points, on the side where they cover least: no point or label, and no interval."""
        points = [mark for mark in self.panel.marks if isinstance(mark, Point)]
        dots = [_around((self.x(mark.x.value),) * 2, (self.y(mark.y.value),) * 2) for mark in points]
        bars = [_around(*ends, 0.01) for mark in points for ends in self._crosshair(mark)]
        for mark in points:
            if not mark.label:
                continue
            x, y = self.x(mark.x.value), self.y(mark.y.value)
            width, half = width_of(mark.label), LINE / 2
            best: tuple[float, _Box] | None = None
            for dy, dx in product((0.08, -0.08, 0.2, -0.2), (0.05, -0.05)):
                left, base = x + dx - width * (dx < 0), y + dy
                box = (left, base - half, left + width, base + half)
                outside = left < 0 or box[2] > self.width + EDGE or box[1] < 0 or box[3] > self.height + half
                cost = 100 * outside + 10 * _touching(box, dots) + _touching(box, bars)
                if best is None or cost < best[0]:
                    best = cost, box
            if best is not None:
                left, bottom, _, top = best[1]
                dots.append(best[1])
                y = self.placed.plot_top + self.height - (bottom + top) / 2
                self.page.write(self.placed.plot_left + left, y, mark.label, bbox=_BACKGROUND)


def _tick(scale: Scale, value: float) -> str:
    return scale.tick(value).replace("-", "\N{MINUS SIGN}")


def _apart(labels: Sequence[tuple[float, float]], width: float) -> set[int]:
    """Which labels (middle, width) below an axis to write, so that they touch neither each other nor other plots."""
    kept: set[int] = set()
    last = -GAP / 2
    for number, (middle, room) in enumerate(labels):
        if middle - room / 2 >= last and middle + room / 2 <= width + GAP / 2:
            kept.add(number)
            last = middle + room / 2 + 0.05
    return kept or {len(labels) // 2}


_Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""


def _around(x: tuple[float, float], y: tuple[float, float], distance: float = 0.03) -> _Box:
    return min(x) - distance, min(y) - distance, max(x) + distance, max(y) + distance


def _touching(box: _Box, others: Sequence[_Box]) -> int:
    """How many boxes a box overlaps."""
    left, bottom, right, top = box
    return sum(left < other[2] and other[0] < right and bottom < other[3] and other[1] < top for other in others)


def swarm_heights(x: Sequence[float], size: float, room: float) -> list[float]:
    """How far above or below its row each dot is, so that dots of this size do not cover each other.

    Args:
        x: sorted.
        room: height of the row; where it does not suffice dots are closer to each other.
    """
    placed: list[tuple[float, float]] = []
    for at in x:
        near = [(other, y) for other, y in placed[-60:] if at - other < size]
        steps = [0.0, *(sign * step * size / 2 for step in range(1, 60) for sign in (1, -1))]
        free = (y for y in steps if all((at - a) ** 2 + (y - b) ** 2 >= 0.98 * size**2 for a, b in near))
        placed.append((at, next(free, steps[-1])))
    reach = max((abs(y) for _, y in placed), default=0.0) + size / 2
    scale = min(1.0, room / 2 / reach) if reach else 1.0
    return [y * scale for _, y in placed]
