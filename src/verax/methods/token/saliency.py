"""Saliency: the absolute gradient at the word embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verax.engine.asks import Asking, PathGradient, SummedGradient, resolve
from verax.methods.aggregation import Aggregation, over_dimensions, over_subwords
from verax.models.encoding import Encoded
from verax.types import Attribution, Kind, Passes, Target


@dataclass(frozen=True)
class Saliency:
    """|df/dE| at the word embeddings, aggregated over dimensions, summed over the sub-words of a word.

    Args:
        target: what of the model is explained.
        aggregate: how the dimensions of an embedding are brought together.
    """

    target: Target = Target()
    aggregate: Aggregation = "l2"

    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Simonyan, Vedaldi and Zisserman 2014, Deep inside convolutional networks"

    def passes(self, n: int) -> Passes:
        """One gradient, and one forward pass to know the prediction."""
        return Passes(1, 1)

    def __call__(self, x: Encoded) -> Asking[Attribution]:
        """One question: the gradient at the input."""
        readout = yield from resolve(self.target, x)
        at_input: SummedGradient = yield PathGradient(x, readout)
        tokens = over_dimensions(np.abs(at_input.gradient), self.aggregate)
        return x.attribution(over_subwords(tokens, at_input.path.token_unit, x))
