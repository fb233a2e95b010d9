"""The spec of Recursive ROAR: what its YAML file holds, validated, every field documented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from verax.run.train_spec import RecipeSpec, validated

_GOLD = {"target": "gold"}
MEASURES: tuple[str | dict[str, Any], ...] = (
    {"gradient_vocabulary": {**_GOLD, "norm": "l2"}},
    {"input_x_gradient": {**_GOLD, "absolute": True}},
    {
        "integrated_gradients": {
            **_GOLD,
            "absolute": True,
            "baseline": "zero",
            "steps": 20,
            "rule": "riemann_right",
        }
    },
)
"""Those that Table 1 of the faithfulness measurable paper compares with ROAR; they explain the gold class."""


class RoarSpec(RecipeSpec):
    """Recursive ROAR: a model is trained for each step of each importance measure."""

    methods: tuple[str | dict[str, Any], ...] = Field(
        default=MEASURES,
        min_length=1,
        description="Importance measures: names, or {name: {parameter: value}}. `random` is always run: areas are "
        "measured against it.",
    )
    steps: int = Field(default=10, ge=1, description="From nothing masked to everything; 10 masks 10 % more each time.")
    seed: int = Field(
        default=0, ge=0, lt=2**63, description="Of the head, the order of inputs, dropout, and methods that draw."
    )


def parse_roar_spec(content: Mapping[str, Any]) -> RoarSpec:
    """A validated spec; a mistake is a UserError that names the field and the nearest valid one."""
    return validated(RoarSpec, content)
