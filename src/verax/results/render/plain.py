"""Tables for programs and papers: JSON, CSV, LaTeX, Markdown."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import unicodedata
from collections.abc import Sequence

from verax.results.figure import as_plain
from verax.results.render.cells import is_numeric, write
from verax.results.render.markup import visible
from verax.results.study import Findings
from verax.results.table import Table, Value


def to_json(findings: Sequence[Findings]) -> str:
    """Every table and figure in full precision; a missing value is null."""
    content = [
        {
            "study": found.study.name,
            "findings": list(found.sentences),
            "tables": [
                {
                    "name": table.name,
                    "title": table.title,
                    "caption": table.caption,
                    "verdict": table.verdict,
                    "rows": table.records(),
                    "notes": list(table.notes),
                }
                for table in found.all_tables
            ],
            "figures": [as_plain(figure) for figure in found.figures],
        }
        for found in findings
    ]
    return json.dumps(content, indent=2, allow_nan=False, ensure_ascii=True) + "\n"


def to_csv(tables: Sequence[Table]) -> str:
    """Comma-separated values in full precision; a missing value is empty.

    Several tables are separated by an empty line, each below a comment line with its name. Text that a spreadsheet
    would take for a formula gets a leading apostrophe, so that opening the file computes nothing.
    """
    blocks = []
    for table in tables:
        buffer = io.StringIO()
        # quotes around all text: a lone carriage return is not quoted otherwise and would end the row
        writer = csv.writer(buffer, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        records = table.records()
        writer.writerow(map(_harmless, records[0] if records else [column.name for column in table.columns]))
        for record in records:
            writer.writerow([_harmless(value) for value in record.values()])
        head = f"# {_one_line(table.name)}: {_one_line(table.title)}\n" if len(tables) > 1 else ""
        blocks.append(head + buffer.getvalue())
    return "\n".join(blocks)


def _harmless(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    text = visible(value).replace("\r\n", "\n").replace("\r", "\n")  # a carriage return alone ends a row for some
    # spreadsheets skip blanks, and read full-width forms as their ASCII ones
    is_formula = unicodedata.normalize("NFKC", value.strip())[:1] in {"=", "+", "-", "@"} or value[:1] in {*"\t\r\n"}
    return f"'{text}" if is_formula else text


_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",  # \textquotedbl is not in every font encoding
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "–": "--",
    "◆": r"$\diamond$",
    "○": r"$\circ$",
    "▽": r"$\bigtriangledown$",
    "✗": r"$\times$",
    "✓": r"$\surd$",
    "±": r"$\pm$",
    "Δ": r"$\Delta$",
    "⊙": r"$\odot$",
    "\N{REPLACEMENT CHARACTER}": r"{\rule{.5em}{1.2ex}}",
    **{char: f"\\{char}" for char in "&%$#_"},
}


def to_latex(tables: Sequence[Table]) -> str:
    """Floating booktabs tables with captions; a rule separates sections."""
    return "\n".join(_latex_table(table) for table in tables)


def _latex_table(table: Table) -> str:
    alignment = "".join("r" if is_numeric(table.columns[place]) else "l" for place in table.shown)
    lines = [r"\begin{table}", f"\\caption{{{latex_text(_caption(table))}}}", f"\\begin{{tabular}}{{{alignment}}}"]
    lines += [r"\toprule", _latex_row([table.columns[place].title for place in table.shown]), r"\midrule"]
    for index, cells in enumerate(_written_rows(table)):
        if index and table.rows[index].section != table.rows[index - 1].section:
            lines.append(r"\midrule")
        lines.append(_latex_row(cells))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _written_rows(table: Table) -> list[list[str]]:
    """The text of the shown cells of each row.

    A name that several sections have is preceded by its section, unless another cell of the row holds that.
    """
    rows = [[write(table.columns[place], row.cells[place]).line for place in table.shown] for row in table.rows]
    sections: dict[str, set[str]] = {}
    for row, cells in zip(table.rows, rows, strict=True):
        sections.setdefault(cells[0], set()).add(row.section)
    for row, cells in zip(table.rows, rows, strict=True):
        if row.section and len(sections[cells[0]]) > 1 and row.section not in cells:
            cells[0] = f"{row.section}: {cells[0]}"
    return rows


def _caption(table: Table) -> str:
    legend = "; ".join(f"{mark.symbol} {mark.meaning}" for mark in table.marks)
    parts = (f"{table.title}.", table.verdict, table.caption, f"{legend}." if legend else "", *table.notes)
    return " ".join(filter(None, parts))


def _latex_row(cells: Sequence[str]) -> str:
    return " & ".join(map(latex_text, cells)) + r" \\"


def latex_text(text: str) -> str:
    """A text as LaTeX that shows it as it reads."""
    escaped = "".join(_LATEX.get(char, char) for char in _one_line(text))
    escaped = re.sub(r"\bL([12])\b", r"$L_\1$", escaped)  # norms, as papers write them
    # after the end of a row LaTeX would read a bracket as an optional length, and skip an asterisk
    return f"{{{escaped}}}" if escaped.startswith(("[", "*")) else escaped


_LIST_ITEM = re.compile(r"\A(\d*)([-+.)])(?=\s)")
_AUTOLINK = re.compile(r"://|www\.|@|:(?=[\w+-]+:)|\b(?:mailto|xmpp):", re.IGNORECASE)
"""Addresses, mentions and emoji that GitHub and others make of plain text."""


def to_markdown(tables: Sequence[Table]) -> str:
    """Pipe tables, each below its caption."""
    return "\n".join(_markdown_table(table) for table in tables)


def _markdown_table(table: Table) -> str:
    columns = [table.columns[place] for place in table.shown]
    rule = ["---:" if is_numeric(column) else "---" for column in columns]
    rows = [[markdown(column.title) for column in columns], rule]
    rows += [list(map(markdown, cells)) for cells in _written_rows(table)]
    caption = _LIST_ITEM.sub(r"\1\\\2", markdown(_caption(table)))
    return f"{caption}\n\n" + "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def markdown(text: str) -> str:
    """Text in which neither Markdown nor HTML means anything, and in which nothing becomes a link by itself."""
    escaped = re.sub(r"([\\`*_\[\]|~#!$])", r"\\\1", html.escape(_one_line(text), quote=False))
    return _AUTOLINK.sub(lambda match: "".join(f"&#{ord(c)};" if c in ":.@" else c for c in match[0]), escaped)


def _one_line(text: str) -> str:
    return " ".join(visible(text).split())
