"""Tables as data: defined once by a study, rendered in every format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from verax.types import Estimate

CellFormat = Literal["text", "number", "percent", "count", "p_value", "flags"]
"""How values are written for people; JSON and CSV have full precision."""
Value = str | int | float | bool | None


class Mark(NamedTuple):
    """A sign on a cell, such as "best": its name in JSON and CSV, its symbol, and its meaning for the legend."""

    name: str
    symbol: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Args:
        name: key in JSON and CSV.
        title: header; empty for a column that only JSON and CSV show.
        plot: draw the estimates of the column on a common axis where the output can show it.
        marked: JSON and CSV have the marks of the column even where no cell has one.
    """

    name: str
    title: str = ""
    format: CellFormat = "number"
    plot: bool = False
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table.

    Args:
        value: a plain value or an estimate; None together with `reason`. Flags are joined by `; `.
        reason: why there is no value; empty where none is expected.
        shown: text for people instead of a text value, such as a display name.
        details: further lines that an interactive output shows on request.
    """

    value: Value | Estimate = None
    reason: str = ""
    shown: str = ""
    marks: tuple[Mark, ...] = ()
    difference: Estimate | None = None
    details: tuple[str, ...] = ()

    @property
    def stands_out(self) -> bool:
        """Whether it is highlighted: it may be best, and is not what may be no better than random."""
        names = {mark.name for mark in self.marks}
        return "best" in names and "like_random" not in names


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table; the first cell names it.

    Args:
        baseline: whether other rows are compared with this one.
        compared_with: index of the row that this one is compared with.
        section: rows of one section belong together; a rule separates it from the next.
        hollow: how estimates are drawn: hollow ones are not significantly different from what they are compared with.
    """

    cells: tuple[Cell, ...]
    baseline: bool = False
    compared_with: int | None = None
    section: str = ""
    hollow: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table of results.

    Args:
        name: identifies the table within its study, such as `--table comprehensiveness`.
        notes: how to read it; a note that several tables of a study share is shown once.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    verdict: str = ""

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row.cells) != len(self.columns):
                raise ValueError(f"{self.name}: {len(self.columns)} columns but a row of {len(row.cells)} cells")

    def __repr__(self) -> str:
        return (
            f"<Table {self.name}: {len(self.rows)} rows, columns {', '.join(column.name for column in self.columns)}>"
        )

    @property
    def marks(self) -> tuple[Mark, ...]:
        """Each mark that occurs, once, for the legend."""
        return tuple(dict.fromkeys(mark for row in self.rows for cell in row.cells for mark in cell.marks))

    @property
    def shown(self) -> tuple[int, ...]:
        """Numbers of the columns with a title."""
        return tuple(place for place, column in enumerate(self.columns) if column.title)

    def records(self) -> list[dict[str, Value]]:
        """One flat record per row, in full precision.

        An estimate `x` gives `x`, `x_low` and `x_high`, and `x_n`, its number of inputs, if that is known and the table
        has no column `n`. Differences give `x_difference` with its ends, marks `x_marks`, and the reason of a missing
        value `x_reason`, where any cell of the column has one. A key that an earlier column has already gets an
        underscore.
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
            "n": all(column.name != "n" for column in self.columns)
            and any(isinstance(cell.value, Estimate) and cell.value.n is not None for cell in cells),
            "difference": any(cell.difference is not None for cell in cells),
            "marks": self.columns[place].marked or any(cell.marks for cell in cells),
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
    if "n" in parts:
        flat[f"{name}_n"] = value.n if isinstance(value, Estimate) else None
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
    hollow: bool = False,
) -> TableRow:
    """A row from plain values, estimates and cells."""
    cells = tuple(value if isinstance(value, Cell) else Cell(value) for value in values)
    return TableRow(cells, baseline, compared_with, section, hollow)


def from_records(name: str, title: str, records: Sequence[Mapping[str, Value]]) -> Table:
    """A table of equal records for JSON and CSV; people do not see its columns."""
    names = list(records[0]) if records else []
    rows = tuple(table_row(*(row[key] for key in names)) for row in records)
    return Table(name, title, tuple(map(Column, names)), rows)
