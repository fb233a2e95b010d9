"""Tables in a terminal, as objects that rich prints.

Every name and text goes in as plain text: neither rich's markup nor a terminal's control codes mean anything in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text

from verax.results.render.cells import Written, is_numeric, write
from verax.results.render.markup import visible
from verax.results.study import Findings
from verax.results.table import Column, Table

_NARROW = 76
_LEAST_NAME = 14


def plain(raw: str, style: str | Style = "") -> Text:
    """A text from data as it reads, on one line."""
    return Text(visible(" ".join(raw.splitlines())).replace("\t", " "), style=style)


def show_findings(findings: Findings) -> RenderableType:
    """The sentences, tables and notes of a study; each note and mark is explained once."""
    shown: list[RenderableType] = [plain(line) for line in findings.sentences]
    shown += [Text()] if shown else []
    for table in findings.tables:
        shown += [Board(table), *([plain(table.verdict)] if table.verdict else [])]
        shown += [plain(table.caption, "dim")] if table.caption else []
        shown.append(Text())
    marks = dict.fromkeys(mark for table in findings.tables for mark in table.marks)
    shown += [plain(f"{mark.symbol} {mark.meaning}", "dim") for mark in marks]
    notes = dict.fromkeys(note for table in findings.tables for note in table.notes)
    return Group(*shown, *(plain(note, "dim") for note in notes))


@dataclass(frozen=True)
class Board:
    """A table that becomes a list of entries where the terminal is too narrow for its columns."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The table, or a list below 76 columns and where the names of the rows would be squeezed."""
        yield plain(self.table.title, "bold")
        heads, rows = _laid_out(self.table)
        widths = [2 + max(_width(cell) for cell in column) for column in zip(heads, *rows, strict=True)]
        squeezed = options.max_width - sum(widths[1:]) < min(_LEAST_NAME, widths[0])
        if options.max_width < _NARROW or squeezed:
            yield from self._listed()
        else:
            yield self._table(heads, rows)

    def _table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> RichTable:
        shown = RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
        for index, head in enumerate(heads):
            right = index > 0 and not (head and _text_column(self.table, head))
            shown.add_column(plain(head), justify="right" if right else "left", no_wrap=right, overflow="fold")
        for index, (row, cells) in enumerate(zip(self.table.rows, rows, strict=True)):
            if index and row.section != self.table.rows[index - 1].section:
                shown.add_section()
            best = any(mark.name == "best" for cell in row.cells for mark in cell.marks)
            shown.add_row(*map(_lines, cells), style="bold" if best else "")
        return shown

    def _listed(self) -> Iterable[RenderableType]:
        for row in self.table.rows:
            name, *rest = self.table.shown
            yield plain(write(self.table.columns[name], row.cells[name]).line)
            facts = [
                " ".join(filter(None, (self.table.columns[place].title, cell.line, cell.difference)))
                for place in rest
                for cell in [write(self.table.columns[place], row.cells[place])]
            ]
            yield Padding(plain(", ".join(facts)), (0, 0, 0, 4))


def _text_column(table: Table, title: str) -> bool:
    return any(column.title == title and not is_numeric(column) for column in table.columns)


def _laid_out(table: Table) -> tuple[list[str], list[list[str]]]:
    """Headers and cells; one column of estimates has its intervals beside it, several have them below."""
    columns = [table.columns[place] for place in table.shown]
    written = [[write(table.columns[place], row.cells[place]) for place in table.shown] for row in table.rows]
    with_interval = [any(row[place].interval for row in written) for place in range(len(columns))]
    if sum(with_interval) == 1:
        return _beside(columns, written, with_interval.index(True))
    stacked = [[_stacked(_named(cell), cell.interval, cell.difference) for cell in row] for row in written]
    return [column.title for column in columns], stacked


def _beside(
    columns: Sequence[Column], written: Sequence[Sequence[Written]], place: int
) -> tuple[list[str], list[list[str]]]:
    heads = [column.title for column in columns]
    rows = []
    for row in written:
        cells = [
            _named(cell) if number == place else _stacked(_named(cell), cell.difference)
            for number, cell in enumerate(row)
        ]
        cells.insert(place + 1, _stacked(row[place].interval, row[place].difference))
        rows.append(cells)
    return [*heads[: place + 1], "95 % interval", *heads[place + 1 :]], rows


def _stacked(*lines: str) -> str:
    return "\n".join(filter(None, lines))


def _named(cell: Written) -> str:
    value = " ".join(cell.value.splitlines())
    return f"{cell.marks}\N{NO-BREAK SPACE}{value}" if cell.marks else value


def _width(cell: str) -> int:
    return max((cell_len(line) for line in cell.split("\n")), default=0)


def _lines(cell: str) -> Text:
    return Text("\n").join(plain(line) for line in cell.split("\n"))
