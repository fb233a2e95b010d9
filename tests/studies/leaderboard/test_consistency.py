"""Nothing that is displayed contradicts anything else: what people read in every format, checked against itself.

Runs are made of drawn scores (missing values, ties, constant columns, several random methods, few inputs, both
directions), rendered in the terminal, as HTML, LaTeX, JSON and CSV, and read back. Statements are checked as they are
written: a p-value is significant if the printed number is below the level.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import Group

from support.markup import page_sections, report_tree
from support.runs import method_entry, metric_entry, scores_of
from support.tables import printed
from support.unified import METHODS, kinds_run
from verax.results.render.plain import to_csv, to_json, to_latex
from verax.results.render.terminal import show_results
from verax.results.run import Run
from verax.types import FloatArray

UP, DOWN = "comprehensiveness_flips", "complexity"
METRICS = (
    metric_entry(UP, parameters={"k": 3}, range=(0.0, 1.0)),
    metric_entry(DOWN, higher=False, parameters={"top": "span_pairs"}),
)
ENTRIES = (*METHODS, method_entry("random(seed=1)", "random", parameters={"seed": 1}))
BASELINE = {
    "Louvain over Shapley": "Random spans",
    "bivariate": "Random pairs",
    "shap": "Random (seed=0)",
    "Random (seed=1)": "Random (seed=0)",
}
KIND_OF = {"Louvain over Shapley": "span pairs", "bivariate": "word pairs", "shap": "words"}
MARKS = "◆○▽"
MARK_NAMES = {"◆": "best", "○": "like_random", "▽": "worse_than_random"}
LATEX = {r"$\diamond$": "◆", r"$\circ$": "○", r"$\bigtriangledown$": "▽", r"\textless{}": "<", r"\_": "_", "--": "–"}
_CELL = re.compile(r"([◆○▽]*)\s*([-\d.e]+|skipped)\s*(\[.*\]|constant)?")


@dataclass(frozen=True)
class Shown:
    """What a row of a ranking shows."""

    group: str
    marks: str
    mean: str
    interval: str
    p: str
    n: int

    @property
    def significant(self) -> bool | None:
        """What the printed p-value says; None without one."""
        return None if self.p == "–" else self.p == "< 0.001" or float(self.p) < 0.05

    @property
    def better(self) -> bool:
        """Significantly different, and not marked as worse."""
        return bool(self.significant) and "▽" not in self.marks


@dataclass(frozen=True)
class Page:
    """What a format says: rows by metric and method, marks of the overview, a sentence for each metric, verdicts."""

    boards: dict[str, dict[str, Shown]]
    overview: dict[tuple[str, str], str]
    sentences: dict[str, str]
    verdicts: dict[str, str]
    head: str


def shown(heads: Sequence[str], cells: Sequence[str]) -> Shown:
    by_head = dict(zip(heads, cells, strict=True))
    found = _CELL.fullmatch(by_head["Mean"].replace("\N{NO-BREAK SPACE}", " "))
    assert found is not None, cells
    interval = found[3] or by_head.get("95 % interval", "")
    return Shown(by_head.get("Group", ""), found[1], found[2], interval, by_head["p against random"], int(by_head["n"]))


def marks_in(cell: str) -> str:
    return "".join(sign for sign in cell if sign in MARKS)


def in_html(run: Run) -> Page:
    """The report; bars are drawn where there is an interval."""
    sections = page_sections(report_tree(run))
    boards, overview, sentences = {}, {}, {}
    for sheet in sections["leaderboard"].all("section", "sheet"):
        title = sheet.only("h3").words
        heads = [cell.words for cell in sheet.only("thead").all("th") if "axis" not in cell.classes]
        rows = {
            row.only("span", "label").text: [cell for cell in row.all("td") if "plotted" not in cell.classes]
            for row in sheet.only("tbody").all("tr")
        }
        if title.startswith("Mean of each"):
            pairs = product(rows, range(1, len(heads)))
            overview = {
                (heads[place].replace(" ", "").rstrip("↑↓"), name): marks_in(rows[name][place - 1].words)
                for name, place in pairs
            }
            continue
        metric = title.split()[0]
        boards[metric] = {
            name: shown(heads, [name, *(re.sub(r"([◆○▽]) (?=[◆○▽])", r"\1", cell.words) for cell in cells)])
            for name, cells in rows.items()
        }
        whiskers = [bool(cell.all("line", "whisker")) for cell in sheet.all("td", "plotted")]
        assert whiskers == ["[" in one.interval for one in boards[metric].values()]
        hollow = {
            name for name, row in zip(rows, sheet.only("tbody").all("tr"), strict=True) if row.all("circle", "hollow")
        }
        assert hollow == {
            name for name, row in boards[metric].items() if row.n and BASELINE.get(name) in rows and not row.significant
        }
        sentences[metric] = next((line.words for line in sheet.all("p") if not line.classes), "")
    judged = sections["judgement"]
    verdicts = {name.words: said.words for name, said in zip(judged.all("dt"), judged.all("dd"), strict=True)}
    head = next((line.words for line in judged.all("p") if not line.classes), "")
    return Page(boards, overview, sentences, verdicts, head)


def in_terminal(run: Run, names: Sequence[str]) -> Page:
    """`verax show` in a terminal wide enough for every line."""
    found = run.findings("leaderboard")
    lines = [line.rstrip() for line in printed(Group(*show_results((), found)), 1000).splitlines()]
    verdicts = {}
    after = lines.index("Verdict") + 1
    while lines[after]:
        name, said, words = lines[after].partition(": ")
        if said and name in names:
            verdicts[name] = words
        after += 1
    first = lines[lines.index("Verdict") + 1]
    boards: dict[str, dict[str, Shown]] = {}
    overview, sentences = {}, {}
    for metric in (UP, DOWN):
        start = next((place for place, line in enumerate(lines) if line.startswith(f"{metric} (")), None)
        if start is None:
            continue
        ends = [found.span() for found in re.finditer(r"\S+(?: \S+)*", lines[start + 1])]
        heads = [lines[start + 1][a:b] for a, b in ends]
        boards[metric] = {}
        place = start + 3
        while "  " in (row := lines[place]):
            name = next(name for name in names if row.startswith(f"{name} "))
            # numbers end where their header ends, texts start where it starts
            cells, row = [name], " " * len(name) + row[len(name) :]
            for (head, (a, b)), (_, before) in zip(list(zip(heads, ends, strict=True))[1:], ends, strict=False):
                cells.append(row[a:].split("  ")[0].strip() if head == "Group" else row[before:b].strip())
            boards[metric][name] = shown(heads, cells)
            place += 1
        sentences[metric] = lines[place]
    start = next(place for place, line in enumerate(lines) if line.startswith("Mean of each"))
    heads = re.split(r"\s{2,}", lines[start + 1].replace(" ↑", "").replace(" ↓", ""))
    place = start + 3
    while lines[place] and not lines[place].startswith("In brackets"):
        name = next((name for name in names if lines[place].startswith(f"{name} ")), None)
        if name is not None:
            cells = re.split(r"\s{2,}", lines[place][len(name) :].strip())
            overview |= {(metric, name): marks_in(cell) for metric, cell in zip(heads[1:], cells, strict=True)}
        place += 1
    return Page(boards, overview, sentences, verdicts, "" if first.partition(": ")[0] in names else first)


def in_latex(run: Run) -> Page:
    """The tables of a paper; sentences are in the captions."""
    boards, overview, sentences, verdicts, head = {}, {}, {}, {}, ""
    text = to_latex(run.findings("leaderboard")[0].all_tables)
    for command, sign in LATEX.items():
        text = text.replace(command, sign)
    for table in text.split(r"\end{table}")[:-1]:
        title = re.search(r"\\caption{(.*)}", table)
        assert title is not None
        heads, *rows = (
            [cell.strip() for cell in line[:-3].split(" & ")] for line in table.splitlines() if " & " in line
        )
        named = {row[0]: row for row in rows}
        if title[1].startswith("Verdict"):
            verdicts = {name: " ".join(row[1:]) for name, row in named.items()}
            head = title[1].removeprefix("Verdict. ")
        elif title[1].startswith("Mean of each"):
            metrics = [one.split()[0] for one in heads[1:]]
            overview = {
                (metric, name): marks_in(cell)
                for name, row in named.items()
                for metric, cell in zip(metrics, row[1:], strict=True)
            }
        else:
            metric = title[1].split()[0]
            boards[metric] = {name: shown(heads, [cell.strip("{}") for cell in row]) for name, row in named.items()}
            sentences[metric] = title[1].partition("is better). ")[2]
    return Page(boards, overview, sentences, verdicts, head)


def names_in(text: str, names: Sequence[str]) -> set[str]:
    return {name for name in names if re.search(rf"(?<![\w(]){re.escape(name)}(?![\w=])", text)}


def contradictions(page: Page) -> Iterator[str]:
    """Statements of one page that cannot hold together."""
    for metric, rows in page.boards.items():
        sentence = page.sentences[metric]
        marked = {sign: {name for name, row in rows.items() if sign in row.marks} for sign in MARKS}
        if "Nothing is marked" in sentence and any(row.marks or row.group for row in rows.values()):
            yield f"{metric}: nothing is marked, and something is"
        if "Too few" in sentence and "Too few inputs" not in page.head:
            yield f"{metric}: too few inputs, and the verdict does not say so"
        if "No two of" in sentence and any(row.group or row.significant for row in rows.values()):
            yield f"{metric}: no two differ, and some do"
        best = sentence.partition(" may be best")[0] if " may be best" in sentence else ""
        if names_in(best, list(rows)) != (marked["◆"] - marked["○"] if best else set()):
            yield f"{metric}: may be best {best!r}, and the diamonds {marked}"
        if best and "No method is significantly better than random" in sentence:
            yield f"{metric}: best, and none better than random"
        for words, sign in (("Not significantly different from random:", "○"), ("worse than random:", "▽")):
            listed = sentence.partition(words)[2].split(".")[0]
            if "more" not in listed and names_in(listed, list(rows)) != marked[sign]:
                yield f"{metric}: {words} {listed!r}, and the marks {marked[sign]}"
        for name, row in rows.items():
            yield from _row_contradictions(metric, name, row, rows)
            if page.overview[metric, name] != row.marks:
                yield f"{metric}, {name}: other marks in the overview"
        for one, other in combinations(sorted(marked["◆"]), 2):
            if not set(rows[one].group) & set(rows[other].group):
                yield f"{metric}: {one} and {other} may both be best and have no letter in common"
    for name, said in page.verdicts.items():
        yield from _verdict_contradictions(name, said, page.boards)


def _row_contradictions(metric: str, name: str, row: Shown, rows: Mapping[str, Shown]) -> Iterator[str]:
    baseline = rows.get(BASELINE.get(name, ""))
    shares = baseline is not None and bool(set(row.group) & set(baseline.group))
    if "○" in row.marks and row.significant is not False:
        yield f"{metric}, {name}: like random with p {row.p}"
    if "▽" in row.marks and not row.significant:
        yield f"{metric}, {name}: worse with p {row.p}"
    if row.significant and shares:
        yield f"{metric}, {name}: differs from random and shares a letter"
    if row.significant is False and row.group and not shares:
        yield f"{metric}, {name}: like random without a letter in common"
    if "◆" in row.marks and ("▽" in row.marks or name.startswith("Random")):
        yield f"{metric}, {name}: best, and random or worse"
    if row.n < 6 and row.marks:
        yield f"{metric}, {name}: marked, and {row.n} values could show no difference"
    if row.n < 6 and row.interval:
        yield f"{metric}, {name}: an interval of {row.n} values"
    if row.interval.startswith("["):
        low, high = map(float, row.interval.strip("[]").split(", "))
        if not low <= float(row.mean) <= high:
            yield f"{metric}, {name}: {row.mean} in {row.interval}"


def _verdict_contradictions(name: str, said: str, boards: Mapping[str, Mapping[str, Shown]]) -> Iterator[str]:
    for metric, rows in boards.items():
        row = rows[name]
        better = f"{metric} (p {row.p if row.p.startswith('<') else f'= {row.p}'})"
        worse = better.replace("(p", "(worse, p")
        if (better in said) != (row.better or "○" in row.marks) or (worse in said) != ("▽" in row.marks):
            yield f"{metric}, {name}: {said!r}, and the row {row}"
        if "too few inputs to tell" in said.split(";", maxsplit=1)[0] and row.marks:
            yield f"{metric}, {name}: too few to tell, and marked"
        for beaten in re.findall(rf"(?:beaten by|, |^)\s*([^;]*?) \({metric}\)", said):
            for other in names_in(beaten, list(rows)):
                if set(row.group) & set(rows[other].group) or "◆" in row.marks:
                    yield f"{metric}, {name}: beaten by {other}, and a letter in common or best"


@st.composite
def matrices(draw: st.DrawFn) -> FloatArray:
    """Scores of shape [inputs, methods]: noise around different means, with ties, copies, constants and gaps."""
    inputs = draw(st.sampled_from([1, 2, 5, 6, 7, 9, 12, 15, 40]))
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    effect = draw(st.sampled_from([0.0, 0.05, 0.2, 0.5]))
    values = 0.5 + effect * rng.normal(size=len(ENTRIES)) + 0.2 * rng.normal(size=(inputs, len(ENTRIES)))
    values = np.round(values, draw(st.sampled_from([1, 2, 9])))
    for column in range(len(ENTRIES)):
        match draw(st.sampled_from(["", "", "", "constant", "copy", "noisy", "gaps", "few", "gone"])):
            case "constant":
                values[:, column] = 0.5
            case "copy":
                values[:, column] = values[:, 0]
            case "noisy":
                values[:, column] = values[:, 0] + 1e-8 * (np.arange(inputs) < 20)
            case "gaps":
                values[rng.random(inputs) < rng.random(), column] = np.nan
            case "few":
                values[rng.permutation(inputs)[: max(0, inputs - 5)], column] = np.nan
            case "gone":
                values[:, column] = np.nan
    return values


def drawn_run(folder: Path, values: FloatArray) -> Run:
    """A run of drawn scores under two metrics, of which higher and lower values are better."""
    table = {
        entry["label"]: [None if np.isnan(value) else float(value) for value in column]
        for entry, column in zip(ENTRIES, values.T, strict=True)
    }
    return kinds_run(folder, [*scores_of(UP, table), *scores_of(DOWN, table)], METRICS, ENTRIES)


RANDOM_WITH_A_GAP = np.array(
    [
        [0.7, 0.3, 0.4, 0.4, 0.4, 0.5, 0.7],
        [0.3, 0.3, 0.5, 0.5, 0.5, 0.5, 0.7],
        [0.8, 0.3, 0.7, 0.7, 0.4, 0.5, 0.6],
        [0.4, 0.5, 0.4, 0.5, 0.4, 0.5, 0.8],
        [0.6, 0.3, np.nan, 0.7, 0.7, 0.5, 1.1],
        [0.8, 0.6, 0.7, 0.5, 0.7, 0.5, 1.1],
    ]
)
"""A method that nothing beats, and that shares five inputs with its random explanation: too few to tell."""


@settings(max_examples=50, deadline=None)
@example(RANDOM_WITH_A_GAP)
@given(matrices())
def test_nothing_displayed_contradicts_anything_else(values: FloatArray) -> None:
    with TemporaryDirectory() as folder:
        run = drawn_run(Path(folder) / "run", values)
        names = [run.manifest.display(entry["label"]) for entry in ENTRIES]
        report, terminal, latex = in_html(run), in_terminal(run, names), in_latex(run)
        assert list(contradictions(report)) == []
        assert terminal.boards == latex.boards == report.boards
        assert terminal.overview == latex.overview == report.overview
        for metric, sentence in report.sentences.items():
            assert terminal.sentences[metric] == sentence
            assert latex.sentences[metric].startswith(sentence)
        assert terminal.verdicts == report.verdicts
        assert list(latex.verdicts) == list(report.verdicts)
        for page in (terminal, latex):
            assert page.head.startswith(report.head)
        (study,) = json.loads(to_json(run.findings("leaderboard")))
        records = {table["name"]: table["rows"] for table in study["tables"]}
        for metric, rows in report.boards.items():
            assert [row["p"] is None for row in records[metric]] == [row.p == "–" for row in rows.values()]
            assert [row["p"] is not None and row["p"] < 0.05 for row in records[metric]] == [
                bool(row.significant) for row in rows.values()
            ]
            (table,) = (table for table in run.findings("leaderboard")[0].tables if table.name == metric)
            for record, row in zip(csv.DictReader(to_csv([table]).splitlines()), rows.values(), strict=True):
                assert (record["group"], record["n"]) == (row.group, str(row.n))
                assert [MARK_NAMES[sign] for sign in row.marks] == record["mean_marks"].split()
                assert (record["p"] != "" and float(record["p"]) < 0.05) == bool(row.significant)
        hollow_dots_are_those_that_the_leaderboard_does_not_distinguish(run, report)


def hollow_dots_are_those_that_the_leaderboard_does_not_distinguish(run: Run, page: Page) -> None:
    """The figure of the unified framework shows the same test."""
    for findings in run.findings("unified"):
        for panel, metric in zip(findings.figures[0].panels, (UP, DOWN), strict=False):
            for mark in panel.marks:
                kind = getattr(mark, "row", "")
                name = next((n for n, word in KIND_OF.items() if f"({word})" in kind), None)
                if name is not None:
                    assert mark.hollow == (not page.boards[metric][name].significant)  # type: ignore[union-attr]


@pytest.fixture(scope="module")
def clear(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """A page on which some methods are better than random, some worse and some like it."""
    means = np.array([0.0, 0.3, 0.0, 0.9, 0.31, -0.9, 0.1])
    values = means + 0.2 * np.random.default_rng(0).normal(size=(40, len(means)))
    return in_html(drawn_run(tmp_path_factory.mktemp("clear") / "run", values))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("Louvain over Shapley", {"p": "0.061"}),
        ("Louvain over Shapley", {"marks": "○"}),
        ("Louvain over Shapley", {"group": "abcd"}),
        ("bivariate", {"p": "0.049"}),
        ("bivariate", {"marks": ""}),
        ("shap", {"marks": "◆"}),
        ("shap", {"p": "0.050"}),
        ("Random (seed=0)", {"marks": "◆"}),
        ("Random (seed=0)", {"n": 5}),
    ],
)
def test_a_page_that_contradicts_itself_is_caught(clear: Page, name: str, change: dict[str, Any]) -> None:
    assert list(contradictions(clear)) == []
    board = clear.boards[UP]
    assert {row.marks for row in board.values()} == {"◆", "○", "▽", ""}
    changed = {**clear.boards, UP: {**board, name: replace(board[name], **change)}}
    assert list(contradictions(replace(clear, boards=changed)))


@pytest.mark.parametrize("said", ["Nothing is marked.", "No two of 7 methods are significantly different."])
def test_a_sentence_that_contradicts_the_rows_is_caught(clear: Page, said: str) -> None:
    assert list(contradictions(replace(clear, sentences={**clear.sentences, UP: said})))
