"""Tables of leaderboards and comparisons: their values, marks and reasons."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.runs import method_entry, metric_entry, score_run, word_run
from support.tables import heads_of, lines_of
from verax.results.manifest import MetricEntry
from verax.results.render.numbers import estimate
from verax.results.run import Run
from verax.results.table import Table
from verax.stats import bca
from verax.stats.joint import Compared
from verax.studies.leaderboard import STUDY
from verax.studies.leaderboard.analysis import Board, Standing, analyse, contrast
from verax.studies.leaderboard.tables import _cell, _value, comparison, verdict
from verax.types import Estimate


def tables(*runs: Run) -> dict[str, Table]:
    found = STUDY.apply(runs)
    assert found is not None
    return {table.name: table for table in found.tables}


def standing(method: str, mean: float | None, group: str = "a", p: float | None = 0.01) -> Standing:
    value = None if mean is None else Estimate(mean, mean - 0.1, mean + 0.1)
    return Standing(method, "random", Compared(value, 5, 0.4, p, p, group), 0, {})


def board(*standings: Standing) -> Board:
    return Board(MetricEntry(label="m", name="m", higher_is_better=True), standings)


def estimated(values: list[float]) -> str:
    """The mean with its interval, as tables show it."""
    return estimate(Estimate(sum(values) / len(values), *(bca(np.array(values)) or ())))


def separate(n: int = 30) -> dict[str, list[float]]:
    """Two methods that are alike and better than random on every instance."""
    levels = (("random", 0.1), ("a", 0.5), ("b", 0.5))
    return {name: [value + 0.001 * (i % 5) for i in range(n)] for name, value in levels}


def test_overview_and_rankings_of_one_run(tmp_path: Path) -> None:
    run = score_run(
        tmp_path, {"comp": separate(), "suff": {"a": [0.5, 0.25]}}, metrics=[metric_entry("suff", higher=False)]
    )
    found = tables(run)
    assert list(found) == ["overview", "comp", "suff"]
    assert heads_of(found["overview"]) == ["Method", "comp ↑", "suff ↓"]
    cells = {row[0]: row[1:] for row in lines_of(found["overview"])}
    assert list(cells) == ["Random", "a", "b"], "display names"
    assert found["overview"].records()[0]["method"] == "random"
    assert cells["Random"] == [estimated(separate()["random"]), "no scores"]
    assert [row.baseline for row in found["overview"].rows] == [True, False, False]
    ranking = found["comp"]
    assert heads_of(ranking) == ["Method", "Group", "Mean", "p against random", "n", "Skipped"]
    assert [line[:2] for line in lines_of(ranking)] == [["a", "a"], ["b", "a"], ["Random", "b"]]
    assert lines_of(ranking)[0][2:] == [f"◆ {estimated(separate()['a'])}", "< 0.001", "30", "0"]
    assert [row.compared_with for row in ranking.rows] == [2, 2, 2], "the grey line of each row is random"
    record = ranking.records()[0]
    assert (record["metric"], record["higher_is_better"], record["mean_marks"]) == ("comp", True, "best")
    assert record["random"] == pytest.approx(0.102)


@pytest.mark.parametrize(
    ("best", "p", "marks"),
    [
        (True, 0.001, ["best"]),
        (True, 0.6, ["best", "like_random"]),
        (False, 0.6, ["like_random"]),
        (False, 0.001, []),
        (False, 0.05, ["like_random"]),
        (False, 0.049, []),
        (False, None, []),
    ],
)
def test_the_best_that_is_no_better_than_random_has_both_marks(best: bool, p: float | None, marks: list[str]) -> None:
    one = standing("x", 0.5, "a", p)
    made = board(one) if best else board(standing("y", 0.9, "b"), one)
    assert [mark.name for mark in _cell(made, one).marks] == marks


def test_missing_values_are_counted_with_their_reasons(tmp_path: Path) -> None:
    run = score_run(tmp_path, {"m": {"x": [None, None, 1.0], "y": [None, None, None]}})
    ranking = tables(run)["m"]
    assert [line[-1] for line in lines_of(ranking)] == ["2", "3"]
    assert ranking.rows[0].cells[5].details == ("empty: 2",)
    assert lines_of(ranking)[1][2] == "–"


def test_methods_without_a_score_under_a_metric_are_named(tmp_path: Path) -> None:
    run = score_run(tmp_path, {"m": {"x": [1.0]}, "n": {"y": [1.0]}})
    assert "y" in tables(run)["m"].caption
    assert "x" in tables(run)["n"].caption
    assert lines_of(tables(run)["overview"]) == [["x", "◆ 1.000", "no scores"], ["y", "no scores", "◆ 1.000"]]


def test_verdicts() -> None:
    rows = (
        standing("x", 3.0, "a"),
        standing("y", 2.0, "ab"),
        standing("z", 1.5, "b", p=0.2),
        standing("random", 1.0, "b", p=None),
    )
    said = verdict(board(*rows))
    assert said.startswith("x has the best value, 3.000; y ")
    assert said.endswith("random: z.")
    alone = verdict(board(standing("x", 3.0, "a"), standing("y", 2.0, "b")))
    assert alone.startswith("x has the best value, 3.000, ")
    assert " y" not in alone
    assert "x" not in verdict(board(standing("x", None)))
    many = verdict(board(standing("b", 9.0), *(standing(f"m{i}", 1.0) for i in range(9))))
    assert "m0, m1, m2, m3, m4, m5 and 3 more" in many
    assert verdict(board(standing("x", 3.0)), str.upper).startswith("X ")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.5, "0.5"),
        ({"random": {}}, "random"),
        ({"embedding": {"encoder": None, "extract": "itermax"}}, "embedding(extract=itermax)"),
        ({"louvain": {"over": {"bivariate": {"budget": 8}}, "seed": 0}}, "louvain(over=bivariate(budget=8), seed=0)"),
        ({"of": "loss", "space": "logit"}, "(of=loss, space=logit)"),
        ({}, ""),
    ],
)
def test_a_parameter_with_parameters_reads_like_a_call(value: Any, said: str) -> None:
    assert _value(value) == said


def test_captions_have_the_parameters_and_the_reference(tmp_path: Path) -> None:
    entry = metric_entry("m", parameters={"removal": "mask", "bins": [0.1, 0.2]}, reference="Someone 2020")
    caption = tables(score_run(tmp_path, {"m": {"x": [1.0]}}, metrics=[entry]))["m"].caption
    for piece in ("removal = mask", "bins = [0.1, 0.2]", "Someone 2020"):
        assert piece in caption


def test_a_metric_without_a_direction_says_so(tmp_path: Path) -> None:
    titles = [
        tables(
            score_run(tmp_path / str(higher), {"m": {"x": [1.0]}}, metrics=[{"label": "m", "higher_is_better": higher}])
        )["m"].title
        for higher in (True, False, None)
    ]
    assert len(set(titles)) == 3
    assert "not recorded" in titles[2]


def test_several_runs_have_a_column_each_and_nothing_is_dropped(tmp_path: Path) -> None:
    gradients = [
        method_entry(f"integrated_gradients(steps={n})", "integrated_gradients", parameters={"steps": n})
        for n in (75, 100)
    ]
    runs = [
        score_run(
            tmp_path / name,
            {"m": {entry["label"]: [0.1 * k, 0.2], "random": [0.0, 0.1], **more}},
            methods=[entry, method_entry("random"), *map(method_entry, more)],
            model={"name": name},
        )
        for k, (name, entry, more) in enumerate(
            [("small", gradients[0], {"skipped": [None, None]}), ("large", gradients[1], {"beam": [0.5, 0.5]})], 1
        )
    ]
    found = tables(*runs)
    assert list(found) == ["m"]
    assert heads_of(found["m"]) == ["Method", "small", "large"]
    cells = {row[0]: row[1:] for row in lines_of(found["m"])}
    assert list(cells) == ["integrated_gradients (steps: 75 / 100)", "random", "skipped", "beam"]
    assert ["0.050" in cell for cell in cells["random"]] == [True, True]
    assert cells["beam"] == ["not in this run", "◆○ 0.500 [0.500, 0.500]"]
    assert cells["skipped"] == ["–", "not in this run"]
    assert [row.baseline for row in found["m"].rows] == [False, True, False, False]
    for run in runs:
        assert str(run.folder) in found["m"].caption
    findings = STUDY.apply(runs)
    assert findings is not None
    assert [name in findings.sentences[0] for name in ("skipped", "beam", "random")] == [True, True, False]


def test_a_run_without_the_metric_has_an_empty_column(tmp_path: Path) -> None:
    runs = [
        score_run(tmp_path / "a", {"m": {"x": [0.5]}}, model={"name": "a"}),
        score_run(tmp_path / "b", {"n": {"x": [0.5]}}, model={"name": "b"}),
    ]
    found = tables(*runs)
    assert lines_of(found["m"]) == [["x", "◆ 0.500", "not in this run"]]
    assert lines_of(found["n"]) == [["x", "not in this run", "◆ 0.500"]]


def test_two_runs_compared(tmp_path: Path) -> None:
    first = score_run(tmp_path / "a", {"m": separate(), "n": {"a": [1.0]}})
    second = score_run(
        tmp_path / "b", {"m": {**separate(), "a": [0.9 + 0.002 * i for i in range(30)]}, "n": {"a": [2.0]}}
    )
    table = comparison(contrast(first, second), ("A name", "B name"))
    cells = {(row.section, line[0]): line[1:] for row, line in zip(table.rows, lines_of(table), strict=True)}
    assert cells["m ↑", "a"] == ["0.502", "0.929", "0.427", "< 0.001", "30", "better"]
    assert cells["m ↑", "b"] == ["0.502", "0.502", "0.000", "1.000", "30", "not significantly different"]
    assert cells["n ↑", "a"] == ["1.000", "2.000", "1.000", "–", "1", "unknown"]
    assert "A name" in table.caption
    assert set(table.records()[0]) >= {"method", "metric", "mean_a", "mean_b", "n", "p", "p_holm", "higher_is_better"}


def test_reading_says_how_many_instances_there_are(tmp_path: Path) -> None:
    result = analyse([word_run(tmp_path, 3)])
    assert result is not None
    assert "3 instances" in STUDY.reading(result)[0]
