"""The presets: methods and metrics of the tables of the papers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verax.types import Preset

Given = str | dict[str, Any]

_INFERENCE: Mapping[str, Any] = {"model": "world/nli", "data": {"name": "world/nli"}}
"""The model and data of a preset by default."""

_PER_DIMENSION = ("input_x_gradient", "saliency", "guided_backprop", "integrated_gradients", "activation")
_PER_WORD = ("lime", "occlusion", "shapley_sampling")


def _attribution_rows(target: str) -> list[Given]:
    """The rows of one column: five methods in two aggregations each, and three that score whole words."""
    rows: list[Given] = [
        {name: {"target": target, "aggregate": aggregate}} for name in _PER_DIMENSION for aggregate in ("mean", "l2")
    ]
    return [*rows, *({name: {"target": target}} for name in _PER_WORD)]


ATTRIBUTION_TABLE = Preset(
    "attribution-table",
    "13 attributions of the prediction and of the loss, measured by erasure and against human highlights.",
    "Zaman and Belinkov 2022, Table 1",
    {
        **_INFERENCE,
        "methods": [*_attribution_rows("prediction"), *_attribution_rows("loss")],
        "metrics": ["comprehensiveness", "sufficiency", "agreement"],
    },
)

_GOLD = {"target": "gold"}
_FROM_ZERO = {**_GOLD, "baseline": "zero", "steps": 20, "rule": "riemann_right"}
_MASKED = {"removal": "mask", "bins": [i / 10 for i in range(1, 11)], "average": "mean"}

IMPORTANCE_MEASURES = Preset(
    "importance-measures",
    "9 importance measures of the gold logit, measured by masking and against human highlights.",
    "Madsen, Reddy and Chandar 2024, Table 4",
    {
        **_INFERENCE,
        "methods": [
            {"gradient_vocabulary": {**_GOLD, "norm": "l1"}},
            {"gradient_vocabulary": {**_GOLD, "norm": "l2"}},
            *({"input_x_gradient": {**_GOLD, "absolute": absolute}} for absolute in (False, True)),
            *({"integrated_gradients": {**_FROM_ZERO, "absolute": absolute}} for absolute in (False, True)),
            *({"leave_one_out": {**_GOLD, "absolute": absolute}} for absolute in (False, True)),
            {"beam": _GOLD},
        ],
        "metrics": [{"comprehensiveness": _MASKED}, {"sufficiency": _MASKED}, "agreement"],
    },
)

FAITHFULNESS_MEASURABLE = Preset(
    "faithfulness-measurable",
    "9 importance measures under recursive masking, with the in-distribution test of the masked inputs.",
    "Madsen, Reddy and Chandar 2024, Tables 1, 11 and 12",
    {
        "methods": IMPORTANCE_MEASURES.content["methods"],
        "metrics": ["recursive_masking", "in_distribution"],
        "model": "world/opinion-masked",
        "data": {"name": "world/opinion", "explain": "maskable"},
    },
)

_INTERACTIONS = ("bivariate_shapley", "attention_interaction", "attention_attribution")

UNIFIED = Preset(
    "unified",
    "Words, word pairs and span pairs of three bases: faithfulness, agreement, simulatability, complexity.",
    "Sun, Atanasova and Augenstein 2024, Tables 3 to 12",
    {
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
    },
)

CROSSLINGUAL = Preset(
    "crosslingual",
    "The attributions of attribution-table across languages, measured by erasure and against human highlights.",
    "Zaman and Belinkov 2022, Tables 1 to 4 and 7 to 17",
    {
        "model": "world/xnli",
        "data": {"name": "world/xnli"},
        "methods": ATTRIBUTION_TABLE.content["methods"],
        "metrics": [
            # by similarity alone: softmax depends on the norm of hidden states, in which models differ
            {"crosslingual_faithfulness": {"aligner": {"embedding": {"extract": "itermax"}}}},
            {"crosslingual_faithfulness": {"aligner": "random"}},
            "comprehensiveness",
            "sufficiency",
            "plausibility",
        ],
    },
)

NLE = Preset(
    "nle",
    "Free-text explanations: counterfactual edits, input reconstruction, BLEU against human explanations.",
    "Atanasova et al. 2023, Tables 2, 3 and 7",
    {
        "model": "world/nli-mt-ra",
        "data": {"name": "world/nli"},
        "methods": [],
        "metrics": [
            {"counterfactual_test": {"editor": "random"}},
            {"counterfactual_test": {"editor": {"infill": {"path": "world/nli-editor"}}}},
            "reconstruction_test",
            "bleu",
        ],
    },
)
