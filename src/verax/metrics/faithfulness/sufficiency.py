"""Sufficiency: the predicted class should not drop when only the top words of an explanation are left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from verax.metrics.faithfulness.erasure import Erasure


@dataclass(frozen=True)
class Sufficiency(Erasure):
    """Drop of the predicted class when only the top words are left (AOPC); lower is better."""

    name: ClassVar[str] = "sufficiency"
    display: ClassVar[str] = "Sufficiency"
    summary: ClassVar[str] = "Drop of the predicted class when only the top words are kept (AOPC); lower is better."
    top: ClassVar[Literal["removed", "kept"]] = "kept"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool] = False
