"""Runs as columns, against the rows they were written from; damaged, unfinished and empty ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support import free_text
from support.reading import Reading
from support.runs import make_run, method_entry, metric_entry, run_card, text_of, word_rows, word_run
from support.stored import forget_hashes
from verax.results.run import Run, open_runs, run_names
from verax.stats.intervals import share
from verax.types import Highlight, Instance, Prediction, Score, Skip, Target, UserError

ODD = "half \ud800 of a pair \ufdd0"


def scores() -> list[Score]:
    """Three methods on twenty instances under two metrics, every seventh without a value."""
    rng = np.random.default_rng(0)
    return [
        Score(
            f"i{i}",
            method,
            metric,
            None if (i + k) % 7 == 0 else float(rng.normal()),
            ("empty" if i % 2 else "constant") if (i + k) % 7 == 0 else None,
            curve=tuple(rng.random(3).tolist()) if metric == "a" else None,
            series={"words": (float(i), 2.0)} if k == 1 else {},
        )
        for i in range(20)
        for k, method in enumerate(("x", "y", "z"))
        for metric in ("a", "b")
    ]


def test_columns_hold_what_was_written(tmp_path: Path) -> None:
    rows = scores()
    columns = make_run(tmp_path, scores=rows).scores
    assert len(columns) == len(rows)
    assert columns.method.names == ("x", "y", "z")
    assert columns.metric.names == ("a", "b")
    for metric in ("a", "b"):
        for method in ("x", "y", "z"):
            mine = [row for row in rows if (row.method, row.metric) == (method, metric)]
            where = columns.where(metric=metric, method=method)
            assert columns.ids(where) == [row.instance_id for row in mine]
            assert columns.by_instance(metric, method) == {row.instance_id: row.value for row in mine}
            assert columns.curves(where) == [row.curve for row in mine]
            assert list(columns.series(where)) == [row.series for row in mine]
            reasons = [row.reason for row in mine if row.reason is not None]
            assert columns.reasons(metric, method) == {one: reasons.count(one) for one in dict.fromkeys(reasons)}
    assert columns.methods_of("a") == ["x", "y", "z"]
    assert columns.methods_of("nothing") == []
    assert not len(columns.where(metric="a", method="nothing"))


def test_reasons_come_most_frequent_first(tmp_path: Path) -> None:
    reasons = ["rare", "often", "often", "often", "rare", "once"]
    rows = [Score(f"i{i}", "x", "m", None, reason) for i, reason in enumerate(reasons)]
    found = make_run(tmp_path, scores=rows).scores.reasons("m", "x")
    assert list(found.items()) == [("often", 3), ("rare", 2), ("once", 1)]


def test_a_matrix_has_instances_in_the_order_of_their_first_row(tmp_path: Path) -> None:
    rows = [
        Score("late", "y", "m", 1.0),
        Score("early", "x", "m", 2.0),
        Score("late", "x", "m", None, "empty"),
        Score("alone", "other", "m", 9.0),
        Score("early", "y", "other", 9.0),
    ]
    values, skipped, ids = make_run(tmp_path, scores=rows).scores.matrix("m", ["x", "nobody", "y"])
    assert ids == ["late", "early"]
    np.testing.assert_array_equal(values, [[np.nan, np.nan, 1.0], [2.0, np.nan, np.nan]])
    assert skipped.tolist() == [1, 0, 0]


def test_two_scores_for_one_explanation_are_refused(tmp_path: Path) -> None:
    rows = [Score("i0", "x", "m", 0.5), Score("i0", "x", "m", 0.5)]
    with pytest.raises(ValueError, match="two scores for one instance and method under 'm'"):
        make_run(tmp_path, scores=rows).scores.matrix("m", ["x"])


def test_only_planned_rows_are_there(tmp_path: Path) -> None:
    rows = [Score(f"i{i}", f"method {i}", f"metric {i}", 1.0) for i in range(4)]
    skips = [Skip(f"i{i}", f"skipped {i}", f"reason {i}") for i in range(4)]
    run = make_run(tmp_path, skips=skips, scores=rows, plan=["7", "0", "5"])
    assert run.scores.method.names == ("method 3", "method 1"), "in the order of the plan"
    assert run.methods == ("skipped 0", "method 3", "method 1")
    assert run.metrics == ("metric 3", "metric 1")
    assert [skip.reason for skip in run.skips()] == ["reason 0"]
    assert list(run.skip_groups()) == [(False, "reason 0")]
    assert run.problems == ()


def test_names_that_utf_8_cannot_hold_are_given_back(tmp_path: Path) -> None:
    instance = Instance(ODD, (text_of(ODD),), ODD, ODD, ODD)
    run = make_run(
        tmp_path,
        card=run_card([method_entry(ODD)], [metric_entry(ODD)]),
        instances=[instance, Instance("plain", (text_of("a"),))],
        predictions=[Prediction(ODD, ODD, (ODD,), (1.0,))],
        highlights=[Highlight(ODD, ODD, "token", Target(), instance.units, (1.0,) * len(instance.units))],
        skips=[Skip(ODD, "gone", ODD, ODD)],
        scores=[Score(ODD, ODD, ODD, None, ODD, series={ODD: (1.0,)}), Score("plain", "x", "m", 1.0)],
    )
    assert run.instances.ids == [ODD, "plain"]
    assert run.instances.labels == [ODD, None]
    assert run.parallel == {ODD: ODD}
    assert run.methods == (ODD, "gone", "x")
    assert run.scores.by_instance(ODD, ODD) == {ODD: None}
    assert run.scores.reasons(ODD, ODD) == {ODD: 1}
    assert list(run.scores.series(run.scores.where(metric=ODD))) == [{ODD: (1.0,)}]
    assert run.skip_groups().keys() == {(False, ODD)}
    for found in (run.predictions([ODD]), run.highlights([ODD]), run.skips([ODD]), run.score_rows([ODD])):
        assert [row.instance_id for row in found] == [ODD]
    assert run.inputs([ODD]) == [instance]
    assert run.score_table()["method"].tolist() == [ODD, "x"]


def test_rows_of_some_instances_are_the_only_ones_made(tmp_path: Path, reading: Reading) -> None:
    run = word_run(tmp_path, 20)
    reading.clear()
    assert [row.instance_id for row in run.score_rows(["id-7", "id-3", "nobody"])] == ["id-3"] * 2 + ["id-7"] * 2
    assert {row.instance_id for row in run.highlights(["id-7"])} == {"id-7"}
    assert [one.id for one in run.inputs(["id-2"])] == ["id-2"]
    assert reading.decoded == {"scores": 4, "explanations": 2, "instances": 1}
    assert reading.opened == []


def test_skips_and_explanations_share_a_table(tmp_path: Path) -> None:
    skips = [Skip("id-0", "other", "empty", failed=True), Skip("id-1", "other", "empty"), Skip("id-2", "x", "empty")]
    run = word_run(tmp_path, skips=skips)
    assert run.skips() == skips
    assert run.skips(["id-1"]) == skips[1:2]
    assert len(run.highlights()) == 6
    groups = run.skip_groups()
    assert {group: len(rows) for group, rows in groups.items()} == {(True, "empty"): 1, (False, "empty"): 2}
    assert run.skips(rows=groups[False, "empty"][:1]) == skips[1:2]


def test_an_empty_run(tmp_path: Path) -> None:
    run = make_run(tmp_path)
    assert (run.methods, run.metrics, run.text_methods, run.problems) == ((), (), (), ())
    assert (len(run.scores), len(run.instances)) == (0, 0)
    assert (run.inputs(), run.highlights(), run.skips(), run.texts(), run.findings()) == ([], [], [], [], [])
    assert run.skip_groups() == {}
    assert run.summary().empty
    assert run.score_table().empty
    assert run.name == "not recorded on not recorded"


def test_an_unfinished_run_says_how_much_is_missing(tmp_path: Path) -> None:
    rows = word_rows(2)
    run = make_run(tmp_path, **rows, plan=[*map(str, range(12)), "missing", "gone"])
    assert len(run.problems) == 1
    assert "2 of 14 rows" in run.problems[0]
    assert len(run.scores) == 4


def test_what_a_damaged_shard_held_is_missing_and_the_rest_is_there(tmp_path: Path) -> None:
    word_run(tmp_path, 5)
    shard = next((tmp_path / "shards").glob("scores-*"))
    shard.write_bytes(shard.read_bytes()[:-9] + b"\0" * 9)
    run = Run(tmp_path)
    assert any(shard.name in problem for problem in run.problems)
    assert len(run.scores) == 0
    assert len(run.highlights()) == 10
    assert run.findings() == []


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'"text"', b"null", b"[" * 100_000])
def test_a_damaged_card_is_a_problem_and_not_the_end(tmp_path: Path, content: bytes) -> None:
    word_run(tmp_path)
    forget_hashes(tmp_path)
    (tmp_path / "run.json").write_bytes(content)
    run = Run(tmp_path)
    assert "run.json" in " ".join(run.problems)
    assert run.methods == ("random", "loo"), "the rows know them"
    assert run.summary()["method"].tolist() == ["loo", "random"]


@pytest.mark.parametrize("make", [lambda path: None, Path.mkdir, Path.touch])
def test_what_is_no_run_is_refused_by_name(tmp_path: Path, make: Any) -> None:
    place = tmp_path / "place"
    make(place)
    with pytest.raises(UserError, match="place"):
        Run(place)


def test_a_run_named_twice_is_refused(tmp_path: Path) -> None:
    word_run(tmp_path / "a")
    (tmp_path / "link").symlink_to(tmp_path / "a")
    with pytest.raises(UserError, match="named twice"):
        open_runs([tmp_path / "a", tmp_path / "link"])
    with pytest.raises(UserError, match="named twice"):
        open_runs([tmp_path / "a", tmp_path / "b" / ".." / "a"])


def test_runs_go_by_their_models_or_else_by_their_folders(tmp_path: Path) -> None:
    cards = [word_rows()["card"] | {"model": {"name": name}} for name in ("small", "large", "small")]
    runs = [word_run(tmp_path / str(i), card=card) for i, card in enumerate(cards)]
    assert run_names(runs[:2]) == ["small", "large"]
    assert run_names(runs) == [str(tmp_path / str(i)) for i in range(3)]


def test_a_run_says_what_it_holds(tmp_path: Path) -> None:
    run = word_run(tmp_path, 3, skips=[Skip("id-0", "other", "empty")])
    assert repr(run) == f"Run({str(tmp_path)!r}: 6 explanations, 6 scores)"
    assert run.name == "tiny on pairs"
    assert repr(free_text.text_run(tmp_path / "text")).endswith("8 explanations, 24 scores)")


def test_frames(tmp_path: Path) -> None:
    rows = word_rows(4)
    rows["scores"][0] = Score("id-0", "random", "comp", None, "empty", "no word")
    run = make_run(tmp_path, **rows)
    summary = run.summary().set_index("method")
    assert summary.loc["loo", "mean"] == pytest.approx(0.215)
    assert (summary.loc["random", "n"], summary.loc["random", "skipped"]) == (3, 1)
    frame = run.score_table()
    assert frame.groupby(["method"])["value"].mean().to_dict() == pytest.approx({"loo": 0.215, "random": 0.12})
    assert frame.loc[0, ["instance_id", "reason", "detail"]].tolist() == ["id-0", "empty", "no word"]
    assert "key" not in frame.columns


def test_one_study_or_all(tmp_path: Path) -> None:
    run = word_run(tmp_path)
    assert [found.study.name for found in run.findings()] == ["leaderboard"]
    assert [found.study.name for found in run.findings("leaderboard")] == ["leaderboard"]
    assert run.findings("masking") == []
    assert run.study("masking") is None
    assert list(run.study("leaderboard").runs[0].boards) == ["comp"]
    with pytest.raises(UserError, match="did you mean 'leaderboard'"):
        run.study("leaderbord")


def test_the_card_of_a_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    run = word_run(tmp_path)
    assert run.tables.card == json.loads((tmp_path / "run.json").read_text())
    assert [entry.label for entry in run.manifest.methods] == ["random", "loo"]


def test_the_accuracy_of_free_text_is_in_the_headline(tmp_path: Path) -> None:
    """Seven of eight answers are right; an input without an answer is wrong, unless something failed."""
    run = free_text.text_run(tmp_path / "one")
    assert run.accuracies == {"mt_ra": share(7, 8)}
    assert run.headline.endswith(f"accuracy of the model {run.accuracy_in_words}")
    unanswered = free_text.text_run(tmp_path / "two", texts=free_text.texts(7))
    assert unanswered.accuracies == {"mt_ra": share(6, 8)}
    both = [*free_text.texts(), *free_text.texts(method="mt_re")]
    several = free_text.text_run(tmp_path / "three", texts=both)
    assert several.accuracy_in_words.count("0.875 [") == 2
    assert "(mt_re)" in several.accuracy_in_words
