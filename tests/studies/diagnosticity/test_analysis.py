"""Diagnosticity against shares counted by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.runs import make_run, method_entry, metric_entry, run_card, scores_of, text_of
from verax.results.run import Run
from verax.results.study import studies
from verax.stats.intervals import mean_interval
from verax.studies.diagnosticity.analysis import PAIRS, Diagnosticity, Group, MetricTrial, analyse
from verax.studies.diagnosticity.tables import figures, findings, reading, tables
from verax.types import Cost, Instance, Prediction, UserError

LEVELS = ("true", "partial", "random", "plausible", "inverted")
RIGHT = {"true": 0.9, "partial": 0.7, "random": 0.4, "plausible": 0.5, "inverted": 0.1}
Columns = Mapping[str, Sequence[float | None]]


def known_run(
    folder: Path,
    metrics: Mapping[str, Columns],
    *,
    entries: Mapping[str, Mapping[str, Any]] | None = None,
    predicted: Sequence[str] | None = None,
    parallel: Sequence[str] | None = None,
    name: str = "known_reasons",
    **card: Any,
) -> Run:
    """A run with explanations of every level, by the columns of each metric; all inputs have the label `yes`."""
    kind = {"known_reasons": "token", "known_pairs": "token_interaction"}[name]
    methods = [method_entry(level, name, kind=kind, parameters={"truth": level}) for level in LEVELS]
    scores = [replace(row, cost=Cost(4, 2, 1, 1, 0.5)) for m, of in metrics.items() for row in scores_of(m, of)]
    n = len(next(iter(next(iter(metrics.values())).values())))
    groups = parallel or [None] * n
    instances = [
        Instance(f"i{i}", (text_of(f"input {i}"),), "yes", parallel_id=group) for i, group in enumerate(groups)
    ]
    labels = predicted or ["YES"] * n
    predictions = [Prediction(f"i{i}", label, ("no", "yes"), (0.5, 0.5)) for i, label in enumerate(labels)]
    listed = [metric_entry(metric, **(entries or {}).get(metric, {})) for metric in metrics]
    made = run_card([method_entry("random"), *methods], listed, **card)
    return make_run(folder, card=made, instances=instances, predictions=predictions, scores=scores)


def columns(n: int, **changes: Sequence[float | None]) -> Columns:
    """The same values for each input, all ranked rightly, but for some levels."""
    return {level: changes.get(level, [RIGHT[level]] * n) for level in LEVELS}


def analysed(*runs: Run) -> Diagnosticity:
    result = analyse(runs)
    assert result is not None
    return result


def only(*runs: Run) -> MetricTrial:
    (trial,) = analysed(*runs).trials
    return trial


def test_pairs_go_from_truer_to_less_true() -> None:
    assert len(PAIRS) == 9
    assert ("random", "plausible") not in PAIRS
    assert all(LEVELS.index(truer) < LEVELS.index(other) for truer, other in PAIRS)


def test_shares_by_hand(tmp_path: Path) -> None:
    # input 0: all right; 1: true and partial tie; 2: true is last, so that its 4 pairs are wrong; 3: partial is missing
    true = [0.9, 0.7, 0.0, 0.9] * 3
    partial = [0.7, 0.7, 0.7, None] * 3
    trial = only(known_run(tmp_path, {"m": columns(12, true=true, partial=partial)}))
    hits, of = np.array([9, 8.5, 5, 5] * 3), np.array([9, 9, 9, 5] * 3)
    assert trial.overall is not None
    assert trial.overall.value == pytest.approx(hits.sum() / of.sum())
    assert trial.n == 12
    assert trial.by_pair[("true", "partial")] == mean_interval([1.0, 0.5, 0.0] * 3)
    assert trial.by_pair[("true", "inverted")] == mean_interval([1.0, 1.0, 0.0, 1.0] * 3)
    right = trial.by_pair[("random", "inverted")]
    assert right is not None
    assert right.value == 1.0
    assert right.low is not None
    assert right.low < 1.0  # Wilson's: twelve inputs are no proof
    assert trial.cost == (4.0, 1.0, 0.5)
    assert trial.standing == "better"


def test_lower_may_be_better_and_rounding_is_a_tie(tmp_path: Path) -> None:
    table = columns(6, partial=[0.9 + 1e-8] * 6)
    up = only(known_run(tmp_path / "up", {"m": table}))
    down = only(known_run(tmp_path / "down", {"m": table}, entries={"m": {"higher": False}}))
    for trial, right in ((up, 1.0), (down, 0.0)):
        shares = {pair: estimate.value for pair, estimate in trial.by_pair.items() if estimate is not None}
        assert shares.pop(("true", "partial")) == 0.5
        assert set(shares.values()) == {right}
    assert (up.standing, down.standing) == ("better", "worse")


def test_a_metric_of_noise_is_not_better_than_chance(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    noise = {level: rng.random(60).tolist() for level in LEVELS}
    metrics = {"noise": noise, "constant": columns(60, **dict.fromkeys(LEVELS, [0.5] * 60)), "good": columns(60)}
    result = analysed(known_run(tmp_path, metrics))
    assert {trial.label: trial.standing for trial in result.trials} == {
        "noise": "chance",
        "constant": "chance",
        "good": "better",
    }
    text = " ".join(findings(result))
    assert "Better than chance: good (truth approximate)." in text
    assert "Not better than chance: constant (truth approximate), noise (truth approximate)." in text


def test_below_six_inputs_nothing_is_said(tmp_path: Path) -> None:
    trial = only(known_run(tmp_path, {"m": columns(5)}))
    assert trial.standing == "unknown"
    assert trial.overall == (1.0, None, None)


def test_inputs_that_the_model_gets_wrong_are_left_out(tmp_path: Path) -> None:
    true = [0.9] * 6 + [0.0] * 6
    run = known_run(tmp_path, {"m": columns(12, true=true)}, predicted=["yes"] * 6 + ["no"] * 6)
    result = analysed(run)
    assert result.wrong == 6
    assert result.trials[0].n == 6
    assert result.trials[0].overall is not None
    assert result.trials[0].overall.value == 1.0
    assert "6 instances whose label the model does not predict" in " ".join(reading(result))


def test_translations_of_an_input_count_once(tmp_path: Path) -> None:
    true = [0.9, 0.0] * 6
    trial = only(known_run(tmp_path, {"m": columns(12, true=true)}, parallel=[f"p{i // 2}" for i in range(12)]))
    assert trial.n == 6
    half = trial.by_pair[("true", "partial")]
    assert half is not None
    assert (half.value, half.n) == (0.5, 6)


def test_groups_of_exactly_known_truth_decide(tmp_path: Path) -> None:
    wrong = dict(zip(LEVELS, [[value] * 6 for value in sorted(RIGHT.values())], strict=True))
    world = known_run(tmp_path / "a", {"m": wrong, "other": columns(6)}, data={"name": "world/nli", "hash": "1"})
    planted = known_run(tmp_path / "b", {"m": columns(8)}, model={"name": "mine", "planted": "ice=yes", "hash": "2"})
    result = analysed(world, planted)
    assert result.groups == {Group("world/nli", False): 6, Group("planted ice=yes", True): 8}
    m, other = result.trials
    assert (m.exact, m.n, m.standing) == (True, 8, "better")
    world_share = m.by_group[Group("world/nli", False)]
    assert world_share is not None
    assert world_share.value == 0.0
    assert (other.exact, other.n) == (False, 6)
    overview, by_group, *_ = tables(result)
    assert "truth approximate" in str(overview.records()[1]["verdict"])
    assert findings(result)[0] == "Better than chance: m, other (truth approximate)."
    assert "≈ world/nli" in {column.title for column in by_group.columns}


def test_a_metric_that_the_run_warns_of_says_so(tmp_path: Path) -> None:
    warnings = ["m: 3 of 3 agents collapsed to one class and measure nothing", "other thing: m: not about it"]
    result = analysed(known_run(tmp_path, {"m": columns(6), "n": columns(6)}, warnings=warnings))
    verdicts = {row["metric"]: row["verdict"] for row in tables(result)[0].records()}
    assert verdicts == {
        "m": "better than chance (truth approximate, see warnings)",
        "n": "better than chance (truth approximate)",
    }


def test_the_same_inputs_do_not_count_twice(tmp_path: Path) -> None:
    same = {"model": {"name": "m", "hash": "1"}, "data": {"name": "d", "hash": "2"}}
    runs = [known_run(tmp_path / name, {"m": columns(6)}, **same) for name in ("a", "b")]
    with pytest.raises(UserError, match="have the same model and inputs"):
        analyse(runs)


def test_each_kind_is_a_row_and_a_metric_without_a_value_has_its_reason(tmp_path: Path) -> None:
    metrics = {"m": columns(6), "absent": {level: [None] * 6 for level in LEVELS}}
    run = known_run(tmp_path / "a", metrics, left_out={"bleu": "bleu measures text, and no method gives any"})
    pairs = known_run(tmp_path / "b", {"m": columns(7)}, name="known_pairs", data={"name": "others"})
    result = analysed(run, pairs)
    assert [(trial.label, trial.kind, trial.n) for trial in result.trials] == [
        ("m", "token", 6),
        ("m", "token_interaction", 7),
        ("absent", None, 0),
        ("bleu", None, 0),
    ]
    *_, missing = tables(result)
    assert [(row["label"], row["reason"]) for row in missing.records()] == [
        ("absent", "no value, empty (30)"),
        ("bleu", "bleu measures text, and no method gives any"),
    ]
    (figure,) = figures(result)
    assert [(panel.title, panel.rows) for panel in figure.panels] == [("Words", ("m",)), ("Word pairs", ("m",))]


def test_the_study_applies_alone_where_all_explanations_are_of_known_truth(tmp_path: Path) -> None:
    known = known_run(tmp_path / "a", {"m": columns(6)})
    assert [study.name for study in studies([known])] == ["diagnosticity"]
    assert [one.study.name for one in known.findings()] == ["diagnosticity"]
    other = make_run(tmp_path / "b", card=run_card([method_entry("random")], [metric_entry("m")]))
    assert analyse([other]) is None
    assert "leaderboard" in {study.name for study in studies([known, other])}
