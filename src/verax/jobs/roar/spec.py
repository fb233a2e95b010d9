"""The spec of Recursive ROAR: the fields of its YAML file, validated and documented."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from verax.jobs.training.spec import RecipeSpec, Seed

_GOLD = {"target": "gold"}
_FROM_ZERO = {"absolute": True, "baseline": "zero", "steps": 20, "rule": "riemann_right"}
MEASURES: tuple[str | dict[str, Any], ...] = (
    {"gradient_vocabulary": {**_GOLD, "norm": "l2"}},
    {"input_x_gradient": {**_GOLD, "absolute": True}},
    {"integrated_gradients": {**_GOLD, **_FROM_ZERO}},
)
"""Those that Table 1 of the faithfulness measurable paper compares with ROAR; they explain the gold class."""


class RoarSpec(RecipeSpec):
    """Recursive ROAR: a model is trained for each step of each importance measure."""

    methods: tuple[str | dict[str, Any], ...] = Field(
        default=MEASURES,
        min_length=1,
        description="Importance measures: names, or {name: {parameter: value}}. `random` is always added: areas are "
        "measured against it.",
    )
    steps: int = Field(default=10, ge=1, description="Steps from nothing masked to everything masked.")
    seed: Seed = Field(default=0, description="Seed of the head, the order of inputs, dropout, and random methods.")
