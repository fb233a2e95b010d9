"""What a run card says of methods, and which random explanation each is tested against."""

from __future__ import annotations

from typing import Any

import pytest

from verax.stats.recorded import baselines, parameter, recorded


def method(label: str, kind: str, name: str | None = None) -> dict[str, Any]:
    return {"label": label, "name": name or label, "kind": kind}


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


@pytest.mark.parametrize("card", [None, {}, {"methods": "x"}, {"methods": [3, {}, {"label": 3}]}])
def test_whatever_is_no_entry_is_passed_over(card: Any) -> None:
    assert recorded(card, "methods") == []
    assert baselines(card) == {}


def test_names_and_kinds_of_any_shape() -> None:
    odd = {"label": "x", "name": ["random"], "kind": {"token": 1}}
    assert baselines({"methods": [odd]}) == {"x": "random"}


def test_parameters_that_are_not_there() -> None:
    assert parameter({"parameters": {"k": 3}}, "k") == 3
    assert parameter({"parameters": {"k": 3}}, "steps") is None
    assert parameter({"parameters": "x"}, "k") is None
