"""The unified framework drawn as inline SVG: a panel for each property, all on the same rows, 0 is random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from verax.report.plot import Axis, axis_over
from verax.report.text_width import TICK, label
from verax.report.unified_words import BASE_NAMES, KIND_NAMES, UNITS, gain
from verax.results.render.markup import Html, tag
from verax.stats.unified import Cell, Property, Unified, holds_zero
from verax.types import Base, Estimate, Kind

_ROW, _GROUP, _TOP, _FOOT = 21.0, 10.0, 4.0, 40.0
_NAMES = 126
_WIDE = 5
_INDENT = 26
_KIND_SIZE, _NAME_SIZE = 12.5, 12.0


class Row(NamedTuple):
    """Where one kind of one base stands; without a base, where the name of the kind does."""

    y: float
    kind: Kind
    base: Base | None


def rows_of(found: Unified) -> list[Row]:
    """The rows that all panels share, grouped by kind; random is the line that they are measured from."""
    bases = [base for base in found.bases() if base != "random"]
    rows, y = [], _TOP
    for kind in found.kinds():
        for base in (None, *bases):
            rows.append(Row(y + _ROW / 2, kind, base))
            y += _ROW
        y += _GROUP
    return rows


def _height(rows: list[Row]) -> float:
    return rows[-1].y + _ROW / 2 + _FOOT


def names(found: Unified) -> Html:
    """The names of the rows, each base with its sign."""
    rows = rows_of(found)
    shapes: list[Html] = []
    for row in rows:
        if row.base is None:
            shapes.append(label(KIND_NAMES[row.kind], _KIND_SIZE, x=0, y=f"{row.y + 4:.1f}", class_="kind"))
        else:
            shapes.append(_mark(row.base, "12", row.y))
            named = "Int. gradients" if row.base == "integrated_gradients" else BASE_NAMES[row.base]
            shapes.append(label(named, _NAME_SIZE, x=_INDENT, y=f"{row.y + 4:.1f}", class_="tick"))
    return tag("svg", shapes, class_="plot names", width=_NAMES, height=f"{_height(rows):.0f}", aria_hidden="true")


def panel(found: Unified, one: Property, title: str) -> Html:
    """One property: how far each explanation is from random, better to the right, with its interval."""
    rows = rows_of(found)
    cells = {(cell.kind, cell.base): better(one, cell) for cell in one.cells}
    met = [end for value in cells.values() if value is not None for end in value if end is not None]
    axis = axis_over([0.0, *met])
    bottom = rows[-1].y + _ROW / 2
    # where panels are narrow only every other number has room
    shapes = [] if axis is None else [*_scale(axis, bottom, every=1 if len(found.properties) <= _WIDE else 2)]
    for row in rows:
        if row.base is not None and axis is not None:
            shapes += _effect(axis, row, cells.get((row.kind, row.base)))
    foot = f"{bottom + 32:.1f}"
    shapes.append(label("← worse", TICK, x="6%", y=foot, class_="tick way"))
    shapes.append(label("better →", TICK, x="94%", y=foot, text_anchor="end", class_="tick way"))
    said = f"{title}, difference from random ({UNITS[one.name]}; right is better). {_said(rows, cells)}"
    return tag(
        "svg", shapes, class_="plot effect", width="100%", height=f"{_height(rows):.0f}", role="img", aria_label=said
    )


def better(one: Property, cell: Cell) -> Estimate | None:
    """The difference from random, turned round where lower is better."""
    gap = cell.difference
    if gap is None or one.higher_is_better:
        return gap
    return Estimate(-gap.value + 0.0, None if gap.high is None else -gap.high, None if gap.low is None else -gap.low)


def _scale(axis: Axis, bottom: float, every: int) -> Iterator[Html]:
    """Ticks with their numbers, counted from 0, and the line that random stands on."""
    zero = axis.ticks.index(0.0)
    for place, tick in enumerate(axis.ticks):
        yield tag("line", x1=axis.at(tick), x2=axis.at(tick), y1=0, y2=f"{bottom:.1f}", class_="grid")
        if (place - zero) % every:
            continue
        number = f"{tick:+.6g}" if tick else "0"
        yield label(number, TICK, x=axis.at(tick), y=f"{bottom + 15:.1f}", text_anchor="middle", class_="tick")
    yield tag("line", x1=axis.at(0.0), x2=axis.at(0.0), y1=0, y2=f"{bottom + 3:.1f}", class_="random")


def _effect(axis: Axis, row: Row, value: Estimate | None) -> Iterator[Html]:
    """Estimate and sign of one explanation; hollow where the interval holds 0."""
    base = row.base or "random"
    y = f"{row.y:.1f}"
    if value is None:
        yield label("no value", TICK, x=axis.at(0.0), y=f"{row.y + 4:.1f}", dx=6, class_="tick none")
        return
    if value.low is not None and value.high is not None:
        yield tag("line", x1=axis.at(value.low), x2=axis.at(value.high), y1=y, y2=y, class_=f"whisker {base}")
    yield _mark(base, axis.at(value.value), row.y, hollow=holds_zero(value))
    said = tag("title", f"{KIND_NAMES[row.kind]}, {BASE_NAMES[base]}: {gain(value)}")
    yield tag("rect", said, x=0, y=f"{row.y - _ROW / 2:.1f}", width="100%", height=f"{_ROW:.1f}", class_="probe")


def _mark(base: Base, x: str, y: float, *, hollow: bool = False) -> Html:
    """The sign of a base: circle, square or triangle, so that no colour is needed to tell them apart."""
    shapes: dict[Base, Html] = {
        "shapley": tag("circle", r="4.6"),
        "attention": tag("rect", x="-4.2", y="-4.2", width="8.4", height="8.4"),
        "integrated_gradients": tag("path", d="M0 -5.4L5.2 3.9L-5.2 3.9Z"),
    }
    look = f"plot mark {base}{' hollow' if hollow else ''}"
    return tag("svg", shapes[base], x=x, y=f"{y:.1f}", class_=look)


def swatch(base: Base, *, hollow: bool = False) -> Html:
    """A sign alone, for the key."""
    return tag(
        "svg", _mark(base, "7", 7.0, hollow=hollow), class_="plot swatch", width=14, height=14, aria_hidden="true"
    )


def _said(rows: list[Row], cells: dict[tuple[Kind, Base], Estimate | None]) -> str:
    """The drawing for who can't see it."""
    said = []
    for row in rows:
        if row.base is not None:
            value = cells.get((row.kind, row.base))
            said.append(f"{KIND_NAMES[row.kind]}, {BASE_NAMES[row.base]}: {gain(value) if value else 'no value'}")
    return f"{'; '.join(said)}."
