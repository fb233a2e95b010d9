"""Recursive masking on one run and over seeds, against curves worked out by hand; runs that cannot be averaged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.masking import masking_metrics, masking_scores, p_value_scores, seed_run
from support.runs import make_run, method_entry, metric_entry
from verax.results.run import Run
from verax.stats.intervals import bca
from verax.stats.masf import simes
from verax.studies.masking.analysis import (
    NO_AREA,
    MaskedRun,
    analyse,
    masked_metrics,
    masked_run,
    masking_curves,
)
from verax.studies.masking.curves import MaskingCurve, MaskingCurves, MaskingResult
from verax.studies.masking.presets import FAITHFULNESS_MEASURABLE
from verax.studies.masking.tables import tables
from verax.types import Performance, Score, UserError

Predicted = Mapping[str, Mapping[str, Sequence[int]]]
DATA = {"name": "pairs", "hash": "inputs", "n": 40}
RIGHT_UNTIL = {"random": {"a": [0, 0, 1], "b": [0, 1, 1]}}


def recorded(predicted: Predicted, metric: Performance = "accuracy", **more: Any) -> MaskedRun:
    """What was predicted at each step, by measure and instance; gold is 0."""
    series = {
        method: {name: {"predicted": list(map(float, row)), "gold": [0.0]} for name, row in rows.items()}
        for method, rows in predicted.items()
    }
    return MaskedRun(series=series, metric=metric, **({"p_values": {}, "baseline": "random", "signed": {}} | more))


def of(found: MaskingCurves | None, method: str) -> MaskingCurve:
    assert found is not None
    return next(curve for curve in found.curves if curve.method == method)


def group(runs: Sequence[Run]) -> MaskingCurves:
    found = analyse(runs)
    assert found is not None
    (only,) = found.groups
    return only


def relative(curve: MaskingCurve) -> float:
    assert curve.racu is not None
    return curve.racu.value


def test_one_run_by_hand(tmp_path: Path) -> None:
    predicted: Predicted = {
        **RIGHT_UNTIL,
        "best": {"a": [0, 1, 1], "b": [0, 1, 1]},
        "signed": {"a": [1, 1, 1], "b": [1, 1, 1]},
        "inverted": {"a": [0, 0, 0], "b": [0, 0, 0]},
    }
    scores = [score for method, rows in predicted.items() for score in masking_scores(method, rows)]
    methods = [method_entry(name, signed=name != "best") for name in predicted]
    found = group([seed_run(tmp_path, scores, methods=methods)])
    assert (found.name, found.baseline, found.majority, found.runs) == ("recursive_masking", "random", 1.0, 1)
    assert [point.value for point in found.random.curve] == [1.0, 0.5, 0.0]
    expected = {"random": (0.0, 0.0), "best": (0.25, 0.5), "signed": (0.5, 1.0), "inverted": (-0.5, -1.0)}
    for method, (area, share) in expected.items():
        curve = of(found, method)
        assert (curve.acu.value, relative(curve)) == (area, share)
        assert (curve.n, curve.skipped, curve.over, curve.reason) == (2, 0, "instances", None)
        assert curve.ratios == (0.0, 0.5, 1.0)
    assert [curve.signed for curve in found.curves] == [True, False, True, True]
    assert [curve.method for curve in found.ranked()] == ["signed", "best", "inverted", "random"]


def test_without_an_area_racu_is_missing_and_says_why() -> None:
    flat = {name: [0, 0, 0] for name in "abc"}
    found = masking_curves("m", [recorded({"random": flat, "best": {name: [0, 1, 1] for name in "abc"}})])
    curve = of(found, "best")
    assert (curve.racu, curve.reason) == (None, NO_AREA)
    assert curve.acu.value == pytest.approx(0.75)  # (0 + 1)/4 + (1 + 1)/4


def test_a_measure_is_compared_on_the_instances_that_both_have(tmp_path: Path) -> None:
    """`best` lacks a and has z, which random lacks; its random curve is the one over b and c alone."""
    scores = [
        *masking_scores("random", {"a": [0, 0, 0], "b": [0, 1, 1], "c": [0, 0, 1]}),
        *masking_scores("best", {"b": [0, 1, 1], "c": [0, 1, 1], "z": [0, 1, 0]}),
        Score("d", "best", "recursive_masking", None, "too_long"),
        *masking_scores("far", {"z": [0, 0, 1]}),
    ]
    found = group([seed_run(tmp_path, scores)])
    curve = of(found, "best")
    assert (curve.n, curve.skipped) == (2, 3)  # a, z and d
    assert [point.value for point in curve.curve] == [1.0, 0.0, 0.0]
    assert curve.acu.value == 0.25  # b and c: 1, 1/2, 0 at random
    assert (found.random.n, found.random.skipped) == (3, 0)
    assert {curve.method for curve in found.curves} == {"random", "best"}
    assert found.without == {"far": "no curve"}, "named, and not dropped"


def test_without_a_random_measure_there_is_nothing_to_compare_with(tmp_path: Path) -> None:
    assert masking_curves("m", [recorded({"best": {"a": [0, 1]}})]) is None
    assert masking_curves("m", [recorded(RIGHT_UNTIL, baseline="dice")]) is None
    found = analyse([seed_run(tmp_path, masking_scores("best", {"a": [0, 1, 1]}))])
    assert found == MaskingResult((), ("recursive_masking",))


RANDOM, BEST = (0.9, 0.8, 0.7, 0.6, 0.4), (0.9, 0.6, 0.4, 0.4, 0.4)


def simulated(seed: int, n: int = 40) -> dict[str, dict[str, list[int]]]:
    """Predictions that are right, at random, with the given probabilities at each point."""
    rng = np.random.default_rng(seed)
    return {
        method: {f"i{i}": row for i, row in enumerate((rng.random((n, len(p))) >= np.array(p)).astype(int).tolist())}
        for method, p in (("random", RANDOM), ("best", BEST))
    }


def simulated_run(folder: Path, seed: int, *more: Score, steps: int = 4, **card: Any) -> Run:
    scores = [score for method, rows in simulated(seed).items() for score in masking_scores(method, rows)]
    return seed_run(folder, [*scores, *more], **({"metrics": masking_metrics(steps)} | card))


def test_several_runs_give_intervals_over_seeds(tmp_path: Path) -> None:
    runs = [simulated_run(tmp_path / str(seed), seed) for seed in range(5)]
    single = [of(masking_curves("m", [recorded(simulated(seed))], resamples=0), "best") for seed in range(5)]
    found = group(runs)
    curve = of(found, "best")
    assert (found.name, found.runs, curve.over, curve.n, curve.skipped) == ("pairs", 5, "seeds", 40, 0)
    for mean, each in ((curve.acu, [one.acu.value for one in single]), (curve.racu, [relative(one) for one in single])):
        assert mean is not None
        assert mean.value == pytest.approx(np.mean(each))
        assert mean.interval == bca(np.array(each))
    points = np.mean([[point.value for point in one.curve] for one in single], axis=0)
    assert [point.value for point in curve.curve] == pytest.approx(points)


def test_a_measure_that_not_every_run_has_is_named(tmp_path: Path) -> None:
    alone = masking_scores("alone", {"i0": [0, 0, 0, 0, 1]})
    skipped = [Score("i0", "skipped", "recursive_masking", None, "too_long")]
    found = group(
        [simulated_run(tmp_path / "a", 0, *skipped), simulated_run(tmp_path / "b", 1, *alone, *skipped)],
    )
    assert {curve.method for curve in found.curves} == {"random", "best"}
    assert found.without == {"skipped": "no curve", "alone": "not in every run"}


def test_a_method_with_other_parameters_stays_one_row_that_shows_them(tmp_path: Path) -> None:
    runs = []
    for steps in (75, 100):
        label = f"integrated_gradients(steps={steps})"
        methods = [
            method_entry("random"),
            method_entry(label, "integrated_gradients", parameters={"steps": steps}, signed=False),
        ]
        rows = simulated(steps)
        scores = [*masking_scores("random", rows["random"]), *masking_scores(label, rows["best"])]
        runs.append(seed_run(tmp_path / str(steps), scores, methods=methods, metrics=masking_metrics(4)))
    found = group(runs)
    curve = of(found, "integrated_gradients (steps: 75 / 100)")
    assert curve.acu.value == pytest.approx(
        np.mean([of(masking_curves("m", [recorded(simulated(s))]), "best").acu.value for s in (75, 100)])
    )
    assert found.without == {}
    assert not curve.signed


def test_random_measures_of_other_seeds_are_one_baseline(tmp_path: Path) -> None:
    runs = []
    for seed in (0, 1):
        label = f"random(seed={seed})"
        methods = [method_entry(label, "random", parameters={"seed": seed}), method_entry("best")]
        rows = simulated(seed)
        scores = [*masking_scores(label, rows["random"]), *masking_scores("best", rows["best"])]
        runs.append(seed_run(tmp_path / str(seed), scores, methods=methods, metrics=masking_metrics(4)))
    found = group(runs)
    assert found.baseline == "random (seed: 0 / 1)"
    assert found.random.acu.value == 0
    assert [curve.method for curve in found.ranked()][-1] == found.baseline


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"steps": 2}, ["steps", "4", "2"]),
        ({"data": {"name": "pairs", "hash": "others", "n": 40}}, ["the data (inputs)", "inputs", "others"]),
        ({"data": {"name": "pairs", "hash": "fewer", "n": 5}}, ["the data (number of inputs)", "40", "5"]),
        ({"model": {"name": "m", "hash": "b", "architecture": "Other"}}, ["architecture", "Bert", "Other"]),
        ({"metrics": masking_metrics(4, tested=4)}, ["in-distribution test", "steps"]),
        ({"data": {**DATA, "metric": "macro_f1"}}, ["performance", "accuracy", "macro_f1"]),
        ({"data": {**DATA, "explained_parts": (0,)}}, ["parts that are masked", "all", "0"]),
        ({"model": {"name": "tiny", "hash": "a", "architecture": "Bert"}}, ["same model"]),
    ],
)
def test_runs_that_are_no_seeds_of_each_other_are_refused_with_the_difference(
    tmp_path: Path, change: dict[str, Any], named: list[str]
) -> None:
    runs = [simulated_run(tmp_path / "a", 0), simulated_run(tmp_path / "b", 1, **change)]
    with pytest.raises(UserError) as refused:
        analyse(runs)
    for word in (*named, str(tmp_path / "a"), str(tmp_path / "b")):
        assert word in str(refused.value)


def test_models_of_other_trainings_are_groups_of_their_own_and_not_averaged(tmp_path: Path) -> None:
    """The selection of the epoch is checked under the name that a trained model records it by."""
    trained = [("half", "both"), ("half", "none"), ("half", "both"), (None, None)]
    runs = []
    for number, (masking, selected_on) in enumerate(trained):
        facts = {"name": "m", "hash": str(number), "architecture": "Bert"}
        model = facts | ({} if masking is None else {"masking": masking, "selected_on": selected_on})
        runs.append(simulated_run(tmp_path / str(number), number, model=model))
    found = analyse(runs)
    assert found is not None
    assert [(str(one.training), one.runs) for one in found.groups] == [
        ("masked fine-tuning", 2),
        ("masked in training: half, epoch selected on: none", 1),
        ("training not recorded", 1),
    ]


def test_the_most_frequent_class_is_that_of_the_training_data(tmp_path: Path) -> None:
    """Most of the measured inputs are `b`; the model learned from data with most `a`, and says so."""
    rows = {name: [0, 0, 0] for name in "xyz"}
    gold = {"x": 1, "y": 1, "z": 0}
    scores = [*masking_scores("random", rows, gold=gold), *masking_scores("best", rows, gold=gold)]
    model = {"name": "m", "hash": "h", "architecture": "Bert", "labels": ["a", "b"]}
    measured = group([seed_run(tmp_path / "1", scores, model=model)])
    assert (measured.majority, measured.majority_of) == (pytest.approx(2 / 3), "measured")
    told = group([seed_run(tmp_path / "2", scores, model={**model, "training_majority": "a"})])
    assert (told.majority, told.majority_of) == (pytest.approx(1 / 3), "training")
    both = [seed_run(tmp_path / name, scores, model={**model, "hash": name, "training_majority": "a"}) for name in "34"]
    assert (group(both).majority, group(both).majority_of) == (pytest.approx(1 / 3), "training")


def test_measures_have_the_names_of_the_paper(tmp_path: Path) -> None:
    content = FAITHFULNESS_MEASURABLE.content["methods"]
    methods = [method_entry("random")]
    for given in content:
        ((name, parameters),) = given.items() if isinstance(given, dict) else ((given, {}),)
        methods.append(method_entry(f"{name} {parameters}", name, parameters=parameters))
    scores = [score for entry in methods for score in masking_scores(entry["label"], {"a": [0, 1, 1]})]
    found = group([seed_run(tmp_path, scores, methods=methods)])
    assert sorted(found.shown(curve.method) for curve in found.curves if curve.method != "random") == [
        "Beam", "Grad (L1)", "Grad (L2)", "IG (abs)", "IG (sign)", "LOO (abs)", "LOO (sign)", "x ⊙ grad (abs)",
        "x ⊙ grad (sign)",
    ]  # fmt: skip


def test_random_maskings_are_read_as_one_curve() -> None:
    """Two maskings of two inputs: right at the second point in three of four cases."""
    random = {"a": [0, 0, 1, 0, 0, 1], "b": [0, 0, 1, 0, 1, 1]}
    run = recorded({"random": random, "best": {"a": [0, 1, 1], "b": [0, 1, 1]}})
    for rows in run.series["random"].values():
        rows["maskings"] = [2.0]  # type: ignore[index]
    found = masking_curves("m", [run], resamples=0)
    assert [point.value for point in of(found, "random").curve] == [1.0, 0.75, 0.0]
    assert of(found, "best").acu.value == pytest.approx(0.375)  # 0.75 over a width of one half


def test_inverted_labels_give_no_racu() -> None:
    """Random masking makes the model right more often: RACU would reward the measure that is worse than random."""
    upside_down = {name: [1, 1, 0] for name in "abc"}
    found = masking_curves("m", [recorded({"random": upside_down, "worse": {name: [1, 0, 0] for name in "abc"}})])
    curve = of(found, "worse")
    assert curve.acu.value < 0
    assert (curve.racu, curve.reason) == (None, NO_AREA)


def test_a_run_without_a_random_curve_cannot_be_averaged(tmp_path: Path) -> None:
    lacking = seed_run(tmp_path / "b", masking_scores("best", {"i0": [0, 1, 1]}), data={"name": "pairs"})
    other = seed_run(tmp_path / "a", masking_scores("random", {"i0": [0, 1, 1]}), data={"name": "pairs"})
    found = analyse([other, lacking])
    assert found is not None
    assert len(found.missing) == 1, "nobody knows whether they have the same inputs: each has a table of its own"
    known = {"name": "pairs", "hash": "inputs", "n": 1}
    runs = [
        seed_run(tmp_path / name, masking_scores(method, {"i0": [0, 1, 1]}), data=known)
        for name, method in (("c", "random"), ("d", "best"))
    ]
    with pytest.raises(UserError, match="no curve of the random measure") as refused:
        analyse(runs)
    assert str(tmp_path / "d") in str(refused.value)


def test_random_measures_that_cannot_be_matched_are_refused(tmp_path: Path) -> None:
    runs = []
    for name, seeds in (("a", (0, 1)), ("b", (2, 3))):
        methods = [method_entry(f"random(seed={s})", "random", parameters={"seed": s}) for s in seeds]
        scores = [score for m in methods for score in masking_scores(m["label"], {"i0": [0, 1, 1], "i1": [0, 0, 1]})]
        runs.append(seed_run(tmp_path / name, scores, methods=methods))
    with pytest.raises(UserError, match="random measures"):
        analyse(runs)


def test_a_run_without_masking_among_others_is_refused(tmp_path: Path) -> None:
    with_masking, without = simulated_run(tmp_path / "a", 0), make_run(tmp_path / "b")
    assert analyse([without]) is None
    with pytest.raises(UserError, match="no scores of recursive_masking") as refused:
        analyse([with_masking, without])
    assert str(tmp_path / "b") in str(refused.value)


def test_data_sets_and_metrics_have_groups_of_their_own(tmp_path: Path) -> None:
    runs = []
    for number, (data, seed) in enumerate((("sst2", 0), ("imdb", 1), ("sst2", 2))):
        facts = {"name": data, "hash": data, "n": 40, "split": "test"}
        runs.append(simulated_run(tmp_path / str(number), seed, data=facts))
    found = analyse(runs)
    assert found is not None
    assert [(one.name, one.runs, one.random.over) for one in found.groups] == [
        ("sst2 (test)", 2, "seeds"),
        ("imdb (test)", 1, "instances"),
    ]
    several = masking_metrics(4, 2)
    scores = [
        score
        for entry, rows in zip(
            several, (simulated(0), {"random": {"i0": [0, 1, 1]}, "best": {"i0": [1, 1, 1]}}), strict=True
        )
        for method, predicted in rows.items()
        for score in masking_scores(method, predicted, entry["label"])
    ]
    runs = [seed_run(tmp_path / name, scores, metrics=several) for name in "ab"]
    for chosen, prefix in ((runs[:1], ""), (runs, "pairs: ")):
        found = analyse(chosen)
        assert found is not None
        assert [one.name for one in found.groups] == [prefix + entry["label"] for entry in several]
        assert [len(one.random.curve) for one in found.groups] == [5, 3]
        assert [table.name for table in tables(found)] == [one.name for one in found.groups], "no mean over metrics"


def test_intervals_repeat() -> None:
    run = recorded(simulated(5, 30))
    one, two, other = (masking_curves("m", [run], seed=seed, resamples=200) for seed in (0, 0, 1))
    assert one == two
    assert one != other
    single = of(masking_curves("m", [recorded({"random": {"a": [0, 1]}, "best": {"a": [0, 1]}})]), "best")
    assert single.acu.interval is None


def test_p_values_are_simes_at_each_ratio_and_the_worst_of_seeds(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    p = [rng.random((20, 5)) ** 2 for _ in range(2)]
    missing = Score("gone", "best", "in_distribution", None, "too_long")
    runs = [
        simulated_run(
            tmp_path / str(seed),
            seed,
            *p_value_scores("best", {f"i{i}": row.tolist() for i, row in enumerate(one)}),
            missing,
            metrics=masking_metrics(4, tested=4),
        )
        for seed, one in enumerate(p)
    ]
    each = [tuple(simes(one[:, ratio]) for ratio in range(5)) for one in p]
    assert of(group(runs[:1]), "best").p_values == each[0]
    assert group(runs[:1]).random.p_values is None
    found = of(group(runs), "best")
    assert found.p_values == tuple(min(pair) for pair in zip(*each, strict=True))
    assert each[0] != each[1]
    assert found.outside(0.2) == tuple(place for place, value in enumerate(found.p_values or ()) if value < 0.2)


def test_p_values_are_those_of_the_first_test_at_the_same_steps(tmp_path: Path) -> None:
    metrics = [
        metric_entry("fine", "recursive_masking", parameters={"steps": 20}),
        metric_entry("coarse", "recursive_masking", parameters={"steps": 2}),
        metric_entry("never run", "recursive_masking", parameters={"steps": 5}),
        metric_entry("test of 2", "in_distribution", parameters={"steps": 2}),
        metric_entry("test of 2 again", "in_distribution", parameters={"steps": 2}),
        metric_entry("test of 30", "in_distribution", parameters={"steps": 30}),
    ]
    scores = [
        *masking_scores("lime", {"a": [0, 1, 1]}, "coarse"),
        *masking_scores("lime", {"a": [0] * 21}, "fine"),
        *p_value_scores("lime", {"a": [0.5, 0.5, 0.5]}, "test of 2"),
        *p_value_scores("lime", {"a": [0.1, 0.1, 0.1]}, "test of 2 again"),
        *p_value_scores("lime", {"a": [0.2] * 31}, "test of 30"),
    ]
    methods = [method_entry("dice", "random", signed=False), method_entry("lime")]
    run = seed_run(tmp_path, scores, metrics=metrics, methods=methods, data={"name": "d", "metric": "matthews"})
    assert [entry.label for entry in masked_metrics(run)] == ["fine", "coarse"]
    fine, coarse = (masked_run(run, entry) for entry in masked_metrics(run))
    assert coarse.p_values == {"lime": [(0.5, 0.5, 0.5)]}
    assert fine.p_values == {}
    assert (fine.metric, fine.baseline, fine.signed) == ("matthews", "dice", {"lime": True})


@pytest.mark.parametrize(
    "card",
    [
        {"methods": "x", "metrics": [*masking_metrics(2), None, 3, {"name": "in_distribution"}]},
        {"methods": [{"name": "random"}, {"label": ["x"]}, 7], "data": "sst2"},
        {"metrics": [*masking_metrics(2), metric_entry("t", "in_distribution", parameters="x")], "methods": None},
        {"data": {"metric": ["odd"]}},
    ],
)
def test_odd_cards_are_read_as_far_as_they_go(tmp_path: Path, card: dict[str, Any]) -> None:
    found = group([seed_run(tmp_path, masking_scores("random", RIGHT_UNTIL["random"]), **card)])
    assert (found.baseline, found.random.metric, found.random.signed, found.random.n) == ("random", "accuracy", True, 2)


@pytest.mark.parametrize("metrics", [None, {"label": "x"}, [[]], [{"label": "m", "name": "other"}]])
def test_a_card_without_masking_gives_nothing(tmp_path: Path, metrics: Any) -> None:
    scores = masking_scores("random", RIGHT_UNTIL["random"])
    assert analyse([seed_run(tmp_path, scores, metrics=metrics)]) is None


def test_marks_are_those_of_the_leaderboard(tmp_path: Path) -> None:
    """The areas of both measures are the same; the leaderboard finds one of them like random, the other one worse."""
    values = {"random": [0.52] * 20, "like": [0.5 + 0.01 * (i % 5) for i in range(20)], "worse": [0.1] * 20}
    scores = [
        replace(score, value=value)
        for method, column in values.items()
        for score, value in zip(
            masking_scores(method, {f"i{i}": [0, int(method != "random"), 1] for i in range(20)}), column, strict=True
        )
    ]
    run = seed_run(tmp_path, scores)
    board = run.study("leaderboard").runs[0].boards["recursive_masking"]
    assert {one.method: (one.like_random, one.worse) for one in board.standings} == {
        "random": (False, False),
        "like": (True, False),
        "worse": (False, True),
    }
    (areas,) = tables(MaskingResult((group([run]),)))
    assert {row.cells[0].value: [mark.name for mark in row.cells[1].marks] for row in areas.rows} == {
        "like": ["like_random"],
        "worse": ["worse_than_random"],
        "random": [],
    }
