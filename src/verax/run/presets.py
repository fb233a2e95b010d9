"""Sets of methods and metrics under one name: the tables of the papers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Given = str | dict[str, Any]

_INFERENCE: Mapping[str, Any] = {"model": "world/nli", "data": {"name": "world/nli"}}
"""What a preset is tried on where nobody says anything else."""

_PER_DIMENSION = ("input_x_gradient", "saliency", "guided_backprop", "integrated_gradients", "activation")
_PER_WORD = ("lime", "occlusion", "shapley_sampling")


def _attribution_rows(target: str) -> list[Given]:
    """The rows of one column: five methods in two aggregations each, and three that score words as they are."""
    rows: list[Given] = [
        {name: {"target": target, "aggregate": how}} for name in _PER_DIMENSION for how in ("mean", "l2")
    ]
    return [*rows, *({name: {"target": target}} for name in _PER_WORD)]


ATTRIBUTION_TABLE: Mapping[str, Any] = {
    **_INFERENCE,
    "methods": [*_attribution_rows("prediction"), *_attribution_rows("loss")],
    "metrics": ["comprehensiveness", "sufficiency", "agreement"],
}
"""The 13 rows times 2 columns of Table 1 of the cross-lingual paper: explained are the prediction and the loss."""

_GOLD = {"target": "gold"}
_FROM_ZERO = {**_GOLD, "baseline": "zero", "steps": 20, "rule": "riemann_right"}
_MASKED = {"removal": "mask", "bins": [i / 10 for i in range(1, 11)], "average": "mean"}

IMPORTANCE_MEASURES: Mapping[str, Any] = {
    **_INFERENCE,
    "methods": [
        {"gradient_vocabulary": {**_GOLD, "norm": "l1"}},
        {"gradient_vocabulary": {**_GOLD, "norm": "l2"}},
        *({"input_x_gradient": {**_GOLD, "absolute": size}} for size in (False, True)),
        *({"integrated_gradients": {**_FROM_ZERO, "absolute": size}} for size in (False, True)),
        *({"leave_one_out": {**_GOLD, "absolute": size}} for size in (False, True)),
        {"beam": _GOLD},
    ],
    "metrics": [{"comprehensiveness": _MASKED}, {"sufficiency": _MASKED}, "agreement"],
}
"""The 9 measures of Table 4 of the faithfulness measurable paper: the gold logit is explained, words are masked."""

FAITHFULNESS_MEASURABLE: Mapping[str, Any] = {
    "methods": IMPORTANCE_MEASURES["methods"],
    "metrics": ["recursive_masking", "in_distribution"],
    "model": "world/opinion-masked",
    "data": {"name": "world/opinion", "explain": "maskable"},
}
"""Recursive masking of the part that may be masked, for the same 9 measures, and whether it stays in-distribution."""

_INTERACTIONS = ("bivariate_shapley", "attention_interaction", "attention_attribution")

UNIFIED: Mapping[str, Any] = {
    **_INFERENCE,
    "methods": [
        "kernel_shap",
        "attention",
        "integrated_gradients",
        *_INTERACTIONS,
        *({"louvain": {"over": over}} for over in _INTERACTIONS),
        "random_interaction",
        "random_span",
    ],
    "metrics": [
        "comprehensiveness_flips",
        "sufficiency_flips",
        {"agreement": {"within": "budget"}},
        {"agreement": {"level": "interaction"}},
        {"complexity": {"top": "span_pairs"}},
        {"simulatability": {"insertion": "symbol"}},
        {"simulatability": {"insertion": "text"}},
    ],
}
"""Three kinds of explanation of three bases, and random of each kind, under the properties of the unified paper."""

CROSSLINGUAL: Mapping[str, Any] = {
    "model": "world/xnli",
    "data": {"name": "world/xnli"},
    "methods": ATTRIBUTION_TABLE["methods"],
    "metrics": [
        # by similarity alone: the probabilities of softmax hang on the size of hidden states, which models differ in
        {"crosslingual_faithfulness": {"aligner": {"embedding": {"extract": "itermax"}}}},
        {"crosslingual_faithfulness": {"aligner": "random"}},
        "comprehensiveness",
        "sufficiency",
        "plausibility",
    ],
}
"""The same methods judged across languages, with random alignments beside, by erasure and by people."""

NLE: Mapping[str, Any] = {
    "model": "world/nli-mt-ra",
    "data": {"name": "world/nli"},
    "methods": [],
    "metrics": [
        {"counterfactual_test": {"editor": "random"}},
        {"counterfactual_test": {"editor": {"infill": {"path": "world/nli-editor"}}}},
        "reconstruction_test",
        "bleu",
    ],
}
"""Both tests of free-text explanations, with random and with trained edits, and how near they are to people's."""
