"""Tables of leaderboards and comparisons: their values, marks and reasons."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.runs import make_run, method_entry, metric_entry, run_card, score_run, word_rows, word_run
from support.tables import heads_of, lines_of
from verax.results.manifest import MetricEntry
from verax.results.render.cells import write
from verax.results.render.numbers import estimate, number
from verax.results.run import Run
from verax.results.table import Cell, Column, Table
from verax.stats.intervals import bca
from verax.stats.joint import TooFew
from verax.studies.leaderboard import STUDY
from verax.studies.leaderboard.analysis import Board, Standing, analyse, contrast
from verax.studies.leaderboard.tables import _cautions, _cell, _undecided, _value, comparison, ranking_verdict
from verax.types import Estimate


def tables(*runs: Run) -> dict[str, Table]:
    found = STUDY.apply(runs)
    assert found is not None
    return {table.name: table for table in found.tables}


def standing(
    method: str, mean: float | None, *, best: bool = False, p: float | None = 0.01, random: bool = False
) -> Standing:
    value = None if mean is None else Estimate(mean, mean - 0.1, mean + 0.1, 9)
    better = p is not None and p < 0.05
    alike = p is not None and not better
    return Standing(method, "random", random, value, 0.4, p, better, False, alike, best, "a", (), {})


def board(*standings: Standing, few: TooFew | None = None, differ: bool = True) -> Board:
    return Board(MetricEntry(label="m", name="m", higher_is_better=True), standings, 9, few, differ)


def estimated(values: list[float]) -> str:
    """The mean with its interval, as tables show it."""
    return estimate(Estimate(sum(values) / len(values), *(bca(np.array(values)) or ())))


def separate(n: int = 30) -> dict[str, list[float]]:
    """Two methods that are alike and better than random on every instance."""
    levels = (("random", 0.1), ("a", 0.5), ("b", 0.5))
    return {name: [value + 0.001 * (i % 3) for i in range(n)] for name, value in levels}


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
    assert cells["Random"] == [estimated(separate()["random"]), "not applicable"]
    assert [row.baseline for row in found["overview"].rows] == [True, False, False]
    ranking = found["comp"]
    assert heads_of(ranking) == ["Method", "Group", "Mean", "p against random", "n", "Skipped"]
    assert [line[:2] for line in lines_of(ranking)] == [["a", "a"], ["b", "a"], ["Random", "b"]]
    assert lines_of(ranking)[0][2:] == [f"◆ {estimated(separate()['a'])}", "< 0.001", "30", "0"]
    assert [row.compared_with for row in ranking.rows] == [2, 2, 2], "the grey line of each row is random"
    record = ranking.records()[0]
    assert (record["metric"], record["higher_is_better"], record["mean_marks"]) == ("comp", True, "best")
    assert record["random"] == pytest.approx(0.101)


@pytest.mark.parametrize(
    ("best", "p", "marks"),
    [(True, 0.001, ["best"]), (True, 0.6, ["best", "like_random"]), (False, 0.6, ["like_random"]), (False, None, [])],
)
def test_marks(best: bool, p: float | None, marks: list[str]) -> None:
    assert [mark.name for mark in _cell(standing("x", 0.5, best=best, p=p)).marks] == marks


def test_a_missing_value_says_whether_it_failed_was_skipped_or_does_not_apply() -> None:
    for reasons, expected in (({"failed": 1, "empty": 3}, "failed"), ({"empty": 1}, "skipped"), ({"no_gold": 2}, None)):
        cell = _cell(replace(standing("x", None), reasons=reasons))
        assert cell.reason == (expected or "not applicable")


def test_verdict_of_each_method(tmp_path: Path) -> None:
    worse = {**separate(), "low": [0.0 + 0.001 * (i % 7) for i in range(30)], "gone": [None] * 30}
    found = STUDY.apply([score_run(tmp_path, {"comp": worse, "agree": {"a": [0.5] * 30, "random": [0.5] * 30}})])
    assert found is not None
    assert found.verdict is not None
    rows = {str(row["method"]): row for row in found.verdict.records()}
    assert list(rows) == ["a", "b", "low", "gone"], "random itself gets no verdict"
    assert rows["a"]["verdict"] == "better than random on 1 of 2"
    assert rows["a"]["better"] == "comp (p < 0.001)"
    assert rows["a"]["not_better"] == "agree (p = 1.000)"
    assert rows["b"]["verdict"] == "better than random"
    assert rows["low"]["verdict"] == "worse than random"
    assert str(rows["low"]["beaten_by"]).endswith(" (comp)")
    assert rows["gone"]["caution"] == "no value under comp (empty)"


def test_what_does_not_apply_is_no_reason_to_be_careful() -> None:
    undefined, skipped = (replace(standing("x", None), reasons={reason: 3}) for reason in ("no_gold", "empty"))
    by_metric = {"agree": (board(undefined), undefined), "comp": (board(skipped), skipped)}
    assert _cautions(by_metric, any_decided=False) == ["no value under comp (empty)"]
    assert _undecided(by_metric) == "no value"
    del by_metric["comp"]
    assert _cautions(by_metric, any_decided=False) == []
    assert _undecided(by_metric) == "not applicable"


def test_a_metric_with_too_few_inputs_is_not_counted_as_decided(tmp_path: Path) -> None:
    few = {"random": [0.1, 0.2, 0.3], "a": [0.4, 0.5, 0.6], "like": [0.2, 0.1, 0.4]}
    alike = separate()["random"][::-1]
    found = STUDY.apply([score_run(tmp_path, {"comp": {**separate(), "like": alike}, "few": few})])
    assert found is not None
    assert found.verdict is not None
    rows = {str(row["method"]): row for row in found.verdict.records()}
    assert rows["a"]["verdict"] == "better than random on 1 of 2, undecided on 1"
    assert rows["like"]["verdict"] == "not better than random on 1 of 2, undecided on 1"
    assert rows["a"]["caution"] == rows["like"]["caution"] == "few has too few inputs to tell"


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
    assert lines_of(tables(run)["overview"]) == [["x", "1.000", "not applicable"], ["y", "not applicable", "1.000"]]


def test_verdict_of_a_metric() -> None:
    x, y, random = standing("x", 3.0, best=True), standing("y", 2.0), standing("random", 1.0, p=None, random=True)
    weak = standing("z", 1.5, p=0.2)
    assert ranking_verdict(board(x, y, random)) == "x may be best: no method is significantly better."
    both = ranking_verdict(board(x, replace(y, best=True), weak, random))
    assert both.startswith("x and y may be best: ")
    assert both.endswith("Not significantly different from random: z.")
    assert ranking_verdict(board(*(standing(f"m{i}", 1.0, best=True) for i in range(9)))).startswith(
        "m0, m1, m2, m3, m4, m5 and 3 more may"
    )
    assert ranking_verdict(board(x), str.upper).startswith("X has 3.000")
    assert "only random explanations" in ranking_verdict(board(replace(random, mean=Estimate(4.0, n=9)), y))
    assert "No two of 2 methods" in ranking_verdict(board(x, y, differ=False))
    assert ranking_verdict(board(standing("x", None))) == "No method has a value under this metric."
    assert "Values are missing" in ranking_verdict(board(x, replace(y, mean=Estimate(2.0, n=8))))
    few = ranking_verdict(board(x, y, few=TooFew(25, 12, 14), differ=False))
    assert few == "Too few inputs to rank 25 methods: 12 where at least 14 are needed. Nothing is marked."


def test_what_is_like_random_is_not_called_best() -> None:
    better, alike = standing("x", 3.0, best=True), standing("y", 2.0, best=True, p=0.2)
    random, worse = standing("random", 1.0, p=None, random=True), replace(standing("z", 0.5), better=False, worse=True)
    assert ranking_verdict(board(better, alike, random)).startswith(
        "x may be best: no method is significantly better. No method beats y either, which may be no better than "
        "random. Not"
    )
    none = ranking_verdict(board(alike, random, worse))
    assert none.startswith("No method is significantly better than random, and none beats y. Not significantly")
    assert " best" not in none


def test_one_input_is_too_few_and_not_without_a_baseline(tmp_path: Path) -> None:
    found = STUDY.apply([score_run(tmp_path / "a", {"m": {"x": [0.5], "random": [0.1]}})])
    assert found is not None
    assert found.verdict is not None
    assert found.verdict.verdict.startswith("Too few inputs to rank 2 methods: 1 where at least 6 are needed.")
    assert [row["verdict"] for row in found.verdict.records()] == ["too few inputs to tell"]
    assert not any(table.marks for table in found.tables), "nothing is marked"
    alone = STUDY.apply([score_run(tmp_path / "b", {"m": {"x": [0.5] * 9, "y": [0.1] * 9}})])
    assert alone is not None
    assert alone.verdict is not None
    assert {row["verdict"] for row in alone.verdict.records()} == {"no random explanation to compare with"}


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
    assert list(cells) == ["integrated_gradients (steps: 75 / 100)", "Random", "skipped", "Beam"]
    assert ["0.050" in cell for cell in cells["Random"]] == [True, True]
    assert cells["Beam"] == ["not in this run", "0.500"]
    assert cells["skipped"] == ["skipped", "not in this run"]
    assert [row.baseline for row in found["m"].rows] == [False, True, False, False]
    for run in runs:
        assert str(run.folder) in found["m"].caption
    findings = STUDY.apply(runs)
    assert findings is not None
    assert [name in findings.sentences[0] for name in ("skipped", "beam", "random")] == [True, True, False]


def test_what_an_unfinished_run_lacks_is_not_computed(tmp_path: Path) -> None:
    rows = word_rows(2, card=run_card([method_entry("random"), method_entry("loo"), method_entry("lime")], []))
    run = make_run(tmp_path, **rows, plan=[*map(str, range(12)), "gone"])
    found = tables(run)
    assert [line[1] for line in lines_of(found["overview"])][2] == "not computed"
    assert "not computed" in found["comp"].caption
    assert [line[1] for line in lines_of(tables(make_run(tmp_path / "whole", **rows))["overview"])][
        2
    ] == "not applicable"


def test_brackets_are_explained_where_there_are_some(tmp_path: Path) -> None:
    few, many = (tables(score_run(tmp_path / str(n), {"m": {"x": [0.1 * i for i in range(n)]}})) for n in (5, 6))
    assert "no intervals" in few["overview"].caption
    assert "In brackets" in many["overview"].caption


def test_a_run_without_the_metric_has_an_empty_column(tmp_path: Path) -> None:
    runs = [
        score_run(tmp_path / "a", {"m": {"x": [0.5]}}, model={"name": "a"}),
        score_run(tmp_path / "b", {"n": {"x": [0.5]}}, model={"name": "b"}),
    ]
    found = tables(*runs)
    assert lines_of(found["m"]) == [["x", "0.500", "not in this run"]]
    assert lines_of(found["n"]) == [["x", "not in this run", "0.500"]]


def test_two_runs_compared(tmp_path: Path) -> None:
    first = score_run(tmp_path / "a", {"m": separate(), "n": {"a": [1.0]}})
    second = score_run(
        tmp_path / "b", {"m": {**separate(), "a": [0.9 + 0.002 * i for i in range(30)]}, "n": {"a": [2.0]}}
    )
    table = comparison(contrast(first, second), (first, second))
    cells = {(line[0], line[1]): line[2:] for line in lines_of(table)}
    assert ("m ↑", "Random") in cells, "display names"
    assert cells["m ↑", "a"] == ["0.501", "0.929", "0.428", "< 0.001", "30", "better"]
    assert cells["m ↑", "b"] == ["0.501", "0.501", "0.000", "1.000", "30", "equal"]
    assert cells["n ↑", "a"] == ["1.000", "2.000", "1.000", "–", "1", "too few inputs"]
    assert str(first.folder) in table.caption
    assert set(table.records()[0]) >= {"method", "metric", "mean_a", "mean_b", "n", "p", "higher_is_better"}


def test_rounding_noise_prints_as_0(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.random(30)
    runs = [
        score_run(
            tmp_path / str(i), {"m": {"x": (values + shift).tolist()}}, model={"name": str(i), "dtype": "float32"}
        )
        for i, shift in enumerate((0.0, -3.3e-9))
    ]
    table = comparison(contrast(*runs), (runs[0], runs[1]))
    (line,) = lines_of(table)
    assert line[4:6] == ["0.000", "1.000"]
    assert number(6.9e-18) == number(-3.3e-9) == "0.000"
    assert number(4.3e-4) == "4.30e-04"
    cell = Cell(0.5, difference=Estimate(-6.9e-18, -1e-17, 1e-17))
    assert write(Column("x"), cell).difference == "Δ +0.000 [0.000, 0.000]"


def test_reading_says_how_many_instances_there_are(tmp_path: Path) -> None:
    result = analyse([word_run(tmp_path, 3)])
    assert result is not None
    assert "3 instances" in STUDY.reading(result)[0]


def test_runs_of_several_models_on_the_same_data_have_a_mean_and_a_deviation(tmp_path: Path) -> None:
    """0.2, 0.3 and 0.7: mean 0.4, and a deviation of a sample of sqrt(0.07). Other data have no mean in common."""
    entries = [method_entry("lime"), method_entry("random")]
    runs = [
        score_run(
            tmp_path / name,
            {"plausibility": {"lime": [value, value], "random": [0.1, 0.1]}},
            methods=entries,
            model={"name": name},
            data={"hash": "d"},
        )
        for name, value in (("a", 0.2), ("b", 0.3), ("c", 0.7))
    ]
    found = tables(*runs)["plausibility"]
    assert heads_of(found) == ["Method", "a", "b", "c", "Mean ± deviation over runs"]
    row = found.records()[0]
    assert (row["mean"], row["sd"]) == pytest.approx((0.4, 0.07**0.5))
    assert row["over_runs"] == "0.400 ± 0.265"


def test_too_few_inputs_under_one_metric_are_named_with_it(tmp_path: Path) -> None:
    """Three of twelve inputs have a value under the second metric: only there nothing can be marked."""
    clear, few = [0.5] * 12, [0.5] * 3 + [None] * 9
    values = [0.1 + i / 100 for i in range(12)]
    scores = {"full": {"x": clear, "random": values}, "sparse": {"x": few, "random": values[:3] + [None] * 9}}
    found = STUDY.apply([score_run(tmp_path / "a", scores)])
    assert found is not None
    assert found.verdict is not None
    assert found.verdict.verdict.startswith("sparse: Too few inputs to rank 2 methods: 3 where at least 6 are needed.")
    assert "full" not in found.verdict.verdict
    fewer = {"sparse": scores["sparse"], "one": {"x": few[:1], "random": values[:1]}}
    both = STUDY.apply([score_run(tmp_path / "b", fewer)])
    assert both is not None
    assert both.verdict is not None
    assert both.verdict.verdict == (
        "sparse: Too few inputs to rank 2 methods: 3 where at least 6 are needed. Nothing is marked. "
        "one: Too few inputs to rank 2 methods: 1 where at least 6 are needed. Nothing is marked."
    )
