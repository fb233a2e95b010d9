"""Short names for the rows of a table: known, unique, and with those parameters alone that differ."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from verax.registry import Namespace, built_in, display_names, entries, resolve
from verax.run.parameters import from_config


def names(namespace: Namespace, *given: Any) -> list[str]:
    configured = [from_config(namespace, one, 0) for one in given]
    return display_names(namespace, [(one.name, one.parameters) for one in configured])


@pytest.mark.parametrize("namespace", ["methods", "metrics"])
@pytest.mark.parametrize("preset", entries("presets"))
def test_names_of_a_preset_are_short_unique_and_in_any_order_the_same(preset: str, namespace: Namespace) -> None:
    given = resolve("presets", preset).content[namespace]
    given = [one for one in given if one != "all"]
    shown = names(namespace, *given)
    assert len(set(shown)) == len(shown) == len(given)
    assert all(0 < len(name) <= 32 for name in shown)
    assert names(namespace, *reversed(given)) == shown[::-1]


def test_names_of_the_papers() -> None:
    assert names("methods", *resolve("presets", "importance-measures").content["methods"]) == [
        "Grad (L1)",
        "Grad (L2)",
        "InputXGrad (sign)",
        "InputXGrad (abs)",
        "IG (sign)",
        "IG (abs)",
        "LOO (sign)",
        "LOO (abs)",
        "Beam",
    ]
    unified = names("methods", *resolve("presets", "unified").content["methods"])
    assert unified[:3] == ["SHAP", "Attention", "IG"]
    assert unified[6:9] == ["Louvain over Shapley", "Louvain over attention", "Louvain over AttAttr"]
    table = names("methods", *resolve("presets", "attribution-table").content["methods"])
    assert [name for name in table if name.startswith("Saliency")] == [
        "Saliency (prediction, mean)",
        "Saliency (prediction, L2)",
        "Saliency (loss, mean)",
        "Saliency (loss, L2)",
    ]


@pytest.mark.parametrize("namespace", ["methods", "metrics"])
def test_display_names_of_all_components_are_short_and_unique(namespace: Namespace) -> None:
    shown = display_names(namespace, [(name, {}) for name in built_in(namespace)])
    assert len(set(shown)) == len(shown)
    assert all(len(name) <= 26 for name in shown)
    assert not any(sign in name for name in shown for sign in "{}()")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (["integrated_gradients"], ["IG"]),
        (
            [{"integrated_gradients": {"steps": 75}}, {"integrated_gradients": {"steps": 100}}],
            ["IG (steps=75)", "IG (steps=100)"],
        ),
        ([{"leave_one_out": {"target": "gold"}}, "lime"], ["LOO", "LIME"]),
        (["kernel_shap", {"kernel_shap": {"budget": 64}}], ["SHAP", "SHAP (budget=64)"]),
        (["saliency", {"saliency": {"signed": True, "aggregate": "sum"}}], ["Saliency (L2)", "Saliency (sum, signed)"]),
        (
            [{"saliency": {"target": {"of": "gold", "space": space}}} for space in ("logit", "probability")],
            ["Saliency (logit)", "Saliency (probability)"],
        ),
        (
            ["louvain", {"louvain": {"over": {"bivariate_shapley": {"budget": 64}}, "resolution": 1.5}}],
            ["Louvain over Shapley (resolution=1)", "Louvain over Shapley (budget=64, resolution=1.5)"],
        ),
        (
            [{"louvain": {"over": {"bivariate_shapley": {"budget": 64}}}}, {"louvain": {"over": "random_interaction"}}],
            ["Louvain over Shapley", "Louvain over random pairs"],
        ),
    ],
)
def test_only_parameters_that_differ_are_shown(given: list[Any], shown: list[str]) -> None:
    assert names("methods", *given) == shown


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (
            [{"comprehensiveness": {"bins": [0.1, 0.5]}}, "comprehensiveness"],
            ["Comprehensiveness (bins=0.1/0.5)", "Comprehensiveness (5 bins)"],
        ),
        (
            [{"sufficiency": {"bins": [0.1, 0.2, 0.3, last]}} for last in (0.4, 0.5)],
            ["sufficiency (bins=[0.1, 0.2, 0.3, 0.4])", "sufficiency (bins=[0.1, 0.2, 0.3, 0.5])"],
        ),
        (["reconstruction_test", {"reconstruction_test": {"by": "model_written"}}], None),
        (
            [
                {"crosslingual_faithfulness": {"aligner": {"embedding": {"extract": how}}}}
                for how in ("argmax", "itermax")
            ],
            ["Cross-lingual ρ (argmax)", "Cross-lingual ρ (itermax)"],
        ),
    ],
)
def test_metrics_and_their_inner_components(given: list[Any], shown: list[str] | None) -> None:
    shown = ["Reconstruction test", "Reconstruction test (model_written)"] if shown is None else shown
    assert names("metrics", *given) == shown


def test_a_name_that_is_not_built_in_is_shown_as_it_is() -> None:
    rows: list[tuple[str, dict[str, Any]]] = [
        ("captum {ig}", {}),
        ("my_method", {"depth": 1}),
        ("my_method", {"depth": 2}),
        ("kernel_shap", {}),
        ("SHAP", {}),
    ]
    assert display_names("methods", rows) == [
        "captum {ig}",
        "my_method (depth=1)",
        "my_method (depth=2)",
        "kernel_shap",
        "SHAP",
    ]


def test_equal_rows_have_equal_names_and_missing_parameters_their_defaults() -> None:
    default = built_in("methods")["occlusion"].defaults
    older = {name: value for name, value in default.items() if name != "window"}
    assert display_names("methods", [("occlusion", default), ("occlusion", older)]) == ["Occlusion", "Occlusion"]
    wider = ("occlusion", {**default, "window": 3})
    for rows in permutations([("occlusion", older), wider, ("random", {})]):
        shown = dict(zip(map(str, rows), display_names("methods", rows), strict=True))
        assert shown[str(("occlusion", older))] == "Occlusion (window=1)"
        assert shown[str(wider)] == "Occlusion (window=3)"
        assert shown[str(("random", {}))] == "Random"


def test_nothing_gives_nothing() -> None:
    assert display_names("methods", []) == []
