"""A preset: methods, metrics, and the model and data they run on by default, under one name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Preset:
    """A part of a spec under a name (`verax run --preset NAME`).

    Args:
        summary: one sentence for `verax list presets`.
        content: `methods`, `metrics`, `model` and `data`, as in a spec.
    """

    name: str
    summary: str
    reference: str
    content: Mapping[str, Any]

    namespace: ClassVar[str] = "presets"
