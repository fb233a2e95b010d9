"""The spec of `verax build-highlights`: the fields of its YAML file, validated and documented."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from verax.run.spec import DataSpec, ModelSpec, Section, by_name, parse
from verax.studies.leaderboard.presets import ATTRIBUTION_TABLE
from verax.types import UserError


def _component(value: Any) -> Any:
    """Refuse anything but a name or a name with parameters, in one sentence."""
    if isinstance(value, str) or (isinstance(value, dict) and len(value) == 1 and isinstance(next(iter(value)), str)):
        return value
    raise ValueError("expected a name, or {name: {parameter: value}}")


Component = Annotated[str | dict[str, Any], BeforeValidator(_component)]


class HighlightsSpec(Section):
    """How a dataset with highlights in several languages is made."""

    model: Annotated[ModelSpec, BeforeValidator(by_name)]
    """The model that is explained: a name, or its section as in a run."""
    data: Annotated[DataSpec, BeforeValidator(by_name)]
    """The same inputs in several languages: a name, or its section as in a run. Its rows have a language and a parallel
    id."""
    reference: str = "en"
    """The language whose explanations are projected to the others."""
    tuning: Annotated[DataSpec, BeforeValidator(by_name)] | None = None
    """A set with human highlights, on which method and threshold are chosen: a name, or its section. Not needed if both
    are given."""
    tuning_model: Annotated[ModelSpec, BeforeValidator(by_name)] | None = None
    """The model that is explained on that set. Default: `model`."""
    methods: tuple[Component, ...] = Field(default=tuple(ATTRIBUTION_TABLE.content["methods"]), min_length=1)
    """Candidates: names, or {name: {parameter: value}}. Default: the 26 of the preset attribution-table."""
    method: Component | None = None
    """The method to use instead of the most plausible one."""
    threshold: float | None = Field(default=None, allow_inf_nan=False)
    """A word is highlighted if its score, after the scores of its input are L2-normalised, is at least this. Default:
    the threshold with the best F1 on the tuning set."""
    aligner: Component = "embedding"
    """What links words with their translations: a name, or {name: {...}}."""
    sample: int = Field(default=10, ge=0)
    """How many inputs of each class and language are written for people to check."""
    seed: int = Field(default=0, ge=0)
    """Seed of all random draws."""


def parse_highlights_spec(content: Mapping[str, Any]) -> HighlightsSpec:
    """A validated spec; invalid input is a UserError that names the field and the nearest valid one."""
    spec = parse(HighlightsSpec, content)
    for name, section in (("data", spec.data), ("tuning", spec.tuning)):
        if section is not None and (section.granularity, section.explain) != ("word", "all"):
            raise UserError(f"spec: {name}: highlights are words of all parts: leave out granularity and explain")
    if spec.tuning is None and (spec.method is None or spec.threshold is None):
        raise UserError(
            "tuning: name a set with human highlights, on which method and threshold are chosen; or give both method "
            "and threshold"
        )
    return spec
