"""Comprehensiveness: the predicted class should drop when the top words of an explanation are removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from verax.metrics.faithfulness.erasure import Erasure


@dataclass(frozen=True)
class Comprehensiveness(Erasure):
    """Drop of the predicted class when the top words are removed (AOPC); higher is better."""

    name: ClassVar[str] = "comprehensiveness"
    display: ClassVar[str] = "Comprehensiveness"
    summary: ClassVar[str] = "Drop of the predicted class when the top words are deleted (AOPC); higher is better."
    top: ClassVar[Literal["removed", "kept"]] = "removed"
    version: ClassVar[int] = 1
    higher_is_better: ClassVar[bool] = True
