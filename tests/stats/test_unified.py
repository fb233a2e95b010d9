"""The tables of the unified framework against means, differences and marks computed by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from verax.stats.unified import KINDS, Bounds, Cell, Property, Unified, holds_zero, unified

from verax.stats import bca, summarise
from verax.stats.recorded import baselines
from verax.stats.simulation import simulated
from verax.types import Base, Estimate, Highlight, Kind, Score, Span, Target

RANDOM: dict[Kind, str] = {
    "token": "random",
    "token_interaction": "random_interaction",
    "span_interaction": "random_span",
}


def method(label: str, kind: Kind, base: Base | None, name: str | None = None) -> dict[str, Any]:
    return {"label": label, "name": name or label, "kind": kind, "base": base}


def metric(name: str, label: str | None = None, higher: bool = True, **parameters: Any) -> dict[str, Any]:
    return {"label": label or name, "name": name, "higher_is_better": higher, "parameters": parameters}


METHODS = [
    *(method(RANDOM[kind], kind, "random") for kind in KINDS),
    method("louvain", "span_interaction", "shapley"),
    method("bivariate", "token_interaction", "shapley"),
    method("shap", "token", "shapley"),
]
FLIPS = metric("comprehensiveness_flips", k=3)


def card(
    metrics: Sequence[Mapping[str, Any]] = (FLIPS,), methods: Sequence[Mapping[str, Any]] = METHODS
) -> dict[str, Any]:
    return {"methods": list(methods), "metrics": list(metrics)}


def scored(label: str, columns: Mapping[str, Sequence[float | None]], **series: Sequence[float]) -> list[Score]:
    """Scores by instance; `series` has a number for each instance, kept as the last of two."""
    return [
        Score(
            f"i{i}",
            name,
            label,
            value,
            None if value is not None else "empty",
            series={key: (0.0, numbers[i]) for key, numbers in series.items()} if value is not None else {},
        )
        for name, column in columns.items()
        for i, value in enumerate(column)
    ]


def found(*args: Any) -> Unified:
    made = unified(*args)
    assert made is not None
    return made


def cell(one: Property, kind: Kind, base: Base) -> Cell:
    made = one.at(kind, base)
    assert made is not None
    return made


def test_means_and_paired_differences_by_hand() -> None:
    columns: dict[str, list[float | None]] = {
        "random": [0.0, 0.0, 0.5, 0.5],
        "shap": [1.0, 0.5, None, 1.0],
        "random_span": [0.5, 0.5, 0.5, 0.5],
        "louvain": [0.5, 0.0, 1.0, 0.5],
    }
    (one,) = found(card(), scored("comprehensiveness_flips", columns, words=[3, 5, 4, 6])).properties
    assert (one.name, one.metric, one.higher_is_better) == ("comprehensiveness", "comprehensiveness_flips", True)
    shap = cell(one, "token", "shapley")
    assert (shap.method, shap.n, shap.pairs) == ("shap", 3, 3)
    assert shap.value == (2.5 / 3, *(bca(np.array([1.0, 0.5, 1.0])) or ()))
    assert shap.difference == (2.0 / 3, *(bca(np.array([1.0, 0.5, 0.5])) or ()))  # random's i2 has no partner
    assert shap.words == 14 / 3  # of the instances that have a value
    assert not shap.like_random
    louvain = cell(one, "span_interaction", "shapley")
    assert louvain.difference is not None
    assert louvain.difference.value == 0.0
    assert louvain.like_random
    assert cell(one, "token", "random").difference is None
    assert one.at("token_interaction", "shapley") is None


def test_the_same_numbers_as_on_the_leaderboard() -> None:
    rng = np.random.default_rng(0)
    columns = {entry["label"]: rng.random(25).tolist() for entry in METHODS}
    scores = scored("comprehensiveness_flips", columns)
    (one,) = found(card(), scores).properties
    rows = {row.method: row for row in summarise(scores, {FLIPS["label"]: True}, baseline=baselines(card()))}
    assert {cell.method for cell in one.cells} == set(rows)
    for cell in one.cells:
        row = rows[cell.method]
        assert (cell.value.value, cell.value.low, cell.value.high, cell.n) == (row.mean, row.low, row.high, row.n)
        if cell.difference is not None:
            assert row.mean is not None
            assert row.random is not None
            assert cell.difference.value == pytest.approx(row.mean - row.random)


def test_the_best_kind_of_a_base_and_who_can_t_be_told_from_it() -> None:
    rng = np.random.default_rng(1)
    noise = rng.normal(0, 0.2, 40)
    columns = {
        "louvain": (0.7 + noise).tolist(),
        "bivariate": (0.7 + rng.normal(0, 0.2, 40)).tolist(),
        "shap": (0.5 + noise).tolist(),  # always below louvain by the same amount
        "random": [0.9] * 40,
    }
    (one,) = found(card(), scored("comprehensiveness_flips", columns)).properties
    marked = {c.method: c.best for c in one.cells}
    assert marked == {"louvain": True, "bivariate": True, "shap": False, "random": False}
    lower = metric("comprehensiveness_flips", higher=False)
    (one,) = found(card([lower]), scored("comprehensiveness_flips", columns)).properties
    assert {c.method: c.best for c in one.cells} == {
        "louvain": False,
        "bivariate": False,
        "shap": True,
        "random": False,
    }


def test_complexity_is_measured_from_as_many_drawn_scores() -> None:
    entry = metric("complexity", "complexity(top=span_pairs)", higher=False, top="span_pairs")
    values = {"louvain": [1.0, 2.0], "random_span": [0.1, 0.1], "shap": [1.0, 1.0]}
    scores = [
        Score(f"i{i}", name, entry["label"], value, series={"random": (1.5 + i,), "uniform": (3.0,)})
        for name, column in values.items()
        for i, value in enumerate(column)
    ]
    (one,) = found(card([entry]), scores).properties
    louvain = cell(one, "span_interaction", "shapley")
    assert louvain.bounds == Bounds(2.0, 3.0)
    assert louvain.difference == Estimate(-0.5, -0.5, -0.5)
    assert cell(one, "token", "shapley").difference is not None  # the run has no random words: the bound is enough
    assert cell(one, "span_interaction", "random").difference is None
    assert unified(card([metric("complexity", top="all")]), scores) is None


def test_properties_in_order_and_agreement_within_the_budget_first() -> None:
    entries = [
        metric("agreement", "pairs", level="interaction"),
        metric("agreement", "all", level="token", within="all"),
        metric("accuracy", "other"),
        metric("sufficiency_flips"),
        FLIPS,
        metric("comprehensiveness_flips", "fixed", words=[1, 2]),
        metric("agreement", "budget", level="token", within="budget"),
    ]
    columns = {"shap": [0.5, 1.0], "louvain": [0.5, 0.2]}
    scores = [score for entry in entries for score in scored(entry["label"], columns)]
    met = [(one.name, one.metric) for one in found(card(entries), scores).properties]
    assert met == [
        ("comprehensiveness", "comprehensiveness_flips"),
        ("comprehensiveness", "fixed"),
        ("sufficiency", "sufficiency_flips"),
        ("agreement_of_words", "budget"),
        ("agreement_of_pairs", "pairs"),
    ]
    without = found(card(entries[:-1]), scores).properties
    assert [one.metric for one in without if one.name == "agreement_of_words"] == ["all"]


def test_of_several_methods_of_a_kind_and_base_the_first_counts() -> None:
    more = [*METHODS, method("sampling", "token", "shapley"), method("lime", "token", None)]
    columns = {"shap": [1.0], "sampling": [0.0], "lime": [0.0], "louvain": [1.0]}
    (one,) = found(card(methods=more), scored("comprehensiveness_flips", columns)).properties
    assert {c.method for c in one.cells} == {"shap", "louvain"}
    assert cell(one, "token", "shapley").value == Estimate(1.0)


@pytest.mark.parametrize(
    "broken",
    [{}, {"methods": 3, "metrics": "x"}, {"methods": [{"label": "x", "kind": [], "base": {}}], "metrics": [None]}],
)
def test_runs_without_two_kinds_or_with_a_card_that_says_nothing(broken: Mapping[str, Any]) -> None:
    scores = scored("comprehensiveness_flips", {"shap": [1.0, 0.0], "random": [0.0, 0.0]})
    assert unified(card(), scores) is None
    assert unified(broken, scores) is None
    assert unified(card(), []) is None


def agents(label: str, answers: Mapping[str, Sequence[Sequence[int]]], without: Sequence[Sequence[int]]) -> list[Score]:
    """Held-out instances of the classes 0, 1, 0, 1, ...; each with what the agents of every seed name."""
    return [
        Score(
            f"i{i}",
            name,
            label,
            0.0,
            series={
                "model": (float(i % 2),),
                "with": tuple(map(float, named)),
                "without": tuple(map(float, without[i])),
            },
        )
        for name, column in answers.items()
        for i, named in enumerate(column)
    ]


def test_simulatability_is_rsf_and_its_difference_is_paired() -> None:
    entry = metric("simulatability", insertion="symbol")
    n = 30
    right = [(i % 2, i % 2) for i in range(n)]
    wrong = [(1 - i % 2, 1 - i % 2) for i in range(n)]
    half = [(i % 2, i % 2) if i % 3 else (1 - i % 2, 1 - i % 2) for i in range(n)]
    scores = agents("simulatability", {"shap": right, "random": half, "louvain": half, "random_span": wrong}, half)
    scores.append(Score("taught", "shap", "simulatability", None, "not_held_out"))
    (one,) = found(card([entry]), scores).properties
    rows = {row.method: row for row in simulated(card([entry]), scores)["simulatability"]}
    shap = cell(one, "token", "shapley")
    assert (shap.value, shap.sf, shap.n) == (rows["shap"].rsf, rows["shap"].sf, n)
    assert shap.sf == Estimate(1.0, 1.0, 1.0)
    assert shap.difference is not None
    assert shap.difference.value == pytest.approx(rows["shap"].rsf.value - rows["random"].rsf.value)
    assert not holds_zero(shap.difference)
    louvain = cell(one, "span_interaction", "shapley")
    assert louvain.difference is not None
    assert louvain.difference.value == pytest.approx(rows["louvain"].sf.value)  # random spans: SF 0
    assert (shap.best, louvain.best) == (True, False)
    assert (one.over, one.seeds) == ("seeds and instances", 2)
    assert one.without == pytest.approx(rows["shap"].without)


def test_an_agent_that_answers_as_with_random_can_t_be_told_from_it() -> None:
    named = [(i % 2 if i % 5 else 0,) for i in range(20)]
    scores = agents("simulatability", {"shap": named, "random": named, "louvain": named}, named)
    (one,) = found(card([metric("simulatability")]), scores).properties
    assert cell(one, "token", "shapley").difference == Estimate(0.0, 0.0, 0.0)
    assert cell(one, "token", "shapley").like_random


def test_stability_is_the_mean_of_the_notes_of_spans() -> None:
    def note(i: int, name: str, kind: Kind, notes: Mapping[str, Any]) -> Highlight:
        unit = (Span(0, 0, 1), Span(1, 0, 1))
        return Highlight(f"i{i}", name, kind, Target(), (unit,), (1.0,), notes=notes)

    values = [0.5, 1.0, 0.75]
    highlights = [note(i, "louvain", "span_interaction", {"stability": v}) for i, v in enumerate(values)]
    highlights += [note(0, "random_span", "span_interaction", {}), note(0, "shap", "token", {"stability": 0.1})]
    scores = scored("comprehensiveness_flips", {"shap": [1.0], "louvain": [1.0]})
    (row,) = found(card(), scores, highlights).stability
    assert (row.method, row.base, row.n) == ("louvain", "shapley", 3)
    assert row.value == (0.75, *(bca(np.array(values)) or ()))


@pytest.mark.parametrize(
    ("interval", "holds"),
    [
        (Estimate(1.0, 0.5, 2.0), False),
        (Estimate(1.0, 0.0, 2.0), True),
        (Estimate(-1.0, -2.0, -0.1), False),
        (Estimate(1.0), True),
    ],
)
def test_told_apart_means_that_the_interval_leaves_0_out(interval: Estimate, holds: bool) -> None:
    assert holds_zero(interval) is holds
