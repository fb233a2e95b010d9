"""The run card as a typed model: which random explanation each method is compared with, and cards of any shape."""

from __future__ import annotations

from typing import Any

import pytest

from verax.results.manifest import Manifest


def method(label: str, kind: str, name: str | None = None) -> dict[str, Any]:
    return {"label": label, "name": name or label, "kind": kind}


def baselines(card: Any) -> dict[str, str]:
    manifest, _ = Manifest.read(card)
    return {entry.label: manifest.baseline(entry.label) for entry in manifest.methods}


def test_each_kind_has_its_own_random_explanation() -> None:
    methods = [
        method("random(seed=3)", "token", "random"),
        method("shap", "token"),
        method("pairs", "token_interaction"),
        method("random_interaction", "token_interaction"),
        method("spans", "span_interaction"),
        method("random_span(longest=2)", "span_interaction", "random_span"),
        method("random_span", "span_interaction"),
        {"label": "made elsewhere", "name": "made elsewhere"},
    ]
    assert baselines({"methods": methods}) == {
        "random(seed=3)": "random(seed=3)",
        "shap": "random(seed=3)",
        "pairs": "random_interaction",
        "random_interaction": "random_interaction",
        "spans": "random_span(longest=2)",
        "random_span(longest=2)": "random_span(longest=2)",
        "random_span": "random_span(longest=2)",
        "made elsewhere": "random(seed=3)",
    }


def test_a_kind_without_a_random_explanation_falls_back_to_that_of_words() -> None:
    methods = [method("random(seed=3)", "token", "random"), method("pairs", "token_interaction")]
    assert baselines({"methods": methods})["pairs"] == "random(seed=3)"
    assert baselines({"methods": methods[1:]}) == {"pairs": "random"}


@pytest.mark.parametrize("card", [{"methods": "x"}, {"methods": [3]}, {"methods": [{}]}, 3])
def test_an_entry_that_cannot_be_read_is_left_out_and_reported(card: Any) -> None:
    manifest, problems = Manifest.read(card)
    assert manifest.methods == ()
    assert len(problems) == 1


def test_fields_of_any_shape_are_left_out_and_reported() -> None:
    odd = {"label": "x", "name": ["random"], "kind": {"token": 1}, "parameters": "x"}
    manifest, problems = Manifest.read({"methods": [odd], "model": 3, "data": [], "seed": 1})
    assert len(problems) == 5
    assert manifest.seed == 1
    assert manifest.method("x").parameters == {}
    assert manifest.baseline("x") == "random"


def test_a_card_that_was_not_written_yet_is_empty() -> None:
    assert Manifest.read(None) == (Manifest(), ())
    assert Manifest.read({}) == (Manifest(), ())
