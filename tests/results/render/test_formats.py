"""One table in every format: each value is in each of them, whatever its text, and none of it means anything there."""

from __future__ import annotations

import csv
import html
import io
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.markup import parse
from support.tables import lines_of, printed
from verax import studies
from verax.results.figure import Dot, Figure, Panel, Rule, Scale, Series
from verax.results.render.cells import write
from verax.results.render.html import breakable, findings_html, table_html
from verax.results.render.markup import visible
from verax.results.render.plain import to_csv, to_json, to_latex, to_markdown
from verax.results.render.terminal import TerminalTable, show_findings
from verax.results.study import Findings, Study
from verax.results.table import Cell, Column, Mark, Table, TableRow, table_row
from verax.types import Estimate

STUDY: Study[Any] = Study("study", "A study", "", lambda runs: None, lambda result: ())
BEST = Mark("best", "◆", "best value")
WEAK = Mark("like_random", "○", "like random")


def found(*tables: Table, sentences: Sequence[str] = ()) -> Findings:
    return Findings(STUDY, tables, (), tuple(sentences), ())


def one_line(text: str) -> str:
    return " ".join(visible(text).split())


# -- every format, by properties ----------------------------------------------------------------------------------

PIECES = (
    *"<>&\"'|\\{}$%#_^~*[]()`=+-@!:;,/ \t\n\r",
    *"\x00\x07\x1b\x85\x9b\u2028\u202e\u2066\ud800\ufffe\uffff",
    *"aZ0é語שा–↑↓◆○±Δ",
    "<script>alert(1)</script>",
    "</table>",
    "&lt;",
    "\x1b[31m",
    "[bold]",
    "[/]",
    "\\end{tabular}",
    "\\input{/etc/passwd}",
    "=HYPERLINK()",
    "![x](javascript:1)",
    "; ",
)
TEXT = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)
NUMBER = st.floats(-1e9, 1e9) | st.sampled_from([0.0, 1e-7, 0.5, -0.0001, 1e12])
ESTIMATE = st.builds(lambda a, b, c: Estimate(b, *sorted((a, c))), NUMBER, NUMBER, NUMBER) | NUMBER.map(Estimate)
VALUE = st.none() | TEXT | st.integers(-(10**9), 10**9) | NUMBER | st.booleans() | ESTIMATE
MARKS = st.lists(st.sampled_from([BEST, WEAK]), max_size=2, unique=True).map(tuple)
CELL = st.builds(Cell, VALUE, reason=TEXT, marks=MARKS, difference=st.none() | ESTIMATE, details=st.just(()))
FORMAT = st.sampled_from(["text", "number", "percent", "count", "p_value", "flags"])
COLUMN = st.builds(Column, TEXT, TEXT, FORMAT, st.booleans())


@st.composite
def tables(draw: st.DrawFn) -> Table:
    first = Column(draw(TEXT), draw(TEXT) + "x", "text")
    columns = (first, *draw(st.lists(COLUMN, max_size=4)))
    rows = [
        TableRow(
            (Cell(draw(TEXT)), *(_as_written(column, draw(CELL)) for column in columns[1:])),
            baseline=draw(st.booleans()),
            compared_with=draw(st.none() | st.just(0)),
            section=draw(st.sampled_from(["", "one", "two"])),
        )
        for _ in range(draw(st.integers(0, 4)))
    ]
    return Table(draw(TEXT), draw(TEXT), columns, tuple(rows), draw(TEXT), (draw(TEXT),), draw(TEXT))


def _as_written(column: Column, cell: Cell) -> Cell:
    """Numbers of a column of counts are whole, and a text has no difference."""
    if column.format == "count" and isinstance(cell.value, float):
        return replace(cell, value=round(cell.value))
    return replace(cell, difference=None) if isinstance(cell.value, str | bool) else cell


@settings(max_examples=80)
@given(tables())
def test_records_have_equal_keys_and_every_value(table: Table) -> None:
    records = table.records()
    assert len({tuple(record) for record in records}) <= 1
    for row, record in zip(table.rows, records, strict=True):
        values = list(record.values())
        for cell in row.cells:
            estimates = [one for one in (cell.value, cell.difference) if isinstance(one, Estimate)]
            plain = [] if isinstance(cell.value, Estimate) else [cell.value]
            reasons = [cell.reason] if cell.reason else []
            for value in (*plain, *(end for estimate in estimates for end in estimate), *reasons):
                assert any(value is other or (value == other and type(value) is type(other)) for other in values)


@settings(max_examples=80)
@given(tables())
def test_json_gives_back_the_records(table: Table) -> None:
    (study,) = json.loads(to_json([found(table)]))
    (back,) = study["tables"]
    assert back["rows"] == table.records()
    assert (back["name"], back["title"], back["caption"]) == (table.name, table.title, table.caption)
    assert to_json([found(table)]).isascii()


@settings(max_examples=80)
@given(tables())
def test_csv_gives_back_the_records_and_no_formula(table: Table) -> None:
    head, *rows = csv.reader(io.StringIO(to_csv([table]), newline=""))
    records = table.records()
    assert len(rows) == len(records)
    for row, record in zip(rows, records, strict=True):
        assert len(row) == len(head)
        for written, value in zip(row, record.values(), strict=True):
            if isinstance(value, str):
                text = visible(value).replace("\r\n", "\n").replace("\r", "\n")
                assert written.removeprefix("'") == text.removeprefix("'")
            else:
                assert written == ("" if value is None else str(value))
    for field in (*head, *(field for row in rows for field in row)):
        assert not field.startswith(("\t", "\r", "\n"))
        first = unicodedata.normalize("NFKC", field.strip())[:1]
        assert first not in {"=", "+", "@"}
        assert first != "-" or float(field) <= 0


ELEMENTS = {"section", "h3", "p", "div", "table", "thead", "tbody", "tr", "th", "td", "span", "small", "wbr"}
ELEMENTS |= {"svg", "text", "rect", "line", "circle"}


@settings(max_examples=80)
@given(tables())
def test_a_page_has_every_cell_and_no_other_element(table: Table) -> None:
    tree = parse(table_html(table, "anchor"))
    tags = {node.tag for node in tree.walk()}
    assert tags <= ELEMENTS
    plotted = sum(table.columns[place].plot for place in table.shown)
    assert [len(row) for row in tree.only("table").rows()] == [len(table.shown) + plotted] * (1 + len(table.rows))
    for row, node in zip(table.rows, tree.only("tbody").all("tr"), strict=True):
        said = one_line(node.text)
        for place in table.shown:
            written = write(table.columns[place], row.cells[place])
            flags = table.columns[place].format == "flags" and isinstance(row.cells[place].value, str)
            for piece in written.value.split("; ") if flags else [written.value, written.interval, written.difference]:
                assert one_line(piece) in said


def unescaped(line: str, separator: str) -> list[str]:
    """The cells of a line in which a backslash escapes the next character."""
    cells, escaped = [""], False
    for char in line:
        if escaped or char not in ("\\", separator):
            cells[-1] += char
            escaped = False
        elif char == "\\":
            escaped = True
        else:
            cells.append("")
    return [" ".join(cell.split()) for cell in cells]


def sectioned(table: Table) -> list[list[str]]:
    """The cells of each row; a first cell that rows of several sections share is preceded by its section."""
    rows = lines_of(table)
    shared = {
        first
        for first in {cells[0] for cells in rows}
        if len({row.section for row, cells in zip(table.rows, rows, strict=True) if cells[0] == first}) > 1
    }
    return [
        [f"{row.section}: {cells[0]}", *cells[1:]]
        if row.section and cells[0] in shared and row.section not in cells
        else cells
        for row, cells in zip(table.rows, rows, strict=True)
    ]


@settings(max_examples=80)
@given(tables())
def test_markdown_gives_back_every_cell(table: Table) -> None:
    text = to_markdown([table])
    lines = text.splitlines()
    assert lines[1] == ""
    assert len(lines) == 4 + len(table.rows), "caption, empty line, header, rule, rows"
    assert "<" not in text
    for line, cells in zip(lines[4:], sectioned(table), strict=True):
        assert [html.unescape(cell) for cell in unescaped(line, "|")[1:-1]] == [one_line(cell) for cell in cells]


COMMANDS = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"{\char34}": '"',
    r"{\rule{.5em}{1.2ex}}": "\N{REPLACEMENT CHARACTER}",
    r"$\uparrow$": "↑",
    r"$\downarrow$": "↓",
    r"$\diamond$": "◆",
    r"$\circ$": "○",
    r"$\times$": "✗",
    r"$\pm$": "±",
    r"$\Delta$": "Δ",
    **{f"\\{char}": char for char in "&%$#_{}"},
}


def from_latex(cell: str) -> str:
    cell = cell.strip()
    cell = cell[1:-1] if re.fullmatch(r"\{[\[*].*\}", cell) else cell
    pattern = "|".join(re.escape(command) for command in sorted(COMMANDS, key=len, reverse=True))
    rest = re.sub(pattern, "", cell)
    assert not set(rest) & set("\\{}$&#%_~^"), f"{rest!r} would mean something"
    return re.sub(pattern, lambda match: COMMANDS[match[0]], cell)


@settings(max_examples=80)
@given(tables())
def test_latex_gives_back_every_cell(table: Table) -> None:
    lines = to_latex([table]).splitlines()
    body = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    rows = [line for line in body if line != r"\midrule"]
    for line, cells in zip(rows, sectioned(table), strict=True):
        assert line.endswith(r" \\")
        parts = re.split(r"(?<!\\)&", line.removesuffix(r" \\"))
        dashes = [from_latex(part).replace("–", "--") for part in parts]
        assert dashes == [one_line(cell).replace("–", "--") for cell in cells]
        assert not line.startswith(("[", "*"))
    changes = sum(a.section != b.section for a, b in zip(table.rows, table.rows[1:], strict=False))
    assert len(body) - len(rows) == changes


@settings(max_examples=80)
@given(tables())
def test_a_terminal_shows_every_cell_and_obeys_none(table: Table) -> None:
    said = printed(TerminalTable(table), 3000)
    assert not set(said) & set("\x00\x07\x1b\x85\x9b\u2028\u202e\u2066\ud800")
    squeezed = re.sub(r"\s+", "", said)
    for row in table.rows:
        for place in table.shown:
            written = write(table.columns[place], row.cells[place])
            for piece in (written.value, written.interval, written.difference):
                assert re.sub(r"\s+", "", visible(" ".join(piece.splitlines()))) in squeezed


# -- single formats, by hand -------------------------------------------------------------------------------------

RANKING = Table(
    "comp",
    "comp",
    (
        Column("method", "Method", "text"),
        Column("mean", "Mean"),
        Column("p_adjusted", "p", "p_value"),
        Column("n", "n", "count"),
        Column("share", "Share", "percent"),
        Column("hidden"),
    ),
    (
        table_row("a_b", Cell(Estimate(0.51234, 0.4, 0.6), marks=(BEST,)), 0.0002, 1234, 0.1235, "x"),
        table_row("random", Estimate(0.1), 0.08, 20, None, None, section="low"),
        table_row("none", Cell(reason="empty"), None, 0, 1, None, section="low"),
    ),
    caption="In brackets: 95 % intervals.",
    notes=("A note.",),
)


def test_latex_is_a_booktabs_table() -> None:
    assert to_latex([RANKING]) == (
        "\\begin{table}\n"
        "\\caption{comp. In brackets: 95 \\% intervals. $\\diamond$ best value. A note.}\n"
        "\\begin{tabular}{lrrrr}\n\\toprule\n"
        "Method & Mean & p & n & Share \\\\\n\\midrule\n"
        "a\\_b & $\\diamond$ 0.512 [0.400, 0.600] & \\textless{} 0.001 & 1,234 & 12.3 \\\\\n"
        "\\midrule\n"
        "random & 0.100 & 0.080 & 20 & -- \\\\\n"
        "none & empty & -- & 0 & 100.0 \\\\\n"
        "\\bottomrule\n\\end{tabular}\n\\end{table}\n"
    )


def test_markdown_is_a_pipe_table_below_its_caption() -> None:
    assert to_markdown([RANKING]) == (
        "comp. In brackets: 95 % intervals. ◆ best value. A note.\n\n"
        "| Method | Mean | p | n | Share |\n"
        "| --- | ---: | ---: | ---: | ---: |\n"
        "| a\\_b | ◆ 0.512 \\[0.400, 0.600\\] | &lt; 0.001 | 1,234 | 12.3 |\n"
        "| random | 0.100 | 0.080 | 20 | – |\n"
        "| none | empty | – | 0 | 100.0 |\n"
    )


def test_csv_has_full_precision_and_hidden_columns() -> None:
    rows = list(csv.DictReader(io.StringIO(to_csv([RANKING]))))
    assert rows[0] == {
        "section": "", "method": "a_b", "mean": "0.51234", "mean_low": "0.4", "mean_high": "0.6",
        "mean_marks": "best", "mean_reason": "", "p_adjusted": "0.0002", "n": "1234", "share": "0.1235", "hidden": "x",
    }  # fmt: skip
    assert (rows[2]["mean"], rows[2]["mean_reason"]) == ("", "empty")


def test_several_tables_are_named_in_csv() -> None:
    text = to_csv([RANKING, replace(RANKING, name="other\n# x", title="Other")])
    blocks = text.split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == ["# comp: comp", "# other # x: Other"]
    assert all(len(list(csv.DictReader(io.StringIO(block.partition("\n")[2])))) == 3 for block in blocks)


@pytest.mark.parametrize("name", ["=cmd()", "+1", "-1", "@x", "\t=1", "\n=1", " =1", "＝1", "\u3000－1", "＠x"])
def test_csv_names_are_no_formulas(name: str) -> None:
    columns = (Column("method", "Method", "text"), Column(name, "x"))
    text = to_csv([Table("t", "t", columns, (table_row(name, -1.5),))])
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    assert row == {"method": f"'{name}", f"'{name}": "-1.5"}, "a negative number is no formula"


def test_csv_keeps_separators_inside_names() -> None:
    text = to_csv([Table("t", "t", (Column("a", "A", "text"),), (table_row('a,"b"\nc'),))])
    assert next(csv.DictReader(io.StringIO(text, newline="")))["a"] == 'a,"b"\nc'


NASTY = "a|b & c_d % $x$ {y} \\z ~ ^ # <i>\nnew *line*"


def test_names_in_papers_are_text() -> None:
    table = Table("t", NASTY, (Column("a", "A", "text"),), (table_row(NASTY),))
    latex = (
        r"a\textbar{}b \& c\_d \% \$x\$ \{y\} \textbackslash{}z \textasciitilde{} \textasciicircum{} \# "
        r"\textless{}i\textgreater{} new *line*"
    )
    assert f"{latex} \\\\" in to_latex([table])
    assert f"\\caption{{{latex}.}}" in to_latex([table])
    markdown = r"a\|b &amp; c\_d % \$x\$ {y} \\z \~ ^ \# &lt;i&gt; new \*line\*"
    lines = to_markdown([table]).splitlines()
    assert (lines[0], lines[-1]) == (f"{markdown}.", f"| {markdown} |")


@pytest.mark.parametrize("first", ["[a]", "*b"])
def test_latex_rows_begin_with_nothing_that_ends_the_row_before(first: str) -> None:
    assert f"{{{first}}} & 1 \\\\" in to_latex([Table("t", "t", RANKING.columns[:2], (table_row(first, 1),))])


@pytest.mark.parametrize("write_all", [to_csv, to_latex, to_markdown])
def test_a_table_without_rows_is_its_header(write_all: Any) -> None:
    assert "ethod" in write_all([replace(RANKING, rows=())])
    assert write_all([]) == ""


def test_json_of_a_study_has_its_tables_figures_and_sentences() -> None:
    dots = (Dot("row", 0, Estimate(0.5, 0.25, 0.75), hollow=True), Rule("x", 0.0, "random"))
    figure = Figure("f", "F", (Series("s"),), (Panel("p", Scale("x"), Scale(), dots, ("row",)),))
    made = Findings(STUDY, (RANKING, replace(RANKING, name="second")), (figure,), ("It is so.",), ())
    (study,) = json.loads(to_json([made]))
    assert (study["study"], study["findings"]) == ("study", ["It is so."])
    assert [table["name"] for table in study["tables"]] == ["comp", "second"]
    (drawn,) = study["figures"]
    assert drawn["panels"][0]["marks"] == [
        {"mark": "dot", "row": "row", "series": 0, "x": {"value": 0.5, "low": 0.25, "high": 0.75}, "hollow": True},
        {"mark": "rule", "axis": "x", "value": 0.0, "label": "random"},
    ]


def test_a_short_name_is_for_people_and_the_label_for_programs() -> None:
    table = Table("t", "t", (Column("a", "A", "text"),), (table_row(Cell("label(x=1)", shown="Short")),))
    assert table.records() == [{"a": "label(x=1)"}]
    for text in (to_latex([table]), to_markdown([table]), table_html(table, "t"), printed(TerminalTable(table))):
        assert "Short" in text
        assert "label" not in text.replace('class="label"', "").replace("aria-labelledby", "")


# -- pages --------------------------------------------------------------------------------------------------------


def test_a_table_names_its_rows_columns_and_itself() -> None:
    tree = parse(table_html(RANKING, "anchor"))
    heading = tree.only("h3")
    assert heading["id"] == "anchor"
    assert tree.only("table")["aria-labelledby"] == "anchor"
    region = tree.only(role="region")
    assert (region["aria-labelledby"], region["tabindex"]) == ("anchor", "0")
    assert {node["scope"] for node in tree.only("thead").all("th")} == {"col"}
    assert [node.text for node in tree.only("tbody").all("th", scope="row")] == ["a_b", "random", "none"]
    assert [node["data-head"] for node in tree.only("tbody").all("td")] == ["Mean", "p", "n", "Share"] * 3


def test_marks_are_explained_where_they_stand_and_once_in_the_legend() -> None:
    both = Cell(1.0, marks=(BEST, WEAK))
    table = Table("t", "t", RANKING.columns[:2], (table_row("a", both), table_row("b", Cell(2.0, marks=(WEAK,)))))
    tree = parse(findings_html(found(table, table)))
    signs = tree.all("span", "sign")
    assert [sign.text for sign in signs] == ["◆○", "○", "◆○", "○"], "one element: two would lie on top of each other"
    assert signs[0]["aria-label"] == signs[0]["title"] == "best value, like random"
    assert not tree.all("td", "best"), "what may be no better than random does not stand out"
    alone = Table("t", "t", RANKING.columns[:2], (table_row("a", Cell(1.0, marks=(BEST,))),))
    assert [cell.words for cell in parse(findings_html(found(alone))).all("td", "best")] == ["◆ 1.000"]
    assert tree.only("p", "legend").words == "◆ best value · ○ like random"


def test_every_mark_has_a_command_in_latex() -> None:
    names = [module.name for module in walk_packages(studies.__path__, "verax.studies.")]
    signs = {one for name in names for one in vars(import_module(name)).values() if isinstance(one, Mark)}
    assert len(signs) >= 6
    table = Table("t", "t", RANKING.columns[:2], (table_row("a", Cell(1.0, marks=tuple(signs))),))
    assert to_latex([table]).isascii()


def test_the_sentence_of_a_table_is_in_the_captions_of_papers() -> None:
    table = replace(RANKING, verdict="Too few inputs.")
    for written in (to_latex([table]), to_markdown([table])):
        assert "comp. Too few inputs. In brackets" in written


def test_notes_are_said_once_and_tables_have_anchors_of_their_own() -> None:
    tree = parse(findings_html(found(RANKING, RANKING, replace(RANKING, name="a(b)"), replace(RANKING, name="a[b]"))))
    assert [item.text for item in tree.only("details", "how").all("li")] == ["A note."]
    anchors = [heading["id"] for heading in tree.all("h3")]
    assert len(set(anchors)) == 4
    assert [table["aria-labelledby"] for table in tree.all("table")] == anchors


def test_details_open_on_request_and_flags_are_apart() -> None:
    columns = (Column("a", "A", "text"), Column("n", "N", "count"), Column("f", "F", "flags"))
    flags = "not valid at 50 %; no bound"
    table = Table("t", "t", columns, (table_row("x", Cell(4, details=("no_gold: 3", "empty: 1")), flags),))
    tree = parse(table_html(table, "t"))
    assert tree.only("summary")["title"] == "no_gold: 3, empty: 1"
    assert [item.text for item in tree.only("details").all("li")] == ["no_gold: 3", "empty: 1"]
    assert [(flag.text, "wrong" in flag.classes) for flag in tree.all("span", "flag")] == [
        ("not valid at 50 %", True),
        ("no bound", False),
    ]


def test_estimates_are_drawn_on_one_axis_with_the_baseline_behind() -> None:
    columns = (Column("a", "A", "text"), Column("x", "X", plot=True))
    rows = (
        table_row("random", Estimate(0.0, 0.0, 1.0), baseline=True),
        table_row("mine", Estimate(5.0, 4.0, 10.0), compared_with=0),
        table_row("none", Cell(reason="empty")),
    )
    tree = parse(table_html(Table("t", "t", columns, rows), "t"))
    random, mine, none = tree.only("tbody").all("tr")
    drawing = mine.only("svg")
    assert (drawing["role"], drawing["aria-label"]) == ("img", "5.000 [4.000, 10.000]")
    assert mine.only("circle", "dot")["cx"] == "50.00%"
    whisker = mine.only("line", "whisker")
    assert (whisker["x1"], whisker["x2"]) == ("41.20%", "94.00%")
    ribbon = mine.only("rect", "ribbon")
    assert (ribbon["x"], ribbon["width"]) == ("6.00%", "8.80%")
    assert mine.only("line", "random")["x1"] == "6.00%"
    assert random.classes == {"baseline"}
    assert random.only("span", "flag").text == "baseline"
    assert none.all("svg") == []
    assert [text.text for text in tree.only("thead").all("text")] == ["0", "2", "4", "6", "8", "10"]


def test_a_label_breaks_between_its_words_and_nowhere_else() -> None:
    assert "saliency<wbr>(<wbr>aggregate=<wbr>l2)" in breakable("saliency(aggregate=l2)")
    assert "attention_<wbr>attribution" in breakable("attention_attribution")
    assert "&lt;b&gt;<wbr>(" in breakable("<b>(x)")


# -- terminal -----------------------------------------------------------------------------------------------------

METHODS = Table(
    "comp",
    "comp (higher is better)",
    (
        Column("method", "Method", "text"),
        Column("mean", "Mean"),
        Column("p", "p", "p_value"),
        Column("n", "n", "count"),
    ),
    (
        table_row("integrated_gradients (steps=100)", Cell(Estimate(0.512, 0.4, 0.6), marks=(BEST,)), 0.0002, 197),
        table_row("leave_one_out", Cell(Estimate(0.5, 0.41, 0.59), difference=Estimate(0.4, 0.3, 0.5)), 0.0002, 1234),
        table_row("random", Estimate(0.1, 0.05, 0.15), None, 200),
    ),
)


def test_a_column_of_estimates_has_its_intervals_next_to_it() -> None:
    lines = printed(TerminalTable(METHODS)).splitlines()
    assert lines[0] == "comp (higher is better)"
    assert re.split(r"\s{2,}", lines[1].strip()) == ["Method", "Mean", "95 % interval", "p", "n"]
    rows = [line.split() for line in lines if "[" in line]
    assert rows[1] == ["leave_one_out", "0.500", "[0.410,", "0.590]", "<", "0.001", "1,234"]
    assert rows[2] == ["Δ", "+0.400", "[0.300,", "0.500]"]


@pytest.mark.parametrize("width", [20, 40, 60, 79, 80, 100, 200])
@pytest.mark.parametrize("estimates", [1, 3])
def test_no_number_is_cut_in_a_narrow_window(width: int, estimates: int) -> None:
    columns = (METHODS.columns[0], *(replace(METHODS.columns[1], title=f"M{i}") for i in range(estimates)))
    columns += METHODS.columns[2:]
    rows = tuple(
        replace(row, cells=(row.cells[0], *[row.cells[1]] * estimates, *row.cells[2:])) for row in METHODS.rows
    )
    shown = printed(TerminalTable(Table("t", "t", columns, rows)), width)
    assert "…" not in shown
    assert all(len(line) <= width for line in shown.splitlines())
    together = re.sub(r"\s+", "", shown)
    for piece in ("0.512", "[0.400,0.600]", "<0.001", "1,234", "leave_one_out", "Δ+0.400[0.300,0.500]"):
        assert together.count(re.sub(r"\s+", "", piece)) >= (estimates if piece.startswith("0.5") else 1)


def test_a_table_that_is_too_wide_is_split_by_columns() -> None:
    """Headers are broken first; every table has the names of the rows, and no interval is broken."""
    metrics = ["comprehensiveness ↑", "sufficiency ↓", "agreement(within=budget) ↑", "complexity ↓", "plausibility ↑"]
    columns = (Column("method", "Method", "text"), *(Column(metric, metric) for metric in metrics))
    rows = tuple(table_row(name, *[Estimate(0.1234, -0.25, 0.375)] * 5) for name in ("InputXGrad", "random"))
    shown = printed(TerminalTable(Table("overview", "Means", columns, rows)), 80)
    names = [line.split()[0] for line in shown.splitlines() if line and not line.startswith((" ", "─"))]
    assert names == ["Means", *["Method", "InputXGrad", "random"] * 2]
    assert shown.count("[-0.250, 0.375]") == 10
    assert "(within=" in shown
    assert "agreement(within=budget)" not in shown


def test_a_split_table_names_its_rows_in_every_part() -> None:
    columns = (Column("metric", "Metric", "text"), Column("method", "Method", "text"))
    many = tuple(Column(f"value{number}", f"value{number}") for number in range(14))
    rows = [table_row(metric, method, *range(14)) for metric in ("first", "second") for method in ("x", "y")]
    lines = printed(TerminalTable(Table("t", "T", (*columns, *many), tuple(rows))), 80).splitlines()
    heads = [line for line in lines if "value" in line]
    assert len(heads) == 2
    assert all(head.split()[:2] == ["Metric", "Method"] for head in heads)
    assert sum(line.split()[:2] == ["second", "y"] for line in lines) == 2
    long = Table("t", "T", columns, (table_row("first", "x" * 90), table_row("first", "y" * 90)))
    assert "y" * 20 in printed(TerminalTable(long), 80), "two columns are never split"


@pytest.mark.parametrize("name", ["[bold red]x[/]", "[/]", "[link=file:///x]y[/link]", ":smile:"])
@pytest.mark.parametrize("width", [50, 120])
def test_markup_in_names_is_text(name: str, width: int) -> None:
    table = replace(METHODS, title=name, rows=(table_row(name, 0.5, None, 3),), caption=name, verdict=name)
    assert printed(show_findings(found(table, sentences=[name])), width).count(name) == 5


def test_control_codes_of_a_terminal_are_shown_not_sent() -> None:
    evil = "\x1b[2J\x1b]0;title\x07\x9b31m\u202e"
    table = replace(METHODS, title=evil, rows=(table_row(evil, 0.5, None, 3),), caption=evil, notes=(evil,))
    for width in (40, 120):
        shown = printed(show_findings(found(table, sentences=[evil])), width)
        assert not set(shown) & set("\x1b\x07\x9b\u202e")
        assert shown.count("[2J") == 5


def test_sections_are_apart_and_the_best_rows_bold() -> None:
    rows = tuple(replace(row, section="later" if i else "") for i, row in enumerate(METHODS.rows))
    lines = printed(TerminalTable(replace(METHODS, rows=rows))).splitlines()
    first = next(i for i, line in enumerate(lines) if line.lstrip().startswith(("integrated", "◆ integrated")))
    assert set(lines[first + 1].strip()) <= {"─", " ", "━"} or not lines[first + 1].strip()
    coloured = printed(TerminalTable(METHODS), force_terminal=True, color_system="standard", no_color=False)
    bold = [line for line in coloured.splitlines() if "\x1b[1m" in line and "0." in line]
    assert len(bold) == 1
    assert "integrated_gradients" in bold[0]


def test_a_name_that_several_sections_have_is_preceded_by_its_section() -> None:
    """As the verdicts on the methods of several runs; not where a cell of the row holds the section already."""
    columns = (Column("method", "Method", "text"), Column("note", "Note", "text"))
    rows = [("lime", "", "a"), ("lime", "", "b"), ("saliency", "", "b"), ("lime", "c", "c")]
    table = Table("t", "T", columns, tuple(table_row(*cells, section=section) for *cells, section in rows))
    names = ["a: lime", "b: lime", "saliency", "lime"]
    assert [line.split(" | ")[0].strip("| ") for line in to_markdown([table]).splitlines()[4:]] == names
    assert [line.split(" & ")[0] for line in to_latex([table]).splitlines() if " & " in line][1:] == names


def test_marks_and_notes_are_explained_once() -> None:
    said = printed(
        show_findings(found(METHODS, replace(METHODS, notes=("Note.",)), replace(METHODS, notes=("Note.",))))
    )
    assert said.count("best value") == 1
    assert said.count("Note.") == 1
