"""Leaderboards of one run and of several, and two runs compared, on scores small enough to check by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import free_text
from support.reading import Reading
from support.runs import (
    make_run,
    method_entry,
    metric_entry,
    plain_instances,
    run_card,
    score_run,
    scores_of,
    text_of,
    word_run,
)
from verax.results.run import Run
from verax.stats.intervals import bca
from verax.stats.joint import joint_differences, joint_test
from verax.studies.leaderboard.analysis import Board, Contrast, Leaderboard, Standing, analyse, contrast
from verax.types import Instance, Score


def boards(*runs: Run) -> Leaderboard:
    found = analyse(runs)
    assert found is not None
    return found


def board(run: Run, metric: str = "m") -> Board:
    return boards(run).runs[0].boards[metric]


def by_method(made: Board) -> dict[str, Standing]:
    return {one.method: one for one in made.standings}


def test_a_table_by_hand(tmp_path: Path) -> None:
    loo, random = [0.5, None, 0.7, 0.9, 0.6, 0.8, 0.4], [0.1, 0.2, None, 0.3, 0.2, 0.4, 0.1]
    run = score_run(tmp_path, {"aopc": {"loo": loo, "random": random, "none": [None] * 7}})
    assert [one.method for one in board(run, "aopc").standings] == ["loo", "random", "none"]
    first, second, last = boards(run).records()
    low, high = bca(np.array([0.5, 0.7, 0.9, 0.6, 0.8, 0.4])) or (None, None)
    # five differences of one sign: 2 of 32 flips are as extreme
    assert first == {
        "method": "loo", "metric": "aopc", "mean": pytest.approx(3.9 / 6), "low": low, "high": high, "n": 6,
        "skipped": 1, "failed": 0, "not_applicable": 0, "random": pytest.approx(1.1 / 5), "p": pytest.approx(1 / 16),
        "best": False, "higher_is_better": True, "group": "",
    }  # fmt: skip
    assert (second["n"], second["skipped"], second["p"]) == (6, 1, None)
    assert [last[key] for key in ("mean", "low", "n", "skipped", "p", "group")] == [None, None, 0, 7, None, ""]
    assert by_method(board(run, "aopc"))["none"].reasons == {"empty": 7}


def test_failed_skipped_and_not_applicable_are_three_things(tmp_path: Path) -> None:
    reasons = ("failed", "no_gold", "needs_interactions", "empty", "no_signal")
    scores = [Score(f"i{i}", "x", "m", None, reason) for i, reason in enumerate(reasons)]
    (row,) = boards(make_run(tmp_path, scores=scores, instances=plain_instances(scores))).records()
    assert (row["failed"], row["not_applicable"], row["skipped"], row["n"]) == (1, 2, 2, 0)


@pytest.mark.parametrize(("higher", "order"), [(True, ["c", "b", "a", "none"]), (False, ["a", "b", "c", "none"])])
def test_best_first_in_the_direction_of_the_metric(tmp_path: Path, higher: bool, order: list[str]) -> None:
    table = {"none": [None], "b": [2.0], "a": [1.0], "c": [3.0]}
    run = score_run(tmp_path, {"m": table}, metrics=[metric_entry("m", higher=higher)])
    assert [one.method for one in board(run).standings] == order


def drawn_board(folder: Path, values: np.ndarray, *, higher: bool = True) -> Board:
    """A board of drawn scores: the first method is random, NaN where there is none."""
    names = ["random", *(f"m{i}" for i in range(1, values.shape[1]))]
    table = {
        name: [None if np.isnan(value) else float(value) for value in column]
        for name, column in zip(names, values.T, strict=True)
    }
    return board(score_run(folder, {"m": table}, metrics=[metric_entry("m", higher=higher)]))


def test_the_best_are_those_that_no_other_method_beats(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(100, 4))
    table = {"apart": noise[:, 0], "tied": 3 + noise[:, 1], "as well": 3 + noise[:, 2], "between": 2.0 + noise[:, 3]}
    made = board(score_run(tmp_path, {"m": {name: column.tolist() for name, column in table.items()}}))
    assert {one.method for one in made.best} == {"tied", "as well"}
    assert set(by_method(made)["between"].beaten_by) == {"tied", "as well"}
    assert set(by_method(made)["apart"].beaten_by) == {"tied", "as well", "between"}
    assert board(score_run(tmp_path / "none", {"m": {"x": [None]}})).best == ()


def test_twelve_inputs_do_not_rank_twenty_five_methods(tmp_path: Path) -> None:
    made = drawn_board(tmp_path, np.random.default_rng(0).normal(size=(12, 25)))
    assert made.too_few == (25, 12, 14)
    assert made.best == ()
    assert {one.group for one in made.standings} == {""}


def test_random_is_never_best_however_good_it_is(tmp_path: Path) -> None:
    made = drawn_board(tmp_path, np.random.default_rng(0).normal([3.0, 0.0, 0.0], 1.0, size=(40, 3)))
    assert made.standings[0].method == "random"
    assert made.best == ()
    assert [one.worse for one in made.standings] == [False, True, True]


def test_a_second_random_explanation_is_never_best(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    columns = {"random": rng.normal(size=40), "random(seed=1)": rng.normal(2, 1, 40), "x": rng.normal(size=40)}
    methods = [method_entry("random"), method_entry("random(seed=1)", "random"), method_entry("x")]
    table = {name: column.tolist() for name, column in columns.items()}
    made = board(score_run(tmp_path, {"m": table}, methods=methods))
    assert by_method(made)["x"].beaten_by == ("random(seed=1)",)
    assert made.best == ()


def test_rounding_noise_is_a_tie(tmp_path: Path) -> None:
    """A difference of 3.3e-9 on every input is noise for a float32 model, and a difference for a float64 one."""
    base = np.random.default_rng(1).random(30)
    table = {"m": {"random": base.tolist(), "x": (base + 3.3e-9).tolist()}}
    noisy = by_method(board(score_run(tmp_path / "32", table, model={"name": "m", "dtype": "float32"})))["x"]
    exact = by_method(board(score_run(tmp_path / "64", table, model={"name": "m", "dtype": "float64"})))["x"]
    assert (noisy.p, noisy.like_random) == (1.0, True)
    assert exact.better


def test_methods_keep_the_order_of_the_card_and_those_of_the_rows_come_last(tmp_path: Path) -> None:
    scores = scores_of("late", {"b": [1.0], "a": [1.0]}) + scores_of("early", {"c": [1.0], "b": [1.0]})
    card = run_card([method_entry("c"), method_entry("a"), method_entry("z")], [])
    result = boards(make_run(tmp_path, card=card, scores=scores))
    assert [one.name for one in result.methods] == ["c", "a", "z", "b"]
    assert list(result.runs[0].boards) == ["late", "early"]


def test_each_method_is_tested_against_the_random_explanation_of_its_own_kind(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    names = ("random", "x", "random_span", "spans", "loose")
    table = {name: rng.normal(0.1 * i, 1, 30).tolist() for i, name in enumerate(names)}
    kinds = {"random_span": "span_interaction", "spans": "span_interaction"}
    methods = [method_entry(name, kind=kinds.get(name, "token")) for name in names[:-1]]
    found = by_method(board(score_run(tmp_path, {"m": table}, methods=methods)))
    partners = {"x": "random", "spans": "random_span", "loose": "random"}  # one that the card does not name
    test = joint_test(np.array([table[name] for name in names]).T, tolerance=1e-6)
    expected = {name: test.p[names.index(name), names.index(base)] for name, base in partners.items()}
    assert {name: found[name].p for name in expected} == expected
    assert (found["random_span"].p, found["random"].p) == (None, None)
    assert [name for name, one in found.items() if one.is_baseline] == sorted(
        ["random", "random_span"], key=list(found).index
    )


def test_a_baseline_without_scores_under_a_metric_gives_no_test(tmp_path: Path) -> None:
    methods = [method_entry("random_span", kind="span_interaction"), method_entry("spans", kind="span_interaction")]
    found = by_method(board(score_run(tmp_path, {"m": {"spans": [1.0, 2.0, 3.0]}}, methods=methods)))
    spans = found["spans"]
    assert (spans.p, spans.baseline_mean, spans.like_random) == (None, None, False)


def test_like_random_is_what_the_joint_test_does_not_distinguish(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    random = rng.normal(size=40)
    table = {"random": random, "same": random + rng.normal(0, 0.1, 40), "better": random + 1 + rng.normal(0, 0.1, 40)}
    found = by_method(board(score_run(tmp_path, {"m": {name: c.tolist() for name, c in table.items()}})))
    assert {name: one.like_random for name, one in found.items()} == {"random": False, "same": True, "better": False}


def test_translations_of_one_input_count_once(tmp_path: Path) -> None:
    """Two inputs in two languages: n is 2, and the mean that of the inputs."""
    instances = [
        Instance(f"{group}-{lang}", (text_of("a"),), None, lang, group) for group in "pq" for lang in ("en", "de")
    ]
    values = {"p-en": 0.0, "p-de": 1.0, "q-en": 0.25}
    scores = [Score(name, "x", "m", value) for name, value in values.items()]
    scores.append(Score("q-de", "x", "m", None, "empty"))
    run = make_run(
        tmp_path, card=run_card([method_entry("x")], [metric_entry("m")]), instances=instances, scores=scores
    )
    (row,) = boards(run).records()
    assert (row["n"], row["mean"], row["skipped"]) == (2, 0.375, 1)


def test_what_does_not_rank_is_not_on_the_leaderboard(tmp_path: Path) -> None:
    metrics = [metric_entry("a"), metric_entry("b", ranked=False)]
    run = score_run(tmp_path, {"a": {"x": [1.0]}, "b": {"x": [1.0]}}, metrics=metrics)
    assert list(boards(run).runs[0].boards) == ["a"]
    alone = score_run(tmp_path / "alone", {"b": {"x": [1.0]}}, metrics=metrics)
    assert analyse([alone]) is None


def test_free_text_is_not_ranked_next_to_scores_of_words(tmp_path: Path) -> None:
    card = free_text.card()
    card["methods"].append(method_entry("loo"))
    card["metrics"].append(metric_entry("comp"))
    scores = [*free_text.scores(), *scores_of("comp", {"loo": [0.5, 0.75]})]
    result = boards(free_text.text_run(tmp_path, card=card, scores=scores))
    assert [one.name for one in result.methods] == ["loo"]
    assert list(result.runs[0].boards) == ["comp"]
    assert analyse([free_text.text_run(tmp_path / "text")]) is None


def test_a_run_without_scores_has_no_leaderboard(tmp_path: Path) -> None:
    assert analyse([make_run(tmp_path)]) is None
    assert analyse([word_run(tmp_path / "skips", scores=[])]) is None


def test_several_runs_are_next_to_each_other(tmp_path: Path) -> None:
    runs = [
        score_run(tmp_path / "a", {"m": {"x": [0.1, 0.2], "old": [0.5, 0.5]}}, model={"name": "small"}),
        score_run(tmp_path / "b", {"m": {"x": [0.3, 0.4]}, "n": {"x": [1.0]}}, model={"name": "large"}),
    ]
    result = boards(*runs)
    assert [run.name for run in result.runs] == ["small", "large"]
    assert {one.name: one.labels for one in result.methods} == {"x": ("x", "x"), "old": ("old", None)}
    assert result.metrics == ("m", "n")
    assert [(row["run"], row["metric"], row["method"]) for row in result.records()] == [
        ("small", "m", "old"),
        ("small", "m", "x"),
        ("large", "m", "x"),
        ("large", "n", "x"),
    ]
    alone = boards(runs[0]).runs[0].boards["m"]
    assert result.runs[0].boards["m"] == alone, "a run has the same numbers next to others"


def test_scores_do_not_become_objects(tmp_path: Path, reading: Reading) -> None:
    run = score_run(tmp_path, {"m": {f"x{i}": [float(i + j) for j in range(50)] for i in range(4)}})
    reading.clear()
    boards(run)
    contrast(run, run)
    assert reading.decoded == {}


# -- two runs -----------------------------------------------------------------------------------------------------


def two(tmp_path: Path, first: Any, second: Any, **more: Any) -> list[Contrast]:
    return contrast(score_run(tmp_path / "a", first, **more), score_run(tmp_path / "b", second, **more))


def test_two_runs_compared_by_hand(tmp_path: Path) -> None:
    low = metric_entry("low", higher=False)
    rows = two(
        tmp_path,
        {"m": {"x": [0.9, 0.8, 0.7, None, 0.6], "only a": [1.0] * 5}, "low": {"x": [1.0] * 5}},
        {"low": {"x": [1.0] * 5}, "m": {"x": [0.1, 0.2, None, 0.3, 0.3], "only b": [1.0] * 5}},
        metrics=[low],
    )
    first, second = rows
    assert (first.metric.label, first.method.name, first.n) == ("m", "x", 3)
    assert (first.first, first.second) == (pytest.approx(2.3 / 3), pytest.approx(0.6 / 3))
    assert first.p == 0.25  # three differences of one sign, and nothing else differs
    assert (second.metric.label, second.n, second.p) == ("low", 5, 1.0)
    assert not second.metric.ascending


def test_instances_are_matched_by_id(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=30), rng.normal(0.4, 1, 30)
    backwards = scores_of("m", {"x": b.tolist()})[::-1]
    second = make_run(tmp_path / "b", scores=backwards, instances=plain_instances(backwards))
    (row,) = contrast(score_run(tmp_path / "a", {"m": {"x": a.tolist()}}), second, seed=3)
    assert row.p == joint_differences((b - a)[:, None], seed=3)[1][0]


def test_runs_that_share_no_instance_or_no_row(tmp_path: Path) -> None:
    first = score_run(tmp_path / "a", {"m": {"x": [1.0, 2.0]}})
    (row,) = contrast(first, make_run(tmp_path / "b", scores=[Score("elsewhere", "x", "m", 1.0)]))
    assert (row.n, row.first, row.p, row.change) == (0, None, None, "unknown")
    assert contrast(first, score_run(tmp_path / "c", {"m": {"y": [1.0]}})) == []
    assert contrast(first, score_run(tmp_path / "d", {"n": {"x": [1.0]}})) == []


@pytest.mark.parametrize(
    ("shift", "higher", "change"),
    [
        (1.0, True, "better"),
        (-1.0, True, "worse"),
        (1.0, False, "worse"),
        (-1.0, False, "better"),
        (0.0, True, "not significantly different"),
    ],
)
def test_which_way_the_second_run_differs(tmp_path: Path, shift: float, higher: bool, change: str) -> None:
    rng = np.random.default_rng(6)
    a = rng.normal(size=30)
    b = a + shift + rng.normal(0, 0.1, 30)
    columns = [{"m": {"x": values.tolist()}} for values in (a, b)]
    (row,) = two(tmp_path, *columns, metrics=[metric_entry("m", higher=higher)])
    assert row.change == change


def test_many_rows_need_more_inputs_than_one(tmp_path: Path) -> None:
    """Of 8 inputs one row can be significant, not one of 40: 2^-7 is 0.008, and 40 times that is 0.31."""
    rng = np.random.default_rng(7)

    def changes(inputs: int, rows: int, **clear: list[float]) -> set[str]:
        first, second = ({f"m{i}": rng.normal(size=inputs).tolist() for i in range(rows)} for _ in "ab")
        folder = tmp_path / f"{inputs}-{rows}-{len(clear)}"
        return {row.change for row in two(folder, {"m": first}, {"m": second | clear})}

    assert changes(8, 40) == {"too few inputs"}
    assert changes(8, 1) == changes(11, 40) == {"not significantly different"}
    assert changes(8, 40, m0=[900.0] * 8) == {"better", "not significantly different"}, "8 were enough for one"


def test_methods_with_other_parameters_are_compared_and_say_so(tmp_path: Path) -> None:
    runs = []
    for steps in (75, 100):
        label = f"integrated_gradients(steps={steps})"
        methods = [method_entry(label, "integrated_gradients", parameters={"steps": steps})]
        runs.append(score_run(tmp_path / str(steps), {"m": {label: [0.1, 0.2, 0.3]}}, methods=methods))
    (row,) = contrast(*runs)
    assert row.method.name == "integrated_gradients (steps: 75 / 100)"
    assert (row.n, row.first) == (3, row.second)
