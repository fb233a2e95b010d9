"""A preset: methods, metrics, and the model and data they run on by default, under one name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Preset:
    """A part of a spec under a name.

    Args:
        name: under which it is registered: `verax run --preset NAME`.
        summary: what `verax list presets` says about it.
        reference: the publication, and its tables.
        content: `methods`, `metrics`, `model` and `data`, as a spec has them.
    """

    name: str
    summary: str
    reference: str
    content: Mapping[str, Any]

    namespace: ClassVar[str] = "presets"
