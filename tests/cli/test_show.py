"""`verax show`, `compare` and `report` on runs that were written by hand: every format, several runs, mistakes."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support import free_text
from support.cli import CallVerax
from support.markup import parse
from support.masking import masked_word_run, masking_metrics, masking_scores, seed_run
from support.reading import Reading
from support.runs import make_run, method_entry, metric_entry, run_card, score_run, word_rows, word_run
from support.unified import unified_word_run
from verax.data.text import split_words
from verax.results.run import Run
from verax.types import Score

FORMATS = ("terminal", "json", "csv", "latex", "markdown")
MAKERS: dict[str, Callable[[Path], Run]] = {
    "leaderboard": word_run,
    "masking": masked_word_run,
    "unified": unified_word_run,
    "free_text": free_text.text_run,
}


def shown(answer: Any, code: int = 0) -> list[dict[str, Any]]:
    """The studies of an answer in JSON."""
    assert answer.code == code, answer.err
    found: list[dict[str, Any]] = json.loads(answer.out)
    return found


def rows_of(answer: Any, table: str, code: int = 0) -> list[dict[str, Any]]:
    (rows,) = [one["rows"] for study in shown(answer, code) for one in study["tables"] if one["name"] == table]
    return list(rows)


# -- formats ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("study", MAKERS)
def test_every_table_is_in_every_format(verax: CallVerax, tmp_path: Path, study: str) -> None:
    run = MAKERS[study](tmp_path / "run")
    expected = run.findings()
    tables = [table for found in expected for table in found.all_tables]
    assert study in [found.study.name for found in expected]
    content = shown(verax("show", "run", "--format", "json"))
    assert [one["study"] for one in content] == [found.study.name for found in expected]
    assert [table["name"] for one in content for table in one["tables"]] == [table.name for table in tables]
    assert [table["rows"] for one in content for table in one["tables"]] == [table.records() for table in tables]
    assert [figure["name"] for one in content for figure in one["figures"]] == [
        figure.name for found in expected for figure in found.figures
    ]
    blocks = verax("show", "run", "--format", "csv").out.split("\n\n")
    assert len(blocks) == len(tables)
    for block, table in zip(blocks, tables, strict=True):
        head, _, body = block.partition("\n")
        assert head.startswith(f"# {table.name}: ")
        rows = list(csv.DictReader(io.StringIO(body)))
        assert len(rows) == len(table.rows)
        assert list(rows[0]) == list(table.records()[0])
    assert verax("show", "run", "--format", "latex").out.count(r"\begin{table}") == len(tables)
    assert verax("show", "run", "--format", "markdown").out.count("\n\n| ") == len(tables)
    terminal = verax("show", "run").out
    for table in tables:
        assert table.title in " ".join(terminal.split())


@pytest.mark.parametrize("format_", FORMATS)
def test_a_file_holds_what_the_terminal_would_show(verax: CallVerax, tmp_path: Path, format_: str) -> None:
    masked_word_run(tmp_path / "run")
    printed = verax("show", "run", "-f", format_)
    written = verax("show", "run", "-f", format_, "--out", "out.txt")
    assert (written.code, written.out) == (0, "")
    text = (tmp_path / "out.txt").read_text("utf-8")
    if format_ == "terminal":
        assert text.split() == printed.out.split()
    else:
        assert text == printed.out


@pytest.mark.parametrize("format_", ["terminal", "json", "csv"])
@pytest.mark.parametrize("place", [".", "missing/folder/out.txt"])
def test_a_file_that_cannot_be_written_is_one_line(verax: CallVerax, tmp_path: Path, place: str, format_: str) -> None:
    word_run(tmp_path / "run")
    answer = verax("show", "run", "-f", format_, "--out", place)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "--out" in answer.err


def test_an_unknown_format_is_one_line(verax: CallVerax, tmp_path: Path) -> None:
    word_run(tmp_path / "run")
    answer = verax("show", "run", "--format", "yaml")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "yaml" in answer.err


@pytest.mark.parametrize("width", ["40", "60", "200"])
def test_a_narrow_terminal_cuts_no_number(
    verax: CallVerax, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: str
) -> None:
    masked_word_run(tmp_path / "run")
    monkeypatch.setenv("COLUMNS", width)
    out = verax("show", "run").out
    assert "…" not in out
    assert "66.7" in out
    assert all(len(line) <= int(width) for line in out.splitlines())


# -- choosing -----------------------------------------------------------------------------------------------------


def test_one_study_alone(verax: CallVerax, tmp_path: Path) -> None:
    masked_word_run(tmp_path / "run")
    assert [one["study"] for one in shown(verax("show", "run", "-f", "json"))] == ["leaderboard", "masking"]
    assert [one["study"] for one in shown(verax("show", "run", "--study", "masking", "-f", "json"))] == ["masking"]


def test_an_unknown_study_is_refused_with_the_nearest_name(verax: CallVerax, tmp_path: Path) -> None:
    word_run(tmp_path / "run")
    answer = verax("show", "run", "--study", "leaderbord")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "did you mean 'leaderboard'" in answer.err


@pytest.mark.parametrize(
    ("study", "preset"),
    [("masking", "faithfulness-measurable"), ("unified", "unified"), ("free_text", "nle")],
)
def test_a_study_that_does_not_apply_names_the_preset_that_would(
    verax: CallVerax, tmp_path: Path, study: str, preset: str
) -> None:
    word_run(tmp_path / "run")
    answer = verax("show", "run", "--study", study)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert study in answer.err
    assert f"--preset {preset}" in answer.err


def test_tables_can_be_chosen_and_listed(verax: CallVerax, tmp_path: Path) -> None:
    masked_word_run(tmp_path / "run")
    names = verax("show", "run", "--table", "list").out.split()
    assert names == ["verdict", "overview", "masking", "areas"]
    (study,) = shown(verax("show", "run", "--table", "areas", "-f", "json"))
    assert [table["name"] for table in study["tables"]] == ["areas"]
    assert (study["study"], study["figures"], study["findings"]) == ("masking", [], [])
    both = shown(verax("show", "run", "--table", "areas", "--table", "overview", "-f", "json"))
    assert [table["name"] for one in both for table in one["tables"]] == ["overview", "areas"]
    alone = verax("show", "run", "--table", "areas", "-f", "csv").out
    assert alone.startswith('"method","acu"'), "one table alone has no line with its name"
    answer = verax("show", "run", "--table", "area")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "did you mean 'areas'" in answer.err


# -- several runs -------------------------------------------------------------------------------------------------


def test_several_runs_are_next_to_each_other(verax: CallVerax, tmp_path: Path) -> None:
    for name, steps in (("a", 75), ("b", 100)):
        label = f"integrated_gradients(steps={steps})"
        methods = [method_entry(label, "integrated_gradients", parameters={"steps": steps}), method_entry("random")]
        more = {"lime": [0.3, 0.4]} if name == "b" else {}
        columns = {label: [0.1, 0.2], "random": [0.0, 0.1], **more}
        methods += [method_entry(one) for one in more]
        score_run(tmp_path / name, {"m": columns}, methods=methods, model={"name": f"model {name}"})
    rows = {row["method"]: row for row in rows_of(verax("show", "a", "b", "-f", "json"), "m")}
    assert list(rows) == ["integrated_gradients (steps: 75 / 100)", "random", "lime"]
    both = rows["integrated_gradients (steps: 75 / 100)"]
    assert (both["run_0"], both["run_1"]) == (pytest.approx(0.15), pytest.approx(0.15))
    assert (rows["lime"]["run_0"], rows["lime"]["run_0_reason"]) == (None, "not in this run")
    terminal = verax("show", "a", "b").out
    assert "model a" in terminal
    assert "model b" in terminal
    assert "Not in every run: lime" in terminal


def masked_seed(folder: Path, seed: int, **card: Any) -> Run:
    fall = [[0, seed % 2, 1], [0, 1, 1], [0, 0, 1]]
    rows = {f"i{i}": row for i, row in enumerate(fall)}
    scores = [*masking_scores("random", rows), *masking_scores("best", {name: [0, 1, 1] for name in rows})]
    return seed_run(folder, scores, **card)


def test_masking_over_seeds(verax: CallVerax, tmp_path: Path) -> None:
    for seed in range(3):
        masked_seed(tmp_path / f"seed-{seed}", seed)
    answer = verax("show", *(f"seed-{seed}" for seed in range(3)), "--study", "masking", "-f", "json")
    rows = {row["method"]: row for row in rows_of(answer, "areas")}
    assert {row["over"] for row in rows.values()} == {"seeds"}
    # random is right at the middle point for 2, 1, 2 of 3 instances; best for none: 1/2 * 2/3, 1/3, 2/3
    assert rows["best"]["acu"] == pytest.approx((2 / 3 + 1 / 3 + 2 / 3) / 3 / 2)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"metrics": masking_metrics(5)}, "steps"),
        ({"data": {"name": "pairs", "hash": "other", "n": 3}}, "inputs"),
        ({"data": {"name": "pairs", "hash": "other", "n": 2}}, "number of inputs"),
        ({"model": {"name": "tiny", "hash": "x", "architecture": "Roberta"}}, "architecture"),
        ({"model": {"name": "tiny", "hash": "a", "architecture": "Bert"}}, "same model"),
    ],
)
def test_runs_that_do_not_belong_together_are_refused_with_the_difference(
    verax: CallVerax, tmp_path: Path, change: dict[str, Any], named: str
) -> None:
    masked_seed(tmp_path / "a", 0)
    masked_seed(tmp_path / "b", 1, **change)
    answer = verax("show", "a", "b", "--study", "masking")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert named in answer.err
    assert "a and b" in answer.err


def test_free_text_of_several_runs(verax: CallVerax, tmp_path: Path) -> None:
    free_text.text_run(tmp_path / "a")
    free_text.text_run(tmp_path / "b", card=free_text.card(model={"name": "large"}))
    free_text.text_run(tmp_path / "c")
    changed = [replace(one, parts=(split_words("Other."),)) for one in free_text.instances()]
    free_text.text_run(tmp_path / "d", instances=changed)
    make_run(tmp_path / "e", instances=free_text.instances())
    rows = rows_of(verax("show", "a", "b", "-f", "json"), "counterfactual")
    assert [row["model"] for row in rows] == ["tiny"] * 3 + ["large"] * 3
    rows = rows_of(verax("show", "a", "c", "-f", "json"), "counterfactual")
    assert [row["model"] for row in rows] == ["a"] * 3 + ["c"] * 3, "models of one name go by their folders"
    assert rows_of(verax("show", "a", "-f", "json"), "counterfactual")[2]["total"] == 4 / 6
    other = verax("show", "a", "d")
    assert (other.code, "is not the same text" in other.err) == (2, True)
    without = verax("show", "a", "e")
    assert (without.code, "e has no free-text explanations" in without.err) == (2, True)


def test_unified_of_several_runs(verax: CallVerax, tmp_path: Path) -> None:
    unified_word_run(tmp_path / "a")
    unified_word_run(tmp_path / "b")
    word_run(tmp_path / "words")
    rows = rows_of(verax("show", "a", "b", "--study", "unified", "-f", "json"), "comprehensiveness")
    assert [row["section"] for row in rows] == ["a"] * 2 + ["b"] * 2 + ["all runs"] * 2
    refused = verax("show", "a", "words", "--study", "unified")
    assert (refused.code, "words has fewer than two kinds" in refused.err) == (2, True)


# -- mistakes, problems, odd runs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [("show",), ("show", "run"), ("report",), ("compare", "run")])
@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir, Path.touch])
def test_what_is_no_run_is_one_line(
    verax: CallVerax, tmp_path: Path, command: tuple[str, ...], make: Callable[[Path], None]
) -> None:
    word_run(tmp_path / "run")
    make(tmp_path / "place")
    answer = verax(*command, "place")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: ")
    assert answer.err.count("\n") == 1
    assert "place" in answer.err


@pytest.mark.parametrize("command", [("show", "run", "./run"), ("compare", "run", "run"), ("show", "run", "link")])
def test_a_run_named_twice_is_refused(verax: CallVerax, tmp_path: Path, command: tuple[str, ...]) -> None:
    word_run(tmp_path / "run")
    (tmp_path / "link").symlink_to(tmp_path / "run")
    answer = verax(*command)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "twice" in answer.err


def test_a_run_that_no_study_applies_to(verax: CallVerax, tmp_path: Path) -> None:
    make_run(tmp_path / "run")
    answer = verax("show", "run")
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "no study" in answer.err


def test_debug_shows_where(verax: CallVerax) -> None:
    answer = verax("show", "nowhere", "--debug")
    assert answer.code == 2
    assert "Traceback" in answer.err


def test_what_is_missing_is_said_first_and_not_among_data(verax: CallVerax, tmp_path: Path) -> None:
    rows = word_rows(2)
    make_run(tmp_path / "run", **rows, plan=[*map(str, range(12)), "gone"])
    answer = verax("show", "run", "-f", "json")
    assert "12 of 13 rows done, 1 missing" in answer.err
    assert shown(answer, code=3)[0]["study"] == "leaderboard"
    word_run(tmp_path / "whole")
    for command in (("show", "run"), ("show", "run", "--table", "comp"), ("compare", "run", "whole")):
        first, _, rest = verax(*command).out.partition("; accuracy of the model")
        assert "12 of 13 rows done, 1 missing" in " ".join(first.split())
        assert rest, "every summary says how accurate the model is"
    word_run(tmp_path / "damaged")
    shard = next((tmp_path / "damaged" / "shards").glob("explanations-*"))
    shard.write_bytes(b"x" + shard.read_bytes()[1:])
    answer = verax("show", "damaged", "-f", "json")
    assert shard.name in answer.err
    assert len(rows_of(answer, "comp", code=3)) == 2
    word_run(tmp_path / "odd", card=word_rows()["card"] | {"counts": "many"})
    assert "counts" in verax("show", "odd").out
    assert verax("show", "whole").out.count("comes from one joint test of all its methods") == 1
    word_run(tmp_path / "fine")
    assert verax("show", "fine").err == ""


def test_a_run_is_read_once_and_its_scores_stay_columns(verax: CallVerax, tmp_path: Path, reading: Reading) -> None:
    word_run(tmp_path / "words", 50)
    masked_word_run(tmp_path / "masked", n=20)
    unified_word_run(tmp_path / "kinds", n=20)
    for name in ("words", "masked", "kinds"):
        for format_ in ("terminal", "json"):
            reading.clear()
            assert verax("show", name, "-f", format_).code == 0
            assert reading.opened == [Path(name)]
            assert reading.decoded == {}
    reading.clear()
    assert verax("compare", "words", "masked").code == 2
    assert set(reading.decoded) <= {"instances"}


HOSTILE = "=x\x1b[31m<script>&|\\input{a}[bold]\u202e_$"


@pytest.mark.parametrize("format_", FORMATS)
def test_hostile_names_mean_nothing_in_any_format(verax: CallVerax, tmp_path: Path, format_: str) -> None:
    card = run_card([method_entry(HOSTILE)], [metric_entry(HOSTILE, reference=HOSTILE, parameters={HOSTILE: HOSTILE})])
    card |= {"model": {"name": HOSTILE}, "data": {"name": HOSTILE}}
    scores = [Score(f"id-{i}", HOSTILE, HOSTILE, 0.1 * i) for i in range(3)]
    for name in ("a", "b"):
        word_run(tmp_path / name, card=card, scores=scores)
    for runs in (["a"], ["a", "b"]):
        answer = verax("show", *runs, "-f", format_)
        assert answer.code == 0, answer.err
        assert not set(answer.out) & set("\x1b\u202e")
        if format_ == "latex":
            assert r"\textbackslash{}input\{a\}" in answer.out
            assert r"\input" not in answer.out
        if format_ == "markdown":
            assert "<script>" not in answer.out
        if format_ == "csv":
            lines = [line for line in answer.out.splitlines() if line and not line.startswith("#")]
            fields = [field for row in csv.reader(lines) for field in row]
            assert fields
            assert not [field for field in fields if field.startswith("=")]
        if format_ == "terminal":
            assert "[bold]" in answer.out


# -- compare ------------------------------------------------------------------------------------------------------


@pytest.fixture
def two(tmp_path: Path) -> tuple[Run, Run]:
    """Two runs on the same thirty inputs; `x` is better in the second, which lacks a method and a metric."""
    values = [0.5 + 0.001 * i for i in range(30)]
    higher = [value + 0.2 for value in values]
    first = score_run(tmp_path / "a", {"m": {"x": values, "old": values, "y": values}, "only": {"x": values}})
    return first, score_run(tmp_path / "b", {"m": {"x": higher, "y": values}})


def test_two_runs_compared_in_every_format(verax: CallVerax, two: tuple[Run, Run]) -> None:
    rows = rows_of(verax("compare", "a", "b", "-f", "json"), "comparison")
    assert [(row["method"], row["metric"], row["n"], row["change"]) for row in rows] == [
        ("x", "m", 30, "better"),
        ("y", "m", 30, "equal"),
    ]
    assert rows[0]["difference"] == pytest.approx(0.2)
    assert rows[0]["p"] == pytest.approx(1e-4), "no drawn flip is as extreme"
    (head, *body) = csv.reader(io.StringIO(verax("compare", "a", "b", "-f", "csv").out))
    assert {"method", "metric", "mean_a", "mean_b", "n", "p", "higher_is_better"} <= set(head)
    assert len(body) == 2
    assert r"m $\uparrow$ & x & 0.515 & 0.715 & 0.200 & " in verax("compare", "a", "b", "-f", "latex").out
    assert "| m ↑ | x | 0.515 | 0.715 | 0.200 |" in verax("compare", "a", "b", "-f", "markdown").out
    terminal = verax("compare", "a", "b").out
    assert "better" in terminal
    assert "m ↑" in terminal, "of several metrics it must be clear which one a row is of"
    assert "a" in terminal


def test_what_only_one_of_two_runs_has_is_named(verax: CallVerax, two: tuple[Run, Run]) -> None:
    (study,) = shown(verax("compare", "a", "b", "-f", "json"))
    assert [any(name in sentence for sentence in study["findings"]) for name in ("old", "only")] == [True, True]
    assert "old" in verax("compare", "b", "a").out


def test_runs_that_cannot_be_compared_are_refused(verax: CallVerax, tmp_path: Path, two: tuple[Run, Run]) -> None:
    changed = [replace(one, parts=(split_words("Other."),)) for one in two[0].inputs()]
    make_run(tmp_path / "texts", instances=changed, scores=two[0].score_rows())
    renamed = [replace(one, id=f"new {one.id}") for one in two[0].inputs()]
    make_run(tmp_path / "ids", instances=renamed)
    make_run(tmp_path / "empty", instances=two[0].inputs())
    for name, word in (("texts", "not the same text"), ("ids", "share no instance"), ("empty", "share no method")):
        answer = verax("compare", "a", name)
        assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)
        assert word in answer.err


# -- report -------------------------------------------------------------------------------------------------------


def test_a_report_is_written_where_it_is_asked_for(verax: CallVerax, tmp_path: Path) -> None:
    word_run(tmp_path / "run", 5)
    answer = verax("report", "run")
    assert (answer.code, answer.out) == (0, "Wrote run/report.html\n")
    assert len(parse((tmp_path / "run" / "report.html").read_text("utf-8")).all("article")) == 5
    verax("report", "run", "-o", "other.html", "--instances", "2")
    assert len(parse((tmp_path / "other.html").read_text("utf-8")).all("article")) == 2
    assert verax("report", "run", "--instances", "-1").code == 2


def test_a_report_reads_the_instances_that_it_shows(verax: CallVerax, tmp_path: Path, reading: Reading) -> None:
    word_run(tmp_path / "run", 40)
    reading.clear()
    assert verax("report", "run", "--instances", "3").code == 0
    assert reading.opened == [Path("run")]
    assert reading.decoded == {"instances": 3, "predictions": 3, "explanations": 6, "scores": 6}
