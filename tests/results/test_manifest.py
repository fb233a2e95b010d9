"""Run cards as typed manifests: those of earlier versions, damaged ones, and whatever else somebody wrote there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.runs import method_entry, word_run
from support.stored import forget_hashes
from verax.report.page import render
from verax.results.manifest import FORMAT, NOT_RECORDED, Counts, Manifest, MethodEntry, MetricEntry
from verax.results.run import Run

GOLDEN = Path(__file__).parent.parent / "golden"


def read(card: object) -> Manifest:
    """A card that holds nothing unreadable."""
    manifest, problems = Manifest.read(card)
    assert problems == ()
    return manifest


@pytest.mark.parametrize("path", sorted(GOLDEN.glob("*/*/run.json")), ids=lambda path: "-".join(path.parts[-3:-1]))
def test_a_card_of_format_1_is_read_whole(path: Path) -> None:
    card = json.loads(path.read_text("utf-8"))
    assert card["format"] == FORMAT == 1
    manifest = read(card)
    assert [entry.label for entry in manifest.methods] == [entry["label"] for entry in card["methods"]]
    assert [entry.parameters for entry in manifest.methods] == [entry["parameters"] for entry in card["methods"]]
    assert [entry.parameters for entry in manifest.metrics] == [entry["parameters"] for entry in card["metrics"]]
    assert [entry.higher_is_better for entry in manifest.metrics] == [
        entry["higher_is_better"] for entry in card["metrics"]
    ]
    assert manifest.counts is not None
    assert manifest.counts.model_dump() == card["counts"]
    assert dict(manifest.model.facts)["hash"] == card["model"]["hash"]
    assert (manifest.data.hash, manifest.data.n) == (card["data"]["hash"], card["data"]["n"])
    assert (manifest.command, manifest.seed, manifest.spec) == (card["command"], card["seed"], card["spec"])
    assert Run(path.parent).problems == ()


@pytest.mark.parametrize("card", [None, {}])
def test_no_card_is_a_manifest_of_defaults(card: object) -> None:
    manifest = read(card)
    assert (manifest.model.name, manifest.data.name, manifest.command) == (NOT_RECORDED,) * 3
    assert (manifest.methods, manifest.metrics, manifest.counts, manifest.seed) == ((), (), None, None)
    assert manifest.data.metric == "accuracy"


@pytest.mark.parametrize("card", [[], "text", 3, True])
def test_a_card_that_is_no_mapping_is_one_problem(card: object) -> None:
    manifest, problems = Manifest.read(card)
    assert manifest == Manifest()
    assert len(problems) == 1


@pytest.mark.parametrize(
    ("card", "kept", "named"),
    [
        ({"methods": "x"}, [], ["methods"]),
        ({"methods": [3, {}, {"label": ["x"]}, {"label": "a"}, None]}, ["a"], ["methods"] * 4),
        ({"methods": [{"label": "a", "parameters": "x", "kind": ["y"], "signed": "maybe"}]}, ["a"], ["methods: "] * 3),
        ({"methods": [{"label": "a", "version": "new"}], "metrics": {"label": "x"}}, ["a"], ["version", "metrics"]),
        ({"methods": [{"label": 3}]}, ["3"], []),
        ({"methods": [{"label": "a", "kind": None, "base": None}]}, ["a"], []),
    ],
)
def test_entries_are_kept_without_what_is_not_valid(card: Any, kept: list[str], named: list[str]) -> None:
    manifest, problems = Manifest.read(card)
    assert [entry.label for entry in manifest.methods] == kept
    assert len(problems) == len(named)
    assert all(name in problem for name, problem in zip(named, problems, strict=True))
    assert all(entry.parameters == {} for entry in manifest.methods)
    assert all(entry.kind == "token" for entry in manifest.methods)


@pytest.mark.parametrize(
    ("card", "named"),
    [
        ({"model": "text"}, "model"),
        ({"data": {"metric": "no such thing"}}, "metric"),
        ({"data": {"metric": ["odd"]}}, "metric"),
        ({"counts": 3}, "counts"),
        ({"counts": {"rows": "many"}}, "rows"),
        ({"cost": []}, "cost"),
        ({"cost": {"seconds": "long"}}, "cost"),
        ({"cost": {"forward": float("nan")}}, "cost"),
        ({"cost": {"forward": float("inf")}}, "cost"),
        ({"spec": [1]}, "spec"),
        ({"versions": {"torch": [2]}}, "versions"),
        ({"warnings": "beware"}, "warnings"),
        ({"seed": "abc"}, "seed"),
        ({"format": "new"}, "format"),
    ],
)
def test_a_part_that_is_not_valid_is_left_out_and_named(card: dict[str, Any], named: str) -> None:
    manifest, problems = Manifest.read(card | {"command": "verax run"})
    assert len(problems) == 1
    assert named in problems[0]
    assert manifest.command == "verax run", "all else is read"
    assert manifest.data.metric == "accuracy"
    assert manifest.cost == {}


def test_fields_of_later_versions_are_kept() -> None:
    card = {"model": {"name": "m", "layers": 3}, "methods": [{"label": "a", "speed": "high"}], "format": 9, "new": [1]}
    manifest = read(card)
    assert dict(manifest.model.facts) == {"name": "m", "layers": 3}
    assert manifest.methods[0].model_extra == {"speed": "high"}
    assert (manifest.format, manifest.model_extra) == (9, {"new": [1]})


def test_counts_default_to_nothing() -> None:
    assert read({"counts": {"rows": 3, "done": 2}}).counts == Counts(rows=3, done=2, failed=0, skipped=0)


def test_strings_that_are_not_utf_8_are_shown_as_such_and_labels_stay_as_they_are() -> None:
    odd = "half \ud800"
    card = {"methods": [{"label": odd, "name": odd}], "model": {"name": odd, odd: odd}, odd: 1, "versions": {odd: odd}}
    manifest = read(card)
    shown = "half \N{REPLACEMENT CHARACTER}"
    assert manifest.method(odd) is manifest.methods[0]
    assert (manifest.methods[0].label, manifest.methods[0].name) == (odd, shown)
    assert dict(manifest.model.facts) == {"name": shown, shown: shown}
    assert manifest.versions == {shown: shown}


def nested(depth: int) -> Any:
    value: Any = "deep"
    for number in range(depth):
        value = [value] if number % 2 else {"key": value}
    return value


@pytest.mark.parametrize("depth", [10, 200, 900])
def test_deep_entries_end_no_page(tmp_path: Path, depth: int) -> None:
    word_run(tmp_path)
    deep = nested(depth)
    card = {
        "spec": {"a": deep},
        "model": {"name": "m", "facts": deep},
        "new": deep,
        "data": {"provenance": {"a": deep}},
    }
    methods = [method_entry("loo", parameters={"a": deep}), method_entry("random")]
    forget_hashes(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps(card | {"methods": methods}))
    run = Run(tmp_path)
    assert [entry.label for entry in run.manifest.methods] == ["loo", "random"]
    assert bool(run.problems) == (depth > 30)
    assert "Run card" in render(run)


TEXT = st.text(st.characters(codec=None), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
FIELDS = sorted(Manifest.model_fields)
ENTRY = st.dictionaries(st.sampled_from(sorted({*MethodEntry.model_fields, *MetricEntry.model_fields})) | TEXT, JSON)


@settings(max_examples=150)
@given(
    st.dictionaries(st.sampled_from(FIELDS) | TEXT, JSON | st.lists(ENTRY, max_size=3), max_size=6),
)
def test_no_card_raises_and_everything_can_be_asked_of_its_manifest(card: dict[str, Any]) -> None:
    manifest, problems = Manifest.read(card)
    assert all(isinstance(problem, str) for problem in problems)
    for label in (*manifest.method_labels(["met"]), "unknown", "\ud800"):
        assert isinstance(manifest.display(label), str)
        assert isinstance(manifest.baseline(label), str)
        assert manifest.method(label).label == label
    for label in manifest.metric_labels(["met", "\ud800"]):
        assert manifest.metric(label).ascending in {True, False}


def test_each_kind_has_its_own_random_explanation() -> None:
    methods = [
        method_entry("random(seed=3)", "random", kind="token"),
        method_entry("shap", kind="token"),
        method_entry("pairs", kind="token_interaction"),
        method_entry("random_interaction", kind="token_interaction"),
        method_entry("spans", kind="span_interaction"),
        method_entry("random_span(longest=2)", "random_span", kind="span_interaction"),
        method_entry("random_span", kind="span_interaction"),
        {"label": "made elsewhere", "name": "made elsewhere"},
    ]
    manifest = read({"methods": methods})
    assert {entry["label"]: manifest.baseline(entry["label"]) for entry in methods} == {
        "random(seed=3)": "random(seed=3)",
        "shap": "random(seed=3)",
        "pairs": "random_interaction",
        "random_interaction": "random_interaction",
        "spans": "random_span(longest=2)",
        "random_span(longest=2)": "random_span(longest=2)",
        "random_span": "random_span(longest=2)",
        "made elsewhere": "random(seed=3)",
    }
    assert manifest.baseline("only in the rows") == "random(seed=3)"
    assert [entry.random for entry in manifest.methods] == [True, False, False, True, False, True, True, False]


def test_a_kind_without_a_random_explanation_falls_back_to_that_of_words() -> None:
    methods = [method_entry("random(seed=3)", "random", kind="token"), method_entry("pairs", kind="token_interaction")]
    assert read({"methods": methods}).baseline("pairs") == "random(seed=3)"
    assert read({"methods": methods[1:]}).baseline("pairs") == "random"
    assert read({"methods": [method_entry("x", kind="odd")]}).baseline("x") == "random"


def test_a_metric_without_a_direction_is_read_as_higher_is_better() -> None:
    manifest = read({"metrics": [{"label": "a"}, {"label": "b", "higher_is_better": False}]})
    assert [manifest.metric(label).ascending for label in ("a", "b", "unknown")] == [True, False, True]
    assert manifest.metric("a").higher_is_better is None


def test_labels_come_in_the_order_of_the_card_and_those_of_the_rows_last() -> None:
    manifest = read({"methods": [method_entry("b"), method_entry("a")], "metrics": [{"label": "m"}]})
    assert manifest.method_labels(["z", "a"]) == ("b", "a", "z")
    assert manifest.metric_labels(["n", "m"]) == ("m", "n")


def test_names_are_short_and_differ_where_methods_do() -> None:
    methods = [
        method_entry("integrated_gradients(steps=75)", "integrated_gradients", parameters={"steps": 75}),
        method_entry("integrated_gradients(steps=100)", "integrated_gradients", parameters={"steps": 100}),
        method_entry("leave_one_out", "leave_one_out", parameters={}),
        method_entry("mine", "no such method", parameters={}),
        method_entry("twin 1", "twin", parameters={}),
        method_entry("twin 2", "twin", parameters={}),
    ]
    manifest = read({"methods": methods})
    shown = [manifest.display(entry.label) for entry in manifest.methods]
    assert len(set(shown)) == len(shown), "no two methods are shown by the same name"
    assert "75" in shown[0]
    assert "100" in shown[1]
    assert shown[4:] == ["twin 1", "twin 2"]
    assert manifest.display("only in the rows") == "only in the rows"
