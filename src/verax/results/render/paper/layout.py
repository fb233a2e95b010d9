"""Where the panels of a figure are on a page: in a grid of columns of equal plots, as high as their content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from verax.results.figure import Bar, Dot, Panel, Swarm, Ticks, extent, ticks_over
from verax.results.render.paper.canvas import LINE, width_of, wrapped

GAP = 0.14
"""Distance between panels in inches."""
INDENT = 0.08
"""Of the name of a row below a heading."""
INNER = 0.06
"""Distance of the outermost values from the edge of a plot, so that no mark is cut off."""
DODGE = 0.075
"""Distance of marks that share a row."""
EDGE = 0.1
_MOST_COLUMNS = 4
_LEAST_ROWS, _LEAST_NUMERIC = 0.7, 1.2
"""Width of the narrowest plot."""
_NUMERIC_HEIGHT = 1.3
_ROW, _SWARM_ROW, _PAD = 0.155, 0.24, 0.03
_TICKS = 0.17
_Y_LABEL = 0.16


@dataclass(frozen=True)
class Row:
    """A row of a panel: its name in lines, and where it is below the upper edge of the plot."""

    lines: tuple[str, ...]
    heading: bool
    top: float
    height: float

    @property
    def middle(self) -> float:
        """Distance of its centre from the upper edge of the plot."""
        return self.top + self.height / 2


@dataclass(frozen=True)
class Placed:
    """A panel with the place of its plot, in inches from the upper left corner of the page.

    Args:
        named: whether the names of its rows are written, or those of the panel on its left are meant.
    """

    panel: Panel
    left: float
    plot_left: float
    top: float
    width: float
    named: bool
    names_room: float

    @cached_property
    def x_axis(self) -> Ticks | None:
        """The x axis; None where there is nothing to draw."""
        return ticks_over(extent(self.panel.marks, "x"), self.panel.x.low, self.panel.x.high)

    @cached_property
    def y_axis(self) -> Ticks | None:
        """The y axis; None for rows."""
        return None if self.panel.rows else y_axis(self.panel)

    @cached_property
    def head(self) -> list[str]:
        """The lines of the title."""
        return wrapped(self.panel.title, self._room, bold=True)

    @cached_property
    def caption(self) -> list[str]:
        """The lines below the title."""
        return wrapped(self.panel.caption, self._room)

    @cached_property
    def x_label(self) -> list[str]:
        """The lines below the ticks."""
        return wrapped(self.panel.x.words, self.width)

    @property
    def _room(self) -> float:
        return self.width + (self.plot_left - self.left if self.named or not self.panel.rows else 0.0)

    @property
    def head_left(self) -> float:
        """The left end of the title."""
        return self.left if self.named or not self.panel.rows else self.plot_left

    @property
    def plot_top(self) -> float:
        """The upper edge of the plot."""
        return self.top + LINE * (len(self.head) + len(self.caption)) + 0.06

    @cached_property
    def rows(self) -> dict[str, Row]:
        """The rows by name, from top to bottom."""
        return rows_of(self.panel, self.names_room)

    @property
    def plot_height(self) -> float:
        """Height of the plot."""
        return sum(row.height for row in self.rows.values()) if self.panel.rows else _NUMERIC_HEIGHT

    @property
    def bottom(self) -> float:
        """The lower edge of everything that belongs to the panel."""
        return self.plot_top + self.plot_height + _TICKS + LINE * len(self.x_label)

    @cached_property
    def pads(self) -> tuple[float, float]:
        """Room on the left and on the right of the outermost values: for labels of bars more than for marks."""
        ends = {-1: INNER, 1: INNER}
        for mark in self.panel.marks:
            if isinstance(mark, Bar) and mark.label:
                side = 1 if mark.end >= mark.start else -1
                ends[side] = max(ends[side], width_of(mark.label) + 0.06)
        return ends[-1], ends[1]


def y_axis(panel: Panel) -> Ticks | None:
    """The axis of a plot of numbers."""
    return ticks_over(extent(panel.marks, "y"), panel.y.low, panel.y.high)


def rows_of(panel: Panel, room: float) -> dict[str, Row]:
    """The rows of a panel whose names have so much room."""
    swarms = any(isinstance(mark, Swarm) for mark in panel.marks)
    sharing: dict[str, int] = {}
    for mark in panel.marks:
        if isinstance(mark, Dot):
            sharing[mark.row] = panel.place_of(mark)[1]
    rows: dict[str, Row] = {}
    top = 0.0
    for name in panel.rows:
        heading = name.startswith("# ")
        shown = name.removeprefix("# ")
        lines = wrapped(shown, room if heading else room - INDENT, bold=heading)
        least = _SWARM_ROW if swarms and not heading else _ROW
        height = max(least, LINE * len(lines) + _PAD, DODGE * sharing.get(name, 0) + 2 * _PAD)
        rows[name] = Row(tuple(lines), heading, top, height)
        top += height
    return rows


def _names_width(panel: Panel, most: float) -> float:
    """Room for the names of rows: that of the longest, within limits."""
    widths = [
        width_of(row.removeprefix("# ").strip(), bold=row.startswith("# ")) + INDENT * (not row.startswith("# "))
        for row in panel.rows
    ]
    return min(max(widths, default=0.0) + 0.05, most)


def _left_of(panel: Panel, page_width: float) -> float:
    """Room on the left of a plot: for the names of rows, or for the y axis."""
    if panel.rows:
        return _names_width(panel, 0.45 * page_width)
    axis = y_axis(panel)
    ticks = [] if axis is None else [width_of(panel.y.tick(value)) for value in axis.values]
    return _Y_LABEL * len(y_label(panel)) + max(ticks, default=0.0) + 0.06


def y_label(panel: Panel) -> list[str]:
    """The lines of the label of the y axis, which is written upwards."""
    return wrapped(panel.y.words, _NUMERIC_HEIGHT)


def place(panels: Sequence[Panel], width: float, top: float) -> list[Placed]:
    """Panels in as many columns as fit the width of the page, plots next to each other of one width.

    Equal rows of panels next to each other are named once.

    Args:
        top: the upper edge of the first panel.
    """
    if not panels:
        return []
    least = _LEAST_ROWS if all(panel.rows for panel in panels) else _LEAST_NUMERIC
    for most in range(min(len(panels), _MOST_COLUMNS), 0, -1):
        columns = -(-len(panels) // -(-len(panels) // most))  # as even as possible
        grid = [panels[start : start + columns] for start in range(0, len(panels), columns)]
        rooms = [[_room(line, column, width) for column in range(len(line))] for line in grid]
        plots = [(width - 2 * EDGE - sum(room) - GAP * (columns - 1)) / columns for room in rooms]
        if min(plots) >= least or columns == 1:
            break
    placed: list[Placed] = []
    for line, room, plot in zip(grid, rooms, plots, strict=True):
        level: list[Placed] = []
        left = EDGE
        for panel, names in zip(line, room, strict=True):
            level.append(Placed(panel, left, left + names, top, plot, names > 0, names or width))
            left += names + plot + GAP
        placed += _level(level)
        top = max(one.bottom for one in placed[-len(line) :]) + GAP
    return placed


def _room(line: Sequence[Panel], column: int, width: float) -> float:
    """Room on the left of a plot; none for the names of rows that the panel on the left has too."""
    panel = line[column]
    return 0.0 if column and panel.rows and panel.rows == line[column - 1].rows else _left_of(panel, width)


def _level(line: list[Placed]) -> list[Placed]:
    """Plots next to each other begin at the same height."""
    lowest = max(one.plot_top for one in line)
    names = {one.panel.rows: one.names_room for one in line if one.named}
    return [
        Placed(
            one.panel, one.left, one.plot_left, one.top + lowest - one.plot_top, one.width, one.named,
            names.get(one.panel.rows, one.names_room),
        )
        for one in line
    ]  # fmt: skip
