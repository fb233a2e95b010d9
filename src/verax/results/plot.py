"""Figures of studies by name, those of tables included, drawn on a page of matplotlib."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from verax.registry import unknown
from verax.results.figure import AnyMark, Dot, Figure, Panel, Rule, Scale, Series, Shape
from verax.results.render.cells import write
from verax.results.study import Findings
from verax.results.table import Column, Table
from verax.store.files import replace_file
from verax.types import Estimate, UserError

if TYPE_CHECKING:
    from verax.results.render.paper.canvas import Page

WIDTHS = {"column": 3.3, "text": 6.9}
"""Usual widths in a paper, in inches."""
FORMATS = ("svg", "pdf", "png")
_LEAST, _MOST = 2.0, 40.0
_SHAPES: tuple[Shape, ...] = ("circle", "square", "triangle", "diamond", "cross")


def named_figures(found: Sequence[Findings]) -> dict[str, Figure]:
    """The figures of studies by name; of a study without any, those of its tables. A repeated name gets a number."""
    named: dict[str, Figure] = {}
    for findings in found:
        for figure in findings.figures or table_figures(findings):
            number = sum(name == figure.name or name.startswith(f"{figure.name}-") for name in named) + 1
            named[figure.name if number == 1 else f"{figure.name}-{number}"] = figure
    return named


def choose(figures: Mapping[str, Figure], name: str) -> Figure:
    """The figure with a name."""
    if name not in figures:
        raise UserError(unknown("figure", name, list(figures)) if figures else "these results have no figure")
    return figures[name]


def in_inches(width: str | float) -> float:
    """A width in inches, from a number or a name."""
    if isinstance(width, str) and width in WIDTHS:
        return WIDTHS[width]
    try:
        inches = float(width)
    except ValueError:
        inches = 0.0
    if not _LEAST <= inches <= _MOST:
        named = " or ".join(f"{name} ({inches} in)" for name, inches in WIDTHS.items())
        raise UserError(f"width: expected {named} or inches from {_LEAST:g} to {_MOST:g}, got {width!r}")
    return inches


def draw_figure(
    figure: Figure, width: str | float = "column", *, title: bool = True, out: Path | str | None = None
) -> Page:
    """A figure as a figure of matplotlib.

    Args:
        width: `column`, `text`, or inches.
        title: write the title and the caption of the figure above it.
        out: a file to write as well; its suffix is the format.
    """
    inches = in_inches(width)
    require_matplotlib()
    from verax.results.render.paper.draw import draw  # noqa: PLC0415 - matplotlib takes half a second

    return written(draw(figure, inches, title=title), out)


def require_matplotlib() -> None:
    """Check that matplotlib is installed, which only an extra needs."""
    if find_spec("matplotlib") is None:
        raise UserError("figures are drawn by matplotlib: pip install 'verax[figures]'")


def written(page: Page, out: Path | str | None) -> Page:
    """The page, written to a file if one is given: atomically, and never through a link."""
    if out is not None:
        suffix = Path(out).suffix[1:].lower()
        if suffix not in FORMATS:
            raise UserError(
                f"figures are written as {', '.join(FORMATS)}, by the end of the name of the file; got {out}"
            )
        buffer = io.BytesIO()
        page.savefig(buffer, format=suffix)
        try:
            replace_file(Path(out), buffer.getvalue())
        except OSError as error:
            raise UserError(f"{out} cannot be written: {error.strerror}") from None
    return page


# -- figures of tables --------------------------------------------------------------------------------------------


def table_figures(findings: Findings) -> list[Figure]:
    """The estimates of the tables of a study, those on an axis if there are any; a panel for each table.

    Tables with the same columns share a figure.
    """
    plotted = any(column.plot for table in findings.tables for column in table.columns)
    drawn = [
        (table, columns)
        for table in findings.tables
        for columns in _together([place for place in table.shown if _is_drawn(table, place, plotted=plotted)], table)
    ]
    groups = [
        list(members)
        for _, members in groupby(drawn, key=lambda one: [one[0].columns[place].title for place in one[1]])
    ]
    figures = []
    for group in groups:
        first, places = group[0]
        alone = len(groups) == 1
        name = findings.study.name if alone else first.name
        panels = _same_rows([_panel(table, columns) for table, columns in group])
        hollow = any(isinstance(mark, Dot) and mark.hollow for panel in panels for mark in panel.marks)
        figures.append(
            Figure(
                name,
                findings.study.title if alone else first.title,
                _series([first.columns[place] for place in places], [table for table, _ in group]),
                tuple(panels),
                legend=("hollow: not significantly different from the baseline",) * hollow + ("bars: 95 % intervals",),
            )
        )
    return figures


def _is_drawn(table: Table, place: int, *, plotted: bool) -> bool:
    column = table.columns[place]
    known = any(isinstance(row.cells[place].value, Estimate) for row in table.rows)
    return known and (column.plot or not plotted)


def _together(places: Sequence[int], table: Table) -> list[tuple[int, ...]]:
    """Columns that share an axis: those in percent, and all others."""
    split = [[p for p in places if (table.columns[p].format == "percent") is percent] for percent in (True, False)]
    return [tuple(group) for group in split if group]


def _series(columns: Sequence[Column], tables: Sequence[Table]) -> tuple[Series, ...]:
    """A series for each column; where there is one, baselines have their own."""
    series = [
        Series(column.title.lower() if len(columns) == 1 else column.title, _SHAPES[number % len(_SHAPES)])
        for number, column in enumerate(columns)
    ]
    baseline = len(columns) == 1 and any(row.baseline for table in tables for row in table.rows)
    return (*series, *([Series("baseline", "cross", baseline=True)] if baseline else []))


def _panel(table: Table, places: Sequence[int]) -> Panel:
    """The rows of a table with the estimates of some columns, and a line at the row that all are compared with."""
    names = _row_names(table)
    marks: list[AnyMark] = []
    single = len(places) == 1
    compared = {row.compared_with for row in table.rows if row.compared_with is not None}
    if single and len(compared) == 1:
        (number,) = compared
        value = table.rows[number].cells[places[0]].value
        marks += [Rule("x", value.value, names[number].strip())] if isinstance(value, Estimate) else []
    rows: list[str] = []
    for name, row in zip(names, table.rows, strict=True):
        heading = f"# {row.section}"
        if row.section and heading not in rows:
            rows.append(heading)
        rows.append(name)
        for series, place in enumerate(places):
            value = row.cells[place].value
            if isinstance(value, Estimate):
                marks.append(Dot(name, 1 if single and row.baseline else series, value, hollow=row.hollow))
    title = table.columns[places[0]].title if single else ""
    percent = table.columns[places[0]].format == "percent"
    return Panel(
        table.title, Scale(title or ("%" if percent else ""), percent=percent), Scale(), tuple(marks), (*rows,)
    )


def _same_rows(panels: Sequence[Panel]) -> list[Panel]:
    """Panels with the rows of the longest in its order, if it has those of all others: they are named once then."""
    longest = max(panels, key=lambda panel: len(panel.rows)).rows
    if any(not set(panel.rows) <= set(longest) for panel in panels):
        return list(panels)
    return [replace(panel, rows=longest) for panel in panels]


def _row_names(table: Table) -> list[str]:
    """The name of each row; equal ones differ in spaces, which are not drawn."""
    first, names = table.shown[0], list[str]()
    for row in table.rows:
        name = f" {write(table.columns[first], row.cells[first]).line}"
        while name in names:
            name += " "
        names.append(name)
    return names
