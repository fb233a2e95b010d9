"""The presets are the tables of the papers: so many rows, each one buildable, none twice."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from verax.metrics.free_text.random_editor import RandomEditor
from verax.metrics.free_text.wordnet import word_lists
from verax.registry import entries, resolve
from verax.run.parameters import Configured, from_config
from verax.run.providers import needed_by
from verax.run.spec import override, parse_spec, preset_spec
from verax.studies.free_text.presets import NLE
from verax.studies.leaderboard.presets import ATTRIBUTION_TABLE, IMPORTANCE_MEASURES
from verax.studies.unified.presets import UNIFIED
from verax.types import Base, Target, UserError


def built(preset: Any) -> list[Configured[Any]]:
    methods = [from_config("methods", given, 0) for given in preset.content["methods"]]
    assert len({method.label for method in methods}) == len(methods)
    assert all(from_config("metrics", given, 0) for given in preset.content["metrics"])
    return methods


def test_the_attribution_table_has_13_rows_and_2_columns() -> None:
    methods = built(ATTRIBUTION_TABLE)
    rows = {(method.name, getattr(method.component, "aggregate", None)) for method in methods}
    columns = {method.component.target for method in methods}
    assert columns == {Target("prediction"), Target("loss")}
    assert len(rows) == 13
    assert len(methods) == len(rows) * len(columns)


def test_the_importance_measures_are_9_of_the_gold_logit() -> None:
    methods = built(IMPORTANCE_MEASURES)
    assert len(methods) == 9
    assert {method.component.target for method in methods} == {Target("gold")}
    assert {getattr(method.component, "removal", "mask") for method in methods} == {"mask"}
    path = next(method.component for method in methods if method.name == "integrated_gradients")
    assert (path.baseline, path.steps, path.rule, path.aggregate) == ("zero", 20, "riemann_right", "sum")


def test_the_unified_preset_has_three_kinds_of_three_bases_and_random_of_each() -> None:
    methods = [*built(UNIFIED), from_config("methods", "random", 0)]  # which every run has
    places = {(method.component.kind, method.component.base) for method in methods}
    kinds = ("token", "token_interaction", "span_interaction")
    assert places == {(kind, base) for kind in kinds for base in get_args(Base)}
    assert len(methods) == len(places) == 12
    metrics = [from_config("metrics", given, 0) for given in UNIFIED.content["metrics"]]
    assert len({metric.label for metric in metrics}) == len(metrics) == 8
    needing = [metric for metric in metrics if "budget" in needed_by(metric.component)]
    assert len(needing) == 6, "all but agreement on pairs and over all words"
    assert {metric.component.insertion for metric in metrics if metric.name == "simulatability"} == {"symbol", "text"}


def test_the_random_words_of_the_demo_are_those_of_its_corpus() -> None:
    tests = [from_config("metrics", given, 0).component for given in NLE.content["metrics"]]
    (random,) = [test.editor for test in tests if isinstance(getattr(test, "editor", None), RandomEditor)]
    assert word_lists(random.wordnet) == word_lists("world")


@pytest.mark.parametrize("name", entries("presets"))
def test_a_preset_alone_is_a_spec(name: str) -> None:
    spec = parse_spec(preset_spec(name, {}))
    preset = resolve("presets", name).content
    assert (spec.model.name, spec.data.name) == (preset["model"], preset["data"]["name"])
    assert parse_spec(spec.model_dump(mode="json")) == spec


def test_a_spec_keeps_its_own_metrics_model_and_data() -> None:
    own = {"model": "m", "data": {"name": "d", "split": "dev"}, "metrics": ["complexity"], "methods": ["random"]}
    spec = parse_spec(override(preset_spec("importance-measures", own), {}, {"data": {"name": "e", "limit": 3}}))
    assert (spec.model.name, spec.metrics) == ("m", ("complexity",))
    assert (spec.data.name, spec.data.split, spec.data.limit) == ("e", "dev", 3)
    assert len(spec.methods) == 9


def test_a_preset_that_nobody_knows() -> None:
    with pytest.raises(UserError, match="unknown preset 'atribution-table'; did you mean 'attribution-table'"):
        preset_spec("atribution-table", {})
