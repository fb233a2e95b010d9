"""Tables in a terminal, as objects that rich prints.

Every name and text goes in as plain text: neither rich's markup nor a terminal's control codes mean anything in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.padding import Padding
from rich.style import Style
from rich.table import Table as RichTable
from rich.text import Text

from verax.results.render.cells import Written, is_numeric, verdict_lines, write
from verax.results.render.markup import visible
from verax.results.study import Findings
from verax.results.table import Column, Table

_NARROW = 76
_LEAST_NAME, _MOST_NAME = 14, 30
"""Columns that names of rows keep in a table that just fits, and in one that is split."""


def plain(raw: str, style: str | Style = "") -> Text:
    """A text from data as it reads, on one line."""
    return Text(visible(" ".join(raw.splitlines())).replace("\t", " "), style=style)


def grid() -> RichTable:
    """An empty table with a rule below its header."""
    return RichTable(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))


def show_results(headlines: Iterable[str], found: Sequence[Findings]) -> list[RenderableType]:
    """What was run, the verdict on each method, then every study, and what the verdict is based on."""
    shown: list[RenderableType] = [plain(line, "bold") for line in headlines]
    for findings in found:
        if findings.verdict is not None:
            shown += [Text(), *show_verdict(findings.verdict)]
    notes = dict.fromkeys(note for one in found if one.verdict is not None for note in one.verdict.notes)
    based = [Text(), *(plain(note, "dim") for note in notes)] if notes else []
    return [*shown, Text(), *map(show_findings, found), *based]


def show_verdict(table: Table) -> Iterable[RenderableType]:
    """A line for each row of a verdict."""
    yield plain(table.title, "bold")
    if table.verdict:
        yield plain(table.verdict)
    section = ""
    for line in verdict_lines(table):
        if line.section != section:
            section = line.section
            yield plain(section, "dim")
        yield plain(f"{line.name}: {line.words}")


def show_findings(findings: Findings) -> RenderableType:
    """The sentences, tables and notes of a study; each note and mark is explained once."""
    shown: list[RenderableType] = [plain(line) for line in findings.sentences]
    shown += [Text()] if shown else []
    for table in findings.tables:
        shown += [TerminalTable(table), *([plain(table.verdict)] if table.verdict else [])]
        shown += [plain(table.caption, "dim")] if table.caption else []
        shown.append(Text())
    marks = dict.fromkeys(mark for table in findings.tables for mark in table.marks)
    shown += [plain(f"{mark.symbol} {mark.meaning}", "dim") for mark in marks]
    notes = dict.fromkeys(note for table in findings.tables for note in table.notes)
    return Group(*shown, *(plain(note, "dim") for note in notes))


@dataclass(frozen=True)
class TerminalTable:
    """A table that is split by columns where the terminal is too narrow, and becomes a list below 76 columns."""

    table: Table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The title, then one table, several below each other, or a list."""
        yield plain(self.table.title, "bold")
        heads, rows = _laid_out(self.table)
        cells = [max(map(_width, column), default=0) for column in zip(*rows, strict=True)] or [0] * len(heads)
        widths = [2 + max(_width(head), cell) for head, cell in zip(heads, cells, strict=True)]
        if sum(widths[1:]) + min(widths[0], _LEAST_NAME) > options.max_width:
            heads = [_broken(head, cell) for head, cell in zip(heads, cells, strict=True)]
            widths = [2 + max(_width(head), cell) for head, cell in zip(heads, cells, strict=True)]
        repeated = len({row[0] for row in rows}) < len(rows)  # then the second column identifies a row
        blocks = _blocks(widths, options.max_width, 2 if repeated and len(heads) > 2 else 1)
        if options.max_width < _NARROW or not blocks:
            yield from self._listed()
            return
        for number, block in enumerate(blocks):
            yield from [Text()] if number else []
            yield self._table([heads[place] for place in block], [[row[place] for place in block] for row in rows])

    def _table(self, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> RichTable:
        shown = grid()
        for index, head in enumerate(heads):
            right = index > 0 and not (head and _text_column(self.table, head))
            shown.add_column(_lines(head), justify="right" if right else "left", no_wrap=right, overflow="fold")
        for index, (row, cells) in enumerate(zip(self.table.rows, rows, strict=True)):
            if index and row.section != self.table.rows[index - 1].section:
                shown.add_section()
            best = any(cell.stands_out for cell in row.cells)
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


def _broken(head: str, width: int) -> str:
    """A header on several lines that are as narrow as its column, broken at spaces, underscores and signs."""
    lines = [""]
    for piece in re.findall(r"[(]?[^ _=(]+[_=]? ?|.", head):
        if lines[-1] and cell_len(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def _blocks(widths: Sequence[int], room: int, keys: int) -> list[list[int]]:
    """Columns of each table that fits into `room`; the first `keys` are in all. Empty if some column never fits."""
    if sum(widths[1:]) + min(widths[0], _LEAST_NAME) <= room:
        return [list(range(len(widths)))]
    names, others = sum(min(width, _MOST_NAME) for width in widths[:keys]), widths[keys:]
    if max(others) + names > room:
        return []
    blocks, left = [[*range(keys)]], room - names
    for place, width in enumerate(others, keys):
        if width > left:
            blocks.append([*range(keys)])
            left = room - names
        blocks[-1].append(place)
        left -= width
    return blocks


def _text_column(table: Table, title: str) -> bool:
    letters = "".join(title.split())  # a title may be broken into lines
    return any("".join(one.title.split()) == letters and not is_numeric(one) for one in table.columns)


def _laid_out(table: Table) -> tuple[list[str], list[list[str]]]:
    """Headers and cells; one column of estimates has its intervals next to it, several have them below."""
    columns = [table.columns[place] for place in table.shown]
    written = [[write(table.columns[place], row.cells[place]) for place in table.shown] for row in table.rows]
    with_interval = [any(row[place].interval for row in written) for place in range(len(columns))]
    if sum(with_interval) == 1:
        return _next_to(columns, written, with_interval.index(True))
    stacked = [[_stacked(_named(cell), cell.interval, cell.difference) for cell in row] for row in written]
    return [column.title for column in columns], stacked


def _next_to(
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
