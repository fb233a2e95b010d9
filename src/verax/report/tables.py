"""Rows of a leaderboard, a comparison or recursive masking for programs and papers: JSON, CSV, LaTeX, Markdown."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields

from verax.report.masking_words import PERFORMANCE, areas, invalid, marks, ordered, tested
from verax.report.ranking import by_metric
from verax.report.sheet import Sheet
from verax.results.render.markup import visible
from verax.results.render.numbers import count, interval, number, p_value
from verax.stats.leaderboard import ALPHA
from verax.types import Comparison, MaskingCurve, MaskingCurves, Summary

Value = str | float | int | bool | None


@dataclass(frozen=True, slots=True)
class Table:
    """The same rows twice: as values for a program, and as cells for a person.

    Args:
        columns: names of the values; one record a row, all with these names.
        heads: names of the cells.
        cells: shape [rows, heads], best first within a metric.
        text_columns: how many of the cells, from the left, hold words; the rest are numbers.
        caption: what the table is about, for papers.
    """

    columns: tuple[str, ...]
    records: tuple[Mapping[str, Value], ...]
    heads: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    text_columns: int = 2
    caption: str = ""


def summary_table(summaries: Sequence[Summary]) -> Table:
    """The leaderboard of a run."""
    ranked = [row for rows in by_metric(summaries).values() for row in rows]
    cells = tuple(
        (
            _directed(row.metric, higher=row.higher_is_better),
            row.method,
            number(row.mean),
            interval(row.low, row.high),
            p_value(row.p_holm),
            count(row.n),
            count(row.skipped),
            row.group,
        )
        for row in ranked
    )
    heads = ("Metric", "Method", "Mean", "95 % interval", "p (Holm)", "n", "Skipped", "Group")
    return Table(tuple(f.name for f in fields(Summary)), tuple(asdict(row) for row in ranked), heads, cells)


def comparison_table(comparisons: Sequence[Comparison]) -> Table:
    """Two runs side by side."""
    cells = tuple(
        (
            _directed(row.metric, higher=row.higher_is_better),
            row.method,
            number(row.mean_a),
            number(row.mean_b),
            number(difference(row)),
            p_value(row.p_holm),
            count(row.n),
        )
        for row in comparisons
    )
    heads = ("Metric", "Method", "Run A", "Run B", "B - A", "p (Holm)", "n")
    return Table(tuple(f.name for f in fields(Comparison)), tuple(asdict(row) for row in comparisons), heads, cells)


def masking_table(curves: MaskingCurves) -> Table:
    """The areas of recursive masking, best first, the random measure last; cells in percent, values not.

    `out_of_distribution` names the masking ratios at which the measure itself leaves the distribution (None: not
    tested); `valid` says whether neither it nor the random measure does.
    """
    rows = ordered(curves)
    records = tuple(_masking_record(curves, row) for row in rows)
    cells = tuple(
        (
            PERFORMANCE[row.metric],
            row.method,
            *areas(curves, row),
            count(row.n),
            count(row.skipped),
            "; ".join(marks(curves, row)),
        )
        for row in rows
    )
    heads = ("Performance", "Measure", "ACU [%]", "RACU [%]", "n", "Skipped", "Note")
    return Table(tuple(records[0]), records, heads, cells)


def _masking_record(curves: MaskingCurves, row: MaskingCurve) -> dict[str, Value]:
    racu = row.racu
    outside = None if row.p_values is None else " ".join(f"{ratio:.4g}" for ratio in row.outside(ALPHA))
    return {
        "method": row.method,
        "metric": row.metric,
        "acu": row.acu.value,
        "acu_low": row.acu.low,
        "acu_high": row.acu.high,
        "racu": None if racu is None else racu.value,
        "racu_low": None if racu is None else racu.low,
        "racu_high": None if racu is None else racu.high,
        "reason": row.reason,
        "signed": row.signed,
        "n": row.n,
        "skipped": row.skipped,
        "over": row.over,
        "out_of_distribution": outside,
        "valid": not invalid(curves, row) if tested(curves, row) else None,
        "unmasked": row.curve[0].value,
        "fully_masked": row.curve[-1].value,
        "majority": curves.majority,
    }


def difference(row: Comparison) -> float | None:
    """How much the second run is above the first."""
    return None if row.mean_a is None or row.mean_b is None else row.mean_b - row.mean_a


def _directed(metric: str, *, higher: bool) -> str:
    return f"{metric} {'↑' if higher else '↓'}"


def for_papers(sheet: Sheet) -> Table:
    """A sheet as papers show it: its title and what is said of it become the caption."""
    return Table((), (), sheet.heads, sheet.rows, 1, " ".join([f"{sheet.title}.", sheet.said, *sheet.signs]))


def to_json(table: Table) -> str:
    """A list of objects, in full precision; a value that is missing is null."""
    return json.dumps(table.records, indent=2, allow_nan=False)


def to_csv(table: Table) -> str:
    """Comma-separated, in full precision; a value that is missing is empty.

    A name that a spreadsheet would take for a formula (it begins with = + - @, a tab or a line end) gets a leading
    apostrophe, so that opening the file computes nothing.
    """
    buffer = io.StringIO()
    # Quotes around all names: a lone carriage return is not quoted otherwise and would end the row.
    writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(table.columns)
    for record in table.records:
        writer.writerow([_plain(value) for value in record.values()])
    return buffer.getvalue()


def _plain(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    return f"'{visible(value)}" if value.startswith(("=", "+", "-", "@", "\t", "\r", "\n")) else visible(value)


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "–": "--",
    "◆": r"$\diamond$",
    "○": r"$\circ$",
    **{char: f"\\{char}" for char in "&%$#_"},
}


def to_latex(table: Table) -> str:
    """A booktabs tabular, a rule before each metric but the first; with a caption it floats."""
    lines = [
        f"\\begin{{tabular}}{{{'l' * table.text_columns}{'r' * (len(table.heads) - table.text_columns)}}}",
        r"\toprule",
    ]
    lines += [_latex_row(table.heads), r"\midrule"]
    for index, row in enumerate(table.cells):
        if index and table.text_columns > 1 and row[0] != table.cells[index - 1][0]:
            lines.append(r"\midrule")
        lines.append(_latex_row(row))
    lines += [r"\bottomrule", r"\end{tabular}"]
    if table.caption:
        lines = [r"\begin{table}", f"\\caption{{{_latex(table.caption)}}}", *lines, r"\end{table}"]
    return "\n".join([*lines, ""])


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(_latex(cell) for cell in cells) + r" \\"


def _latex(cell: str) -> str:
    escaped = "".join(_LATEX.get(char, char) for char in _one_line(cell))
    # After a row's end LaTeX would read a bracket as an optional length.
    return f"{{{escaped}}}" if escaped.startswith("[") else escaped


def to_markdown(table: Table) -> str:
    """A pipe table, its caption above it."""
    said = f"{_markdown(table.caption)}\n\n" if table.caption else ""
    rule = ["---"] * table.text_columns + ["---:"] * (len(table.heads) - table.text_columns)
    rows = [[_markdown(cell) for cell in cells] for cells in (table.heads, *table.cells)]
    return said + "".join(f"| {' | '.join(cells)} |\n" for cells in (rows[0], rule, *rows[1:]))


def _markdown(cell: str) -> str:
    """A cell in which neither Markdown nor HTML means anything."""
    return re.sub(r"([\\`*_\[\]|~#!$])", r"\\\1", html.escape(_one_line(cell), quote=False))


def _one_line(cell: str) -> str:
    return " ".join(visible(cell).split())


FORMATS: dict[str, Callable[[Table], str]] = {
    "json": to_json,
    "csv": to_csv,
    "latex": to_latex,
    "markdown": to_markdown,
}
"""The formats by the name of their option."""
