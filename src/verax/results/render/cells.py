"""Cells of a table as text for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from verax.results.render.numbers import MISSING, bracketed, count, number, p_value, percent
from verax.results.table import Cell, Column, Table
from verax.types import Estimate


class Written(NamedTuple):
    """The parts of a cell as text."""

    marks: str
    value: str
    interval: str = ""
    difference: str = ""

    @property
    def line(self) -> str:
        """Everything but the difference on one line."""
        return " ".join(filter(None, (self.marks, self.value, self.interval)))


def write(column: Column, cell: Cell) -> Written:
    """A cell as people read it."""
    marks, value = "".join(mark.symbol for mark in cell.marks), cell.value
    writer = _writer(column)
    gap = "" if cell.difference is None else f"Δ {_change(column, cell.difference)}"
    if value is None:
        return Written(marks, cell.reason or MISSING, "", gap)
    if isinstance(value, Estimate):
        return Written(marks, writer(value.value), bracketed(value, writer), gap)
    if isinstance(value, str | bool):
        return Written(marks, cell.shown or (value if isinstance(value, str) else "yes" if value else "no"))
    if column.format == "count" or (isinstance(value, int) and column.format != "percent"):
        return Written(marks, count(int(value)), "", gap)
    return Written(marks, writer(value), "", gap)


def _writer(column: Column) -> Callable[[float | None], str]:
    return {"percent": percent, "p_value": p_value}.get(column.format, number)


def _change(column: Column, difference: Estimate) -> str:
    scale, decimals = (100, 1) if column.format == "percent" else (1, 3)
    value = round(scale * difference.value, decimals) + 0.0  # no negative zero
    return f"{value:+.{decimals}f} {bracketed(difference, _writer(column))}".rstrip()


def is_numeric(column: Column) -> bool:
    """Whether a column is aligned to the right."""
    return column.format not in {"text", "flags"}


class VerdictLine(NamedTuple):
    """A row of a verdict in words."""

    section: str
    name: str
    verdict: str
    facts: str = ""

    @property
    def words(self) -> str:
        """The verdict, and what it follows from."""
        return "; ".join(filter(None, (self.verdict, self.facts)))


def verdict_lines(table: Table) -> list[VerdictLine]:
    """One line for each row: its name, the verdict, and what it follows from."""
    name, verdict, *rest = table.shown
    lines = []
    for row in table.rows:
        written = [
            (table.columns[place].title.lower(), write(table.columns[place], row.cells[place])) for place in rest
        ]
        facts = [f"{title} {cell.line}" for title, cell in written if cell.line not in {"", MISSING}]
        head, judged = (write(table.columns[place], row.cells[place]).line for place in (name, verdict))
        lines.append(VerdictLine(row.section, head, judged, "; ".join(facts)))
    return lines
