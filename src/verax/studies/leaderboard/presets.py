"""Presets whose runs are read as leaderboards: the tables of two papers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Given = str | dict[str, Any]

WORLD_NLI: Mapping[str, Any] = {"model": "world/nli", "data": {"name": "world/nli"}}
"""What a preset runs on where neither model nor data are given."""

_PER_DIMENSION = ("input_x_gradient", "saliency", "guided_backprop", "integrated_gradients", "activation")
_PER_WORD = ("lime", "occlusion", "shapley_sampling")


def _attribution_rows(target: str) -> list[Given]:
    """The rows of one column: five methods in two aggregations each, and three that score words directly."""
    rows: list[Given] = [
        {name: {"target": target, "aggregate": how}} for name in _PER_DIMENSION for how in ("mean", "l2")
    ]
    return [*rows, *({name: {"target": target}} for name in _PER_WORD)]


ATTRIBUTION_METHODS: list[Given] = [*_attribution_rows("prediction"), *_attribution_rows("loss")]
"""The 13 rows times 2 columns of Table 1 of Zaman and Belinkov 2022: the prediction and the loss are explained."""

_GOLD = {"target": "gold"}
_FROM_ZERO = {**_GOLD, "baseline": "zero", "steps": 20, "rule": "riemann_right"}
_MASKED = {"removal": "mask", "bins": [i / 10 for i in range(1, 11)], "average": "mean"}

IMPORTANCE_METHODS: list[Given] = [
    {"gradient_vocabulary": {**_GOLD, "norm": "l1"}},
    {"gradient_vocabulary": {**_GOLD, "norm": "l2"}},
    *({"input_x_gradient": {**_GOLD, "absolute": size}} for size in (False, True)),
    *({"integrated_gradients": {**_FROM_ZERO, "absolute": size}} for size in (False, True)),
    *({"leave_one_out": {**_GOLD, "absolute": size}} for size in (False, True)),
    {"beam": _GOLD},
]
"""The 9 measures of Table 4 of Madsen, Reddy and Chandar 2024: the logit of the gold class is explained."""

PRESETS: Mapping[str, Mapping[str, Any]] = {
    "attribution-table": {
        **WORLD_NLI,
        "methods": ATTRIBUTION_METHODS,
        "metrics": ["comprehensiveness", "sufficiency", "agreement"],
    },
    "importance-measures": {
        **WORLD_NLI,
        "methods": IMPORTANCE_METHODS,
        "metrics": [{"comprehensiveness": _MASKED}, {"sufficiency": _MASKED}, "agreement"],
    },
}
