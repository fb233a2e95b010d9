"""Evaluation across languages drawn as inline SVG: panels that share their rows, small dots for cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from verax.report.crosslingual_words import output_name, shown
from verax.report.plot import Axis, axis_over
from verax.results.render.markup import Html, tag
from verax.results.render.text_width import TICK, cut_to, label
from verax.stats.crosslingual import CrossLingual
from verax.stats.crosslingual_grids import Cell, Grid
from verax.types import Estimate

_ROW, _TOP, _FOOT = 26.0, 4.0, 22.0
_NAMES = 196
_NAME_SIZE = 12.0
_APART = 5.5
_SHAPES = ("circle", "square", "triangle")
"""Signs of the outputs, by their place, so that no colour is needed to tell them apart; more than three share them."""


class Line(NamedTuple):
    """A row of all panels: where it stands, and its name."""

    y: float
    name: str


def lines_of(found: CrossLingual) -> list[Line]:
    """A row for each method with its aggregation; the random one is a line through all of them."""
    names = [row for row, random, _ in found.rows(found.overall[0]) if not random]
    return [Line(_TOP + _ROW * (place + 0.5), name) for place, name in enumerate(names)]


def _height(lines: Sequence[Line]) -> float:
    return _TOP + _ROW * len(lines) + _FOOT


def names(found: CrossLingual) -> Html:
    """The names of the rows."""
    lines = lines_of(found)
    shapes = []
    for line in lines:
        name = cut_to(line.name, _NAMES - 4, _NAME_SIZE)
        shapes.append(label(name, _NAME_SIZE, tag("title", line.name), x=0, y=f"{line.y + 4:.1f}"))
    return tag(
        "svg", shapes, class_="plot names rows", width=_NAMES, height=f"{_height(lines):.0f}", aria_hidden="true"
    )


def axis_for(grids: Iterable[Grid]) -> Axis | None:
    """One axis for all values and intervals of some grids, with 0 on it where they are correlations."""
    met = [
        end
        for grid in grids
        for cell in grid.cells.values()
        if cell.value is not None
        for end in (*cell.value, 0.0 if grid.measure.name == "faithfulness" else None)
        if end is not None
    ]
    return axis_over(met)


def panel(found: CrossLingual, grid: Grid, axis: Axis, title: str) -> Html:
    """One measure: for each row a sign for each output with its interval; the random explanation is a grey line."""
    lines = lines_of(found)
    rows = {row: cells for row, _, cells in found.rows(grid)}
    bottom = _TOP + _ROW * len(lines)
    shapes = [*_scale(axis, bottom), *_random(found, grid, axis, bottom)]
    for line in lines:
        y = f"{line.y + _ROW / 2:.1f}"
        shapes.append(tag("line", x1=0, x2="100%", y1=y, y2=y, class_="grid"))
        shapes += _marks(found, line, rows.get(line.name, ()), axis)
    said = [f"{line.name}: {_said(found, rows.get(line.name, ()))}" for line in lines]
    return tag(
        "svg",
        shapes,
        class_="plot effect",
        width="100%",
        height=f"{_height(lines):.0f}",
        role="img",
        aria_label=f"{title}. {'; '.join(said)}.",
    )


def _scale(axis: Axis, bottom: float) -> Iterator[Html]:
    for tick in axis.ticks:
        yield tag("line", x1=axis.at(tick), x2=axis.at(tick), y1=0, y2=f"{bottom:.1f}", class_="grid")
        yield label(f"{tick:.6g}", TICK, x=axis.at(tick), y=f"{bottom + 15:.1f}", text_anchor="middle", class_="tick")


def _random(found: CrossLingual, grid: Grid, axis: Axis, bottom: float) -> Iterator[Html]:
    label = next((method.label for method in found.methods if method.random), None)
    cell = grid.cells.get(label) if label is not None else None
    if cell is None or cell.value is None:
        return
    value, low, high = cell.value
    if low is not None and high is not None:
        width = f"{axis.length(low, high):.2f}%"
        yield tag("rect", x=axis.at(low), y=0, width=width, height=f"{bottom:.1f}", class_="ribbon")
    yield tag("line", x1=axis.at(value), x2=axis.at(value), y1=0, y2=f"{bottom + 3:.1f}", class_="random")


def _marks(found: CrossLingual, line: Line, cells: Sequence[Cell | None], axis: Axis) -> Iterator[Html]:
    """The signs of one row, one below the other."""
    for place, cell in enumerate(cells):
        if cell is None or cell.value is None:
            continue
        at = line.y + _APART * (place - (len(cells) - 1) / 2) * (2 if len(cells) == 2 else 1.6)
        y = f"{at:.1f}"
        value, low, high = cell.value
        if low is not None and high is not None:
            yield tag("line", x1=axis.at(low), x2=axis.at(high), y1=y, y2=y, class_=f"whisker output{_look(place)}")
        yield _mark(place, axis.at(value), at, hollow=cell.like_random)
    said = tag("title", f"{line.name}: {_said(found, cells)}")
    yield tag("rect", said, x=0, y=f"{line.y - _ROW / 2:.1f}", width="100%", height=f"{_ROW:.1f}", class_="probe")


def _look(place: int) -> int:
    return place % len(_SHAPES)


def _mark(place: int, x: str, y: float, *, hollow: bool = False) -> Html:
    shapes = {
        "circle": tag("circle", r="4.4"),
        "square": tag("rect", x="-4", y="-4", width="8", height="8"),
        "triangle": tag("path", d="M0 -5.2L5 3.7L-5 3.7Z"),
    }
    look = f"plot mark output{_look(place)}{' hollow' if hollow else ''}"
    return tag("svg", shapes[_SHAPES[_look(place)]], x=x, y=f"{y:.1f}", class_=look)


def swatch(place: int, *, hollow: bool = False) -> Html:
    """A sign alone, for the key."""
    return tag(
        "svg", _mark(place, "7", 7.0, hollow=hollow), class_="plot swatch", width=14, height=14, aria_hidden="true"
    )


def _said(found: CrossLingual, cells: Sequence[Cell | None]) -> str:
    """A row for who can't see it."""
    return ", ".join(f"{output_name(output)} {shown(cell)}" for output, cell in zip(found.outputs, cells, strict=False))


def cell_svg(value: Estimate, axis: Axis) -> Html:
    """A dot with its interval on the axis that a whole table shares; the line is 0."""
    shapes = [tag("line", x1=axis.at(0.0), x2=axis.at(0.0), y1=0, y2="100%", class_="random")]
    if value.low is not None and value.high is not None:
        shapes.append(tag("line", x1=axis.at(value.low), x2=axis.at(value.high), y1="50%", y2="50%", class_="whisker"))
    shapes.append(tag("circle", cx=axis.at(value.value), cy="50%", r=3, class_="dot"))
    return tag("svg", shapes, class_="plot", width="100%", height=10, aria_hidden="true")
