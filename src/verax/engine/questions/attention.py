"""Attention weights of one layer."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verax.engine.questions.base import WholeQuestion
from verax.models.classifier import AttentionPass, AttentionRead, Head
from verax.models.readout import Readout
from verax.models.subject import Subject
from verax.types import Undefined


@dataclass(frozen=True, eq=False, slots=True)
class Attention(WholeQuestion):
    """Attention from the position that the classifier reads to every token, in one layer.

    Args:
        x: the input.
        layer: counted from 0, or from the last one as -1.
        readout: weigh the heads by their contribution to it, at the cost of a backward pass.
        map_of: also ask for the whole map of this head; the most important head needs a readout.

    The answer is an `AttentionRead`.
    """

    x: Subject
    layer: int = -1
    readout: Readout | None = None
    map_of: Head | None = None

    answered_by: ClassVar[str] = "attention"
    budget: ClassVar[str] = "backward"

    @property
    def backward(self) -> bool:
        """Whether the heads are weighed."""
        return self.readout is not None

    def requests(self) -> Sequence[AttentionPass]:
        """One pass."""
        return [AttentionPass(self.row, self.layer, self.readout, self.map_of)]

    def together(self, request: AttentionPass) -> Hashable:
        """The layer, and whether the pass goes backward."""
        return request.layer, request.readout is not None

    def check(self, answer: AttentionRead) -> AttentionRead:
        """Reject attention that is not finite."""
        read = [answer.weights] if answer.contributions is None else [answer.weights, answer.contributions]
        if not all(np.isfinite(array).all() for array in read):
            raise Undefined("nonfinite", "the model's attention is not made of finite numbers")
        return answer
