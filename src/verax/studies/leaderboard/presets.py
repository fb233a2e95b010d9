"""Presets whose runs are read as leaderboards: the tables of two papers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from verax.types import Preset

GivenMethod = str | dict[str, Any]

WORLD_NLI: Mapping[str, Any] = {"model": "world/nli", "data": {"name": "world/nli"}}
"""The model and data of a preset by default."""

_PER_DIMENSION = ("input_x_gradient", "saliency", "guided_backprop", "integrated_gradients", "activation")
_PER_WORD = ("lime", "occlusion", "shapley_sampling")


def _attribution_rows(target: str) -> list[GivenMethod]:
    """The rows of one column: five methods in two aggregations each, and three that score whole words."""
    rows: list[GivenMethod] = [
        {name: {"target": target, "aggregate": aggregate}} for name in _PER_DIMENSION for aggregate in ("mean", "l2")
    ]
    return [*rows, *({name: {"target": target}} for name in _PER_WORD)]


ATTRIBUTION_TABLE = Preset(
    "attribution-table",
    "13 attributions of the prediction and of the loss, measured by erasure and against human highlights.",
    "Zaman and Belinkov 2022, Table 1",
    {
        **WORLD_NLI,
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
        **WORLD_NLI,
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
