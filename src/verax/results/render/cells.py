"""Cells as text: the one place that decides how a value of a table is written for people."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from verax.results.render.numbers import MISSING, bracketed, change, count, number, p_value, percent
from verax.results.table import Cell, Column
from verax.types import Estimate


class Written(NamedTuple):
    """A cell in words: its marks, its value, its interval, its difference from the baseline."""

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
    ends = bracketed(difference, _writer(column))
    value = f"{100 * difference.value:+.1f}" if column.format == "percent" else change(difference.value)
    return f"{value} {ends}".rstrip()


def is_numeric(column: Column) -> bool:
    """Whether a column is aligned to the right."""
    return column.format not in {"text", "flags"}
