"""Tables for programs and papers, against rows written by hand."""

import csv
import io
import json

import pytest
from verax.report.tables import FORMATS, comparison_table, summary_table, to_csv, to_json, to_latex, to_markdown

from verax.types import Comparison, Summary

ROWS = [
    Summary("random", "comp", 0.1, 0.05, 0.15, 20, 0, 0.1, None, None, True, "b"),
    Summary("a_b", "comp", 0.51234, 0.4, 0.6, 1234, 3, 0.1, 0.0001, 0.0002, True, "a"),
    Summary("none", "comp", None, None, None, 0, 20, None, None, None, True, ""),
    Summary("random", "suff", 0.5, None, None, 1, 0, 0.5, None, None, False, "a"),
    Summary("a_b", "suff", -0.0001, -0.2, 0.1, 20, 0, 0.5, 0.04, 0.08, False, "a"),
]
NASTY = "a|b & c_d % $x$ {y} \\z ~ ^ # <i>\nnew *line*"


def test_json_holds_every_field_and_null_for_nothing():
    rows = json.loads(to_json(summary_table(ROWS)))
    assert [(row["metric"], row["method"]) for row in rows] == [
        ("comp", "a_b"), ("comp", "random"), ("comp", "none"), ("suff", "a_b"), ("suff", "random"),
    ]  # fmt: skip
    assert rows[0] == {
        "method": "a_b", "metric": "comp", "mean": 0.51234, "low": 0.4, "high": 0.6, "n": 1234, "skipped": 3,
        "random": 0.1, "p": 0.0001, "p_holm": 0.0002, "higher_is_better": True, "group": "a",
    }  # fmt: skip
    assert rows[2]["mean"] is None


def test_csv_reads_back_in_full():
    rows = list(csv.DictReader(io.StringIO(to_csv(summary_table(ROWS)))))
    assert len(rows) == 5
    assert float(rows[0]["mean"]) == 0.51234
    assert rows[2]["mean"] == ""
    assert float(rows[3]["mean"]) == -0.0001, "a negative number is no formula"


@pytest.mark.parametrize("name", ["=cmd()", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1"])
def test_csv_names_are_no_formulas(name):
    table = summary_table([Summary(name, "m", 1.0, None, None, 1, 0, None, None, None)])
    assert next(csv.DictReader(io.StringIO(to_csv(table), newline="")))["method"] == f"'{name}"


def test_csv_keeps_separators_inside_names():
    table = summary_table([Summary('a,"b"\nc', "m", 1.0, None, None, 1, 0, None, None, None)])
    assert next(csv.DictReader(io.StringIO(to_csv(table), newline="")))["method"] == 'a,"b"\nc'


def test_latex_is_a_booktabs_table():
    assert to_latex(summary_table(ROWS)) == (
        "\\begin{tabular}{llrrrrrr}\n\\toprule\n"
        "Metric & Method & Mean & 95 \\% interval & p (Holm) & n & Skipped & Group \\\\\n\\midrule\n"
        "comp $\\uparrow$ & a\\_b & 0.512 & {[0.400, 0.600]} & \\textless{} 0.001 & 1,234 & 3 & a \\\\\n"
        "comp $\\uparrow$ & random & 0.100 & {[0.050, 0.150]} & -- & 20 & 0 & b \\\\\n"
        "comp $\\uparrow$ & none & -- & -- & -- & 0 & 20 &  \\\\\n"
        "\\midrule\n"
        "suff $\\downarrow$ & a\\_b & -1.00e-04 & {[-0.200, 0.100]} & 0.080 & 20 & 0 & a \\\\\n"
        "suff $\\downarrow$ & random & 0.500 & -- & -- & 1 & 0 & a \\\\\n"
        "\\bottomrule\n\\end{tabular}\n"
    )


def test_latex_escapes_names():
    table = to_latex(summary_table([Summary(NASTY, "m", 1.0, None, None, 1, 0, None, None, None)]))
    assert (
        r"a\textbar{}b \& c\_d \% \$x\$ \{y\} \textbackslash{}z \textasciitilde{} \textasciicircum{} \# "
        r"\textless{}i\textgreater{} new *line*"
    ) in table


def test_markdown_escapes_names():
    lines = to_markdown(summary_table([Summary(NASTY, "m", 1.0, None, None, 1, 0, None, None, None)])).splitlines()
    assert len(lines) == 3
    assert lines[1] == "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |"
    assert r"| a\|b &amp; c\_d % \$x\$ {y} \\z \~ ^ \# &lt;i&gt; new \*line\* | 1.000 |" in lines[2]


def test_comparison():
    table = comparison_table(
        [Comparison("m", "comp", 0.25, 0.5, 10, 0.01, 0.02), Comparison("n", "comp", None, None, 0, None, None)]
    )
    assert table.cells == (
        ("comp ↑", "m", "0.250", "0.500", "0.250", "0.020", "10"),
        ("comp ↑", "n", "–", "–", "–", "–", "0"),
    )
    assert json.loads(to_json(table))[0]["mean_b"] == 0.5
    assert to_csv(table).splitlines()[0] == '"method","metric","mean_a","mean_b","n","p","p_holm","higher_is_better"'


@pytest.mark.parametrize("make", [summary_table, comparison_table])
@pytest.mark.parametrize("format_", FORMATS)
def test_no_rows_give_a_head_alone(make, format_):
    said = FORMATS[format_](make([]))
    assert said == "[]" if format_ == "json" else "etric" in said


@pytest.mark.parametrize("format_", FORMATS)
def test_any_name_can_be_written(format_):
    said = FORMATS[format_](summary_table([Summary("x\ud800\x00", "m", 1.0, None, None, 1, 0, None, None, None)]))
    assert b"\0" not in said.encode("utf-8")
