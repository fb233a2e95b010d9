"""The unified framework against means, differences and marks computed by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

from support.runs import make_run, method_entry, metric_entry, plain_instances, run_card, scores_of
from support.unified import FLIPS, KINDS, METHODS, agent_scores, kinds_run
from verax.stats.intervals import bca, mean_over_draws
from verax.stats.joint import joint_test
from verax.studies.leaderboard.analysis import boards_of
from verax.studies.unified.analysis import Bounds, Entry, Property, UnifiedRun, analyse
from verax.types import Base, Estimate, Highlight, Kind, Prediction, Score, Span, Target, UserError


def found(*args: Any, **parts: Any) -> UnifiedRun:
    result = analyse([kinds_run(*args, **parts)])
    assert result is not None
    (only,) = result.runs
    return only


def entry(one: Property, kind: Kind, base: Base) -> Entry:
    made = one.at(kind, base)
    assert made is not None
    return made


def test_means_and_paired_differences_by_hand(tmp_path: Path) -> None:
    columns: dict[str, list[float | None]] = {
        "random": [0.0, 0.0, 0.5, 0.5] * 3,
        "shap": [1.0, 0.5, None, 1.0] * 3,
        "random_span": [0.5, 0.5, 0.5, 0.5] * 3,
        "louvain": [0.5, 0.0, 1.0, 0.5] * 3,
    }
    (one,) = found(tmp_path, scores_of("comprehensiveness_flips", columns, words=[3, 5, 4, 6] * 3)).properties
    assert (one.name, one.metric, one.higher_is_better) == ("comprehensiveness", "comprehensiveness_flips", True)
    shap = entry(one, "token", "shapley")
    assert (shap.method, shap.n, shap.pairs) == ("shap", 9, 9)
    assert shap.value == (2.5 / 3, *(bca(np.array([1.0, 0.5, 1.0] * 3)) or ()))
    assert shap.difference == (2.0 / 3, *(bca(np.array([1.0, 0.5, 0.5] * 3)) or ()))  # random's i2 has no partner
    assert shap.words == 14 / 3  # of the instances that have a value
    assert (shap.better, shap.like_random) == (True, False)
    louvain = entry(one, "span_interaction", "shapley")
    assert louvain.difference is not None
    assert louvain.difference.value == 0.0
    assert louvain.like_random
    assert entry(one, "token", "random").difference is None
    assert one.at("token_interaction", "shapley") is None


def test_the_same_numbers_as_on_the_leaderboard(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    columns = {method["label"]: rng.random(25).tolist() for method in METHODS}
    run = kinds_run(tmp_path, scores_of("comprehensiveness_flips", columns))
    result = analyse([run])
    assert result is not None
    (one,) = result.runs[0].properties
    rows = {row.method: row for row in boards_of(run)[FLIPS["label"]].standings}
    assert {made.method for made in one.entries} == set(rows)
    for made in one.entries:
        row = rows[made.method]
        assert row.mean is not None
        assert made.value == pytest.approx(row.mean, rel=1e-12)
        assert (made.n, made.p, made.better, made.worse) == (row.n, row.p, row.better, row.worse)
        if made.difference is not None:
            assert row.baseline_mean is not None
            assert made.difference.value == pytest.approx(row.mean.value - row.baseline_mean)


def test_the_best_kind_of_a_base_and_those_not_significantly_different(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.2, 40)
    columns = {
        "louvain": (0.7 + noise).tolist(),
        "bivariate": (0.7 + rng.normal(0, 0.2, 40)).tolist(),
        "shap": (0.5 + noise).tolist(),  # always below louvain by the same amount
        "random": (0.2 + rng.normal(0, 0.2, 40)).tolist(),
    }
    scores = scores_of("comprehensiveness_flips", columns)
    (one,) = found(tmp_path / "a", scores).properties
    marked = {made.method: made.best for made in one.entries}
    assert marked == {"louvain": True, "bivariate": True, "shap": False, "random": False}
    (one,) = found(tmp_path / "b", scores, [metric_entry("comprehensiveness_flips", higher=False)]).properties
    marked = {made.method: made.best for made in one.entries}
    assert not any(marked.values()), "random is significantly better than all"


def test_complexity_is_compared_with_the_same_random_explanation_as_on_the_leaderboard(tmp_path: Path) -> None:
    metric = metric_entry("complexity(top)", "complexity", higher=False, parameters={"top": "span_pairs"})
    values = {"louvain": [1.0, 2.0] * 4, "random_span": [0.1, 0.1] * 4, "shap": [1.0, 1.0] * 4}
    scores = [
        Score(f"i{i}", name, metric["label"], value, series={"random": (1.5 + i % 2,), "uniform": (3.0,)})
        for name, column in values.items()
        for i, value in enumerate(column)
    ]
    (one,) = found(tmp_path / "a", scores, [metric]).properties
    louvain = entry(one, "span_interaction", "shapley")
    assert louvain.bounds == Bounds(2.0, 3.0)
    assert louvain.difference is not None
    assert louvain.difference.value == pytest.approx(1.4)
    assert louvain.worse
    assert entry(one, "token", "shapley").difference is None, "the run has no random words"
    assert entry(one, "span_interaction", "random").difference is None
    everything = metric_entry("complexity(top)", "complexity", parameters={"top": "all"})
    assert analyse([kinds_run(tmp_path / "b", scores, [everything])]) is None


def test_properties_in_order_and_agreement_both_over_all_words_and_within_the_budget(tmp_path: Path) -> None:
    metrics = [
        metric_entry("pairs", "agreement", parameters={"level": "interaction"}),
        metric_entry("all", "agreement", parameters={"level": "token", "within": "all"}),
        metric_entry("other", "accuracy"),
        metric_entry("sufficiency_flips"),
        FLIPS,
        metric_entry("fixed", "comprehensiveness_flips", parameters={"words": [1, 2]}),
        metric_entry("budget", "agreement", parameters={"level": "token", "within": "budget"}),
    ]
    columns = {"shap": [0.5, 1.0], "louvain": [0.5, 0.2]}
    scores = [score for metric in metrics for score in scores_of(metric["label"], columns)]
    met = [(one.name, one.metric) for one in found(tmp_path / "a", scores, metrics).properties]
    assert met == [
        ("comprehensiveness", "comprehensiveness_flips"),
        ("comprehensiveness", "fixed"),
        ("sufficiency", "sufficiency_flips"),
        ("agreement_of_words", "all"),
        ("agreement_of_words", "budget"),
        ("agreement_of_pairs", "pairs"),
    ]


def test_span_pairs_of_each_base_are_compared_with_their_own_random_spans(tmp_path: Path) -> None:
    """Signs, p-values and marks are those of the leaderboard, whichever way the random spans differ."""
    rng = np.random.default_rng(3)
    over = [("shapley", "bivariate_shapley"), ("attention", "attention_interaction")]
    entries = [
        method_entry(f"spans {base}", "louvain", kind="span_interaction", base=base, parameters={"over": {name: {}}})
        for base, name in over
    ]
    entries += [
        method_entry(
            f"random {base}",
            "random_span",
            kind="span_interaction",
            base="random",
            parameters={"like": {"louvain": {"over": {name: {}}}}},
        )
        for base, name in over
    ]
    metric = metric_entry("complexity(top)", "complexity", higher=False, parameters={"top": "span_pairs"})
    columns = {
        "spans shapley": rng.normal(2.0, 0.1, 30),
        "random shapley": rng.normal(2.5, 0.1, 30),
        "spans attention": rng.normal(2.2, 0.1, 30),
        "random attention": rng.normal(1.9, 0.1, 30),
        "shap": rng.normal(1.0, 0.1, 30),
        "random": rng.normal(1.5, 0.1, 30),
    }
    scores = scores_of(metric["label"], {name: values.tolist() for name, values in columns.items()})
    run = kinds_run(tmp_path, scores, [metric], [*entries, *METHODS[2::3], METHODS[5]])
    result = analyse([run])
    assert result is not None
    (one,) = result.runs[0].properties
    board = {row.method: row for row in boards_of(run)[metric["label"]].standings}
    shapley, attention = entry(one, "span_interaction", "shapley"), entry(one, "span_interaction", "attention")
    assert (shapley.better, attention.worse) == (True, True)
    assert board["spans attention"].baseline == "random attention"
    compared = [made for made in one.entries if made.difference is not None]
    assert len(compared) == 3
    for made in compared:
        row = board[made.method]
        assert made.difference is not None
        assert row.mean is not None
        assert row.baseline_mean is not None
        assert np.sign(made.difference.value) == np.sign(row.mean.value - row.baseline_mean)
        assert (made.p, made.better, made.worse) == (row.p, row.better, row.worse)
    random = entry(one, "span_interaction", "random")
    both = (columns["random shapley"] + columns["random attention"]) / 2
    assert (random.value.value, random.n) == (pytest.approx(both.mean()), 30)
    assert not random.best


def test_of_several_methods_of_a_kind_and_base_the_first_counts(tmp_path: Path) -> None:
    more = [*METHODS, method_entry("sampling", kind="token", base="shapley"), method_entry("lime", kind="token")]
    columns = {"shap": [1.0], "sampling": [0.0], "lime": [0.0], "louvain": [1.0]}
    (one,) = found(tmp_path, scores_of("comprehensiveness_flips", columns), methods=more).properties
    assert {made.method for made in one.entries} == {"shap", "louvain"}
    assert entry(one, "token", "shapley").value == Estimate(1.0)


@pytest.mark.parametrize(
    "broken",
    [{}, {"methods": 3, "metrics": "x"}, {"methods": [{"label": "x", "kind": [], "base": {}}], "metrics": [None]}],
)
def test_runs_without_two_kinds_or_with_a_card_that_says_nothing(tmp_path: Path, broken: Mapping[str, Any]) -> None:
    scores = scores_of("comprehensiveness_flips", {"shap": [1.0, 0.0], "random": [0.0, 0.0]})
    assert analyse([kinds_run(tmp_path / "a", scores)]) is None
    assert analyse([kinds_run(tmp_path / "b", scores, card=broken)]) is None
    assert analyse([kinds_run(tmp_path / "c", [])]) is None


@pytest.mark.parametrize(
    "odd",
    [
        {"methods": [1, {"name": "random"}, {"label": "shap", "kind": [], "base": {}}]},
        {"metrics": [1, {"label": "m", "name": "comprehensiveness_flips", "parameters": "x"}]},
        {"metrics": [{"label": "m", "name": "comprehensiveness_flips", "parameters": {"k": [], "words": 3}}]},
    ],
)
def test_odd_cards_are_read_as_far_as_they_go(tmp_path: Path, odd: Mapping[str, Any]) -> None:
    scores = scores_of("m", {"shap": [1.0, 0.0], "louvain": [0.0, 0.0]})
    run = make_run(tmp_path, card=run_card(METHODS, [FLIPS]) | odd, scores=scores)
    run.findings("unified")


RIGHT = [(i % 2, i % 2) for i in range(30)]
WRONG = [(1 - i % 2, 1 - i % 2) for i in range(30)]
HALF = [(i % 2, i % 2) if i % 3 else (1 - i % 2, 1 - i % 2) for i in range(30)]


def f1(answers: list[tuple[int, int]]) -> float:
    model = [i % 2 for i in range(len(answers))]
    each = [f1_score(model, [one[seed] for one in answers], average="macro") for seed in (0, 1)]
    return float(np.mean(each))


def test_simulatability_is_rsf_and_its_difference_is_paired(tmp_path: Path) -> None:
    metric = metric_entry("simulatability", parameters={"insertion": "symbol"})
    answers = {"shap": RIGHT, "random": HALF, "louvain": HALF, "random_span": WRONG}
    scores = agent_scores("simulatability", answers, HALF)
    scores.append(Score("taught", "shap", "simulatability", None, "not_held_out"))
    (one,) = found(tmp_path, scores, [metric]).properties
    shap, louvain = entry(one, "token", "shapley"), entry(one, "span_interaction", "shapley")
    assert shap.sf == Estimate(1.0)
    assert (shap.value.value, shap.n) == (pytest.approx(1 - f1(HALF)), 30)
    assert shap.difference is not None
    assert shap.difference.value == pytest.approx(1 - f1(HALF))
    assert not shap.like_random
    assert louvain.sf is not None
    assert louvain.sf.value == pytest.approx(f1(HALF))
    assert louvain.value.value == pytest.approx(0.0)
    assert louvain.difference is not None
    assert louvain.difference.value == pytest.approx(f1(HALF))  # random spans: SF 0
    assert (shap.best, louvain.best) == (True, False)
    assert (one.over, one.seeds) == ("seeds and instances", 2)
    assert one.without == pytest.approx(f1(HALF))


def test_the_order_of_scores_does_not_matter(tmp_path: Path) -> None:
    metric = metric_entry("simulatability")
    scores = agent_scores("simulatability", {"shap": RIGHT, "random": HALF, "louvain": HALF}, HALF)
    assert found(tmp_path / "a", scores, [metric]) == found(tmp_path / "b", scores[::-1], [metric])


def test_an_agent_that_answers_as_with_random_is_like_random(tmp_path: Path) -> None:
    named = [(i % 2 if i % 5 else 0,) for i in range(20)]
    scores = agent_scores("simulatability", {"shap": named, "random": named, "louvain": named}, named)
    (one,) = found(tmp_path, scores, [metric_entry("simulatability")]).properties
    assert entry(one, "token", "shapley").difference == Estimate(0.0)
    assert entry(one, "token", "shapley").like_random
    assert (one.over, one.seeds) == ("instances", 1)


def test_stability_is_the_mean_of_the_notes_of_spans(tmp_path: Path) -> None:
    def note(i: int, name: str, kind: Kind, notes: Mapping[str, Any]) -> Highlight:
        unit = (Span(0, 0, 1), Span(1, 0, 1))
        return Highlight(f"i{i}", name, kind, Target(), (unit,), (1.0,), notes=notes)

    values = [0.5, 1.0, 0.75] * 2
    highlights = [note(i, "louvain", "span_interaction", {"stability": v}) for i, v in enumerate(values)]
    highlights += [note(0, "random_span", "span_interaction", {}), note(0, "shap", "token", {"stability": 0.1})]
    scores = scores_of("comprehensiveness_flips", {"shap": [1.0], "louvain": [1.0]})
    (row,) = found(tmp_path, scores, highlights=highlights).stability
    assert (row.method, row.base, row.n) == ("louvain", "shapley", 6)
    assert row.value == (0.75, *(bca(np.array(values)) or ()))


def test_several_runs_keep_their_numbers_and_one_that_does_not_apply_is_refused(tmp_path: Path) -> None:
    columns = {"shap": [1.0, 0.5], "louvain": [0.5, 0.0], "random": [0.0, 0.5]}
    runs = []
    for name in ("small", "large"):
        card = run_card(METHODS, [FLIPS], model={"name": name})
        runs.append(kinds_run(tmp_path / name, scores_of(FLIPS["label"], columns), card=card))
    result = analyse(runs)
    assert result is not None
    assert [run.name for run in result.runs] == ["small", "large"]
    alone = analyse(runs[:1])
    assert alone is not None
    assert result.runs[0].properties == alone.runs[0].properties
    assert alone.together is None
    words = kinds_run(tmp_path / "words", scores_of(FLIPS["label"], {"shap": [1.0]}))
    with pytest.raises(UserError, match="fewer than two kinds") as refused:
        analyse([*runs, words])
    assert str(tmp_path / "words") in str(refused.value)


def test_kinds_and_bases_are_those_with_a_value(tmp_path: Path) -> None:
    run = kinds_run(tmp_path, scores_of(FLIPS["label"], {"shap": [1.0], "random_span": [0.5], "bivariate": [None]}))
    result = analyse([run])
    assert result is not None
    assert result.runs[0].kinds() == (KINDS[0], KINDS[2])
    assert result.runs[0].bases() == ("shapley", "random")


def test_inputs_of_several_runs_are_paired_across_models_and_data(tmp_path: Path) -> None:
    """Two models on the same inputs count each input once, by their mean; other data adds inputs."""
    rng = np.random.default_rng(0)
    tables = {name: rng.random((12, 3)) for name in ("one", "two", "other")}
    runs = []
    for name, table in tables.items():
        columns = dict(zip(("shap", "louvain", "random"), table.T.tolist(), strict=True))
        data = {"name": "elsewhere" if name == "other" else "here", "split": "test"}
        card = run_card(METHODS, [FLIPS], model={"name": name}, data=data)
        runs.append(kinds_run(tmp_path / name, scores_of(FLIPS["label"], columns), card=card))
    result = analyse(runs)
    assert result is not None
    assert result.together is not None
    (one,) = result.together.properties
    stacked = np.concatenate([(tables["one"] + tables["two"]) / 2, tables["other"]])
    shap = entry(one, "token", "shapley")
    assert shap.n == 24
    assert shap.value.value == pytest.approx(stacked[:, 0].mean())
    assert shap.difference is not None
    assert shap.difference.value == pytest.approx((stacked[:, 0] - stacked[:, 2]).mean())
    test = joint_test(stacked, higher_is_better=True, tolerance=1e-6)
    assert (shap.p, shap.better) == (pytest.approx(test.p[0, 2], abs=0.02), test.beats(0, 2))


def test_the_f1_of_the_model_is_that_of_sklearn(tmp_path: Path) -> None:
    gold, said = [list("aabbccabca"), list("abbbcaabcc")]
    scores = scores_of(FLIPS["label"], {"shap": [1.0] * 10, "louvain": [1.0] * 10})
    instances = [replace(one, label=label) for one, label in zip(plain_instances(scores), gold, strict=True)]
    predictions = [
        Prediction(one.id, label, tuple("abc"), (1 / 3,) * 3) for one, label in zip(instances, said, strict=True)
    ]
    run = found(tmp_path, scores, instances=instances, predictions=predictions)
    assert run.f1 is not None
    assert run.f1.value == pytest.approx(f1_score(gold, said, average="macro"))


def test_the_noise_of_the_budget_is_part_of_the_interval(tmp_path: Path) -> None:
    """All inputs have the same value, so the interval is that of the values at budgets by other seeds.

    Of two runs too, whose values are averaged for each input; the second has no other budgets.
    """
    noise = np.random.default_rng(0).normal(0, 0.1, (2, 3, 20))

    def scored(*, drawn: bool) -> list[Score]:
        return [
            Score(
                f"i{i}",
                name,
                FLIPS["label"],
                value,
                series={"by_budget": tuple((value + noise[row, :, i]).tolist())} if drawn else {},
            )
            for row, (name, value) in enumerate({"louvain": 0.5, "random_span": 0.2}.items())
            for i in range(20)
        ]

    more = scores_of(FLIPS["label"], {"shap": [0.5] * 20, "random": [0.1] * 20})
    properties = [found(tmp_path / str(drawn), [*scored(drawn=drawn), *more]).properties[0] for drawn in (True, False)]
    assert [one.draws for one in properties] == [4, 1]
    wide, narrow = (entry(one, "span_interaction", "shapley") for one in properties)
    assert narrow.difference is not None
    assert (narrow.value, narrow.difference.low) == (Estimate(0.5, n=20), None)
    values = np.vstack([np.full(20, 0.5), 0.5 + noise[0]])
    assert wide.value == mean_over_draws(values)
    gaps = values - np.vstack([np.full(20, 0.2), 0.2 + noise[1]])
    assert wide.difference == pytest.approx(mean_over_draws(gaps))
    assert wide.difference is not None
    assert wide.difference.low is not None
    assert wide.difference.low < 0.28
    runs = [
        kinds_run(
            tmp_path / f"together {drawn}",
            [*scored(drawn=drawn), *more],
            card=run_card(METHODS, [FLIPS], model={"name": str(drawn)}),
        )
        for drawn in (True, False)
    ]
    result = analyse(runs)
    assert result is not None
    assert result.together is not None
    both = entry(result.together.properties[0], "span_interaction", "shapley")
    assert both.value == mean_over_draws((values + 0.5) / 2)
