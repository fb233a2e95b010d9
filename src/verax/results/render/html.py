"""Tables, figures and whole studies as HTML."""

from __future__ import annotations

import re
from collections.abc import Sequence

from verax.results.figure import Figure, Ticks, ticks_over
from verax.results.render.cells import Written, is_numeric, verdict_lines, write
from verax.results.render.markup import Html, join, tag
from verax.results.render.numbers import plural
from verax.results.render.svg import figure_svg, swatch
from verax.results.render.text_width import TICK, label
from verax.results.study import Findings
from verax.results.table import Cell, Column, Mark, Table, TableRow
from verax.types import Estimate

_MARGIN = 6.0
_LISTED = 10
"""A verdict on more methods is folded."""


def findings_html(findings: Findings) -> Html:
    """A study: its sentences, figures, tables, legend and how to read them."""
    prefix = findings.study.name
    notes = dict.fromkeys([*findings.reading, *(note for table in findings.tables for note in table.notes)])
    marks = dict.fromkeys(mark for table in findings.tables for mark in table.marks)
    return join(
        [tag("p", line, dir="auto") for line in findings.sentences],
        [figure_html(figure) for figure in findings.figures],
        _legend(list(marks)) if marks else None,
        tag("div", [table_html(table, f"{prefix}-{n}") for n, table in enumerate(findings.tables, 1)], class_="sheets"),
        _reading(list(notes)) if notes else None,
    )


def verdict_html(table: Table, *, folded: bool = False) -> Html:
    """A verdict as a list: a line for each row; a long one is shown on demand.

    Args:
        folded: show any list on demand, and no notes.
    """
    items: list[Html] = []
    section = ""
    for line in verdict_lines(table):
        if line.section != section:
            section = line.section
            items.append(tag("dt", section, class_="part", dir="auto"))
        facts = tag("span", line.facts, class_="why") if line.facts else None
        items += [tag("dt", line.name, dir="auto"), tag("dd", line.verdict, "; " if facts else None, facts, dir="auto")]
    notes = [tag("p", note, class_="note", dir="auto") for note in table.notes]
    lines = tag("dl", items, class_="judged")
    if folded or len(table.rows) > _LISTED:
        lines = tag("details", tag("summary", f"{table.title} on each of {plural(len(table.rows), 'method')}"), lines)
    if folded:
        return lines
    return join(tag("p", table.verdict) if table.verdict else None, lines, notes)


def _legend(marks: Sequence[Mark]) -> Html:
    return tag("p", " · ".join(f"{mark.symbol} {mark.meaning}" for mark in marks), class_="legend", dir="auto")


def _reading(lines: Sequence[str]) -> Html:
    items = [tag("li", line, dir="auto") for line in lines]
    return tag("details", tag("summary", "How to read this"), tag("ul", items), class_="how")


def figure_html(figure: Figure) -> Html:
    """Panels next to each other, the legend below."""
    panels = [
        tag(
            "figure",
            tag("figcaption", tag("strong", panel.title, dir="auto"), tag("small", panel.caption, dir="auto")),
            figure_svg(panel, figure.series),
        )
        for panel in figure.panels
    ]
    keys = [tag("li", swatch(series, number), f" {series.name}") for number, series in enumerate(figure.series)]
    keys += [tag("li", line) for line in figure.legend]
    return tag(
        "section",
        tag("h3", figure.title, dir="auto"),
        tag("p", figure.caption, class_="note", dir="auto") if figure.caption else None,
        tag("div", panels, class_="panels"),
        tag("ul", keys, class_="legend keys") if keys else None,
        class_="figure",
    )


def table_html(table: Table, anchor: str) -> Html:
    """A table with its headline, what follows from it, and its caption; `anchor` must be unique in the page."""
    axes = {place: _axis(table, place) for place in table.shown if table.columns[place].plot}
    body = [_row(table, row, axes) for row in table.rows]
    content = tag("table", tag("thead", _head(table, axes)), tag("tbody", body), aria_labelledby=anchor)
    return tag(
        "section",
        tag("h3", table.title, id=anchor, dir="auto"),
        tag("p", table.verdict, dir="auto") if table.verdict else None,
        tag("div", content, class_="scroll", role="region", aria_labelledby=anchor, tabindex=0),
        tag("p", table.caption, class_="note", dir="auto") if table.caption else None,
        class_="sheet",
    )


def _head(table: Table, axes: dict[int, Ticks | None]) -> Html:
    heads: list[Html] = []
    for place in table.shown:
        column = table.columns[place]
        if place in axes:
            axis = axes[place]
            name = tag("span", f"{column.title}, drawn with its interval", class_="unseen")
            heads.append(tag("th", name, None if axis is None else _tick_labels(axis), scope="col", class_="axis"))
        heads.append(tag("th", breakable(column.title), scope="col", class_="number" if is_numeric(column) else None))
    return tag("tr", heads)


def _row(table: Table, row: TableRow, axes: dict[int, Ticks | None]) -> Html:
    cells: list[Html] = []
    for order, place in enumerate(table.shown):
        column, cell = table.columns[place], row.cells[place]
        if place in axes:
            cells.append(tag("td", _drawn(table, row, place, axes[place]), class_="plotted"))
        if order == 0:
            flag = tag("span", "baseline", class_="flag") if row.baseline else None
            name = tag("span", breakable(write(column, cell).line), dir="auto", class_="label")
            cells.append(tag("th", name, flag, scope="row"))
        else:
            cells.append(_cell(column, cell))
    return tag("tr", cells, class_="baseline" if row.baseline else None)


def _cell(column: Column, cell: Cell) -> Html:
    written = write(column, cell)
    if column.format == "flags" and isinstance(cell.value, str):
        split = filter(None, cell.value.split("; "))
        flags = [tag("span", flag, class_="flag wrong" if flag.startswith("not valid") else "flag") for flag in split]
        return tag("td", flags, data_head=column.title)
    look = " ".join(filter(None, ("number" if is_numeric(column) else "", "best" if cell.stands_out else "")))
    return tag(
        "td",
        _details(cell, _value(cell, written)),
        tag("small", f" {written.interval}") if written.interval else None,
        tag("small", written.difference, class_="gap") if written.difference else None,
        class_=look or None,
        data_head=column.title,
        data_value=_sortable(cell),
        dir=None if is_numeric(column) else "auto",
    )


def _sortable(cell: Cell) -> str | None:
    """The number of a cell in full precision, for scripts that sort by it."""
    value = cell.value.value if isinstance(cell.value, Estimate) else cell.value
    return repr(value) if isinstance(value, int | float) else None


def _value(cell: Cell, written: Written) -> Html:
    sign = None
    if cell.marks:
        meaning = ", ".join(mark.meaning for mark in cell.marks)
        sign = tag("span", written.marks, class_="sign", role="img", aria_label=meaning, title=meaning)
    missing = cell.value is None
    return tag("span", sign, " " if sign else None, written.value, class_="quiet" if missing else "value")


def _details(cell: Cell, value: Html) -> Html:
    if not cell.details:
        return value
    lines = [tag("li", line, dir="auto") for line in cell.details]
    return tag("details", tag("summary", value, title=", ".join(cell.details)), tag("ul", lines))


def breakable(label: str) -> Html:
    """A label that may wrap behind underscores, brackets, commas and equals signs."""
    pieces = [piece for piece in re.split(r"(?<=[_(,=/])|(?=\()", label) if piece]
    return join(*(part for piece in pieces for part in (piece, Html("<wbr>"))))


def _axis(table: Table, place: int) -> Ticks | None:
    """The axis that holds every estimate of a column."""
    estimates = [row.cells[place].value for row in table.rows]
    return ticks_over([end for value in estimates if isinstance(value, Estimate) for end in value if end is not None])


def _tick_labels(axis: Ticks) -> Html:
    labels = [
        label(f"{tick:.6g}", TICK, x=_at(axis, tick), y=12, text_anchor="middle", class_="tick") for tick in axis.values
    ]
    return tag("svg", labels, class_="plot head", width="100%", height=16, aria_hidden="true")


def _drawn(table: Table, row: TableRow, place: int, axis: Ticks | None) -> Html | None:
    """An estimate with its interval over the ticks; its baseline is a grey line, the baseline's interval a ribbon."""
    value = row.cells[place].value
    if axis is None or not isinstance(value, Estimate):
        return None
    base = None if row.compared_with is None else table.rows[row.compared_with].cells[place].value
    shapes: list[Html] = []
    if isinstance(base, Estimate) and base.interval is not None:
        low, high = base.interval
        width = f"{(100 - 2 * _MARGIN) * (axis.share(high) - axis.share(low)):.2f}%"
        shapes.append(tag("rect", x=_at(axis, low), y=0, width=width, height="100%", class_="ribbon"))
    shapes += [_upright(axis, tick, "grid") for tick in axis.values]
    if isinstance(base, Estimate):
        shapes.append(_upright(axis, base.value, "random"))
    if value.interval is not None:
        ends = [_at(axis, end) for end in value.interval]
        shapes.append(tag("line", x1=ends[0], x2=ends[1], y1="50%", y2="50%", class_="whisker"))
    look = "dot hollow" if row.hollow else "dot"
    shapes.append(tag("circle", cx=_at(axis, value.value), cy="50%", r=5, class_=look))
    spoken = write(table.columns[place], row.cells[place]).line
    return tag("svg", shapes, class_="plot", width="100%", height="100%", role="img", aria_label=spoken)


def _at(axis: Ticks, value: float) -> str:
    return f"{_MARGIN + (100 - 2 * _MARGIN) * axis.share(value):.2f}%"


def _upright(axis: Ticks, value: float, look: str) -> Html:
    return tag("line", x1=_at(axis, value), x2=_at(axis, value), y1=0, y2="100%", class_=look)
