"""Tables as data: defined once by a study, rendered in every format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from verax.types import Estimate

Format = Literal["text", "number", "percent", "count", "p_value", "flags"]
"""How a column is written for people; programs get full precision in every case."""
Value = str | int | float | bool | None


class Mark(NamedTuple):
    """A sign on a cell, such as "best".

    Args:
        name: for programs.
        symbol: one character, for people.
        meaning: the sentence that a legend shows.
    """

    name: str
    symbol: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Args:
        name: key in JSON and CSV.
        title: header; empty for a column that only JSON and CSV show.
        format: how values are written for people.
        plot: draw the estimates of the column on a common axis where the output can show it.
    """

    name: str
    title: str = ""
    format: Format = "number"
    plot: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table.

    Args:
        value: a plain value or an estimate; None together with `reason`. Flags are joined by `; `.
        reason: why there is no value; empty where none is expected.
        shown: what people read instead of a text value, such as a short display name.
        marks: signs on the value.
        difference: of the value from that of its baseline.
        details: further lines that an interactive output shows on request.
    """

    value: Value | Estimate = None
    reason: str = ""
    shown: str = ""
    marks: tuple[Mark, ...] = ()
    difference: Estimate | None = None
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table; the first cell names it.

    Args:
        cells: one for each column.
        baseline: whether the row is a baseline that others are compared with.
        compared_with: index of the row that is the baseline of this one.
        section: rows of one section belong together; a rule separates it from the next.
    """

    cells: tuple[Cell, ...]
    baseline: bool = False
    compared_with: int | None = None
    section: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A table of results.

    Args:
        name: identifies the table within its study, such as `--table comprehensiveness`.
        title: the headline.
        columns: of each cell.
        rows: in display order.
        caption: what the table shows, in a sentence or two.
        notes: how to read it; often shared by the tables of a study, which show each note once.
        verdict: what follows from the table, in a sentence.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    verdict: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(f"{self.name}: {len(self.columns)} columns but a row of {len(row.cells)} cells")

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Each mark that occurs, once, for the legend."""
        return tuple(dict.fromkeys(mark for row in self.rows for cell in row.cells for mark in cell.marks))

    @property
    def shown(self) -> tuple[int, ...]:
        """The columns that people see."""
        return tuple(place for place, column in enumerate(self.columns) if column.title)

    def records(self) -> list[dict[str, Value]]:
        """One flat record per row, in full precision.

        An estimate `x` gives `x`, `x_low` and `x_high`; differences give `x_difference` with its ends, marks
        `x_marks`, and the reason of a missing value `x_reason`, where any cell of the column has one. A key that an
        earlier column has already gets an underscore.
        """
        extended = [self._extended(place) for place in range(len(self.columns))]
        records = []
        for row in self.rows:
            record: dict[str, Value] = {"section": row.section} if any(other.section for other in self.rows) else {}
            for column, cell, parts in zip(self.columns, row.cells, extended, strict=True):
                for key, value in _flat(column.name, cell, parts).items():
                    record[_unused(key, record)] = value
            records.append(record)
        return records

    def _extended(self, place: int) -> frozenset[str]:
        cells = [row.cells[place] for row in self.rows]
        found = {
            "estimate": any(isinstance(cell.value, Estimate) for cell in cells),
            "difference": any(cell.difference is not None for cell in cells),
            "marks": any(cell.marks for cell in cells),
            "reason": any(cell.reason for cell in cells),
        }
        return frozenset(name for name, present in found.items() if present)


def _unused(key: str, record: Mapping[str, Value]) -> str:
    while key in record:
        key += "_"
    return key


def _flat(name: str, cell: Cell, parts: frozenset[str]) -> dict[str, Value]:
    """The fields of one cell; every row of a table has the same ones."""
    value = cell.value
    flat: dict[str, Value] = {}
    if "estimate" in parts:
        flat |= _ends(name, value if isinstance(value, Estimate) else None)
    if not isinstance(value, Estimate):
        flat[name] = value
    if "difference" in parts:
        flat |= _ends(f"{name}_difference", cell.difference)
    if "marks" in parts:
        flat[f"{name}_marks"] = " ".join(mark.name for mark in cell.marks)
    if "reason" in parts:
        flat[f"{name}_reason"] = cell.reason or None
    return flat


def _ends(name: str, estimate: Estimate | None) -> dict[str, Value]:
    value, low, high = (None, None, None) if estimate is None else estimate
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def table_row(
    *values: Cell | Value | Estimate,
    baseline: bool = False,
    compared_with: int | None = None,
    section: str = "",
) -> Row:
    """A row from plain values, estimates and cells."""
    cells = tuple(value if isinstance(value, Cell) else Cell(value) for value in values)
    return Row(cells, baseline, compared_with, section)


def from_records(name: str, title: str, records: Sequence[Mapping[str, Value]], **titles: str) -> Table:
    """A table of equal records; `titles` names the columns that people see, all others are for programs."""
    names = list(records[0]) if records else list(titles)
    columns = tuple(
        Column(key, titles.get(key, ""), "text" if any(isinstance(row[key], str) for row in records) else "number")
        for key in names
    )
    return Table(name, title, columns, tuple(table_row(*(row[key] for key in names)) for row in records))
