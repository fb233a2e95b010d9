"""Input x gradient: the first-order share of each word embedding in the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verax.engine.asks import Asking, PathGradient, SummedGradient, resolve
from verax.methods.aggregation import Aggregation, over_dimensions, over_subwords
from verax.models.encoding import Encoded
from verax.types import Attribution, Kind, Passes, Target


@dataclass(frozen=True)
class InputXGradient:
    """E * df/dE, aggregated over dimensions, summed over the sub-words of a word.

    Args:
        target: what of the model is explained.
        aggregate: how the dimensions of an embedding are brought together; `sum` is the dot product.
        absolute: take |.| of each sub-word before they are summed.
    """

    target: Target = Target()
    aggregate: Aggregation = "sum"
    absolute: bool = False

    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Shrikumar et al. 2016, Not just a black box"

    def passes(self, n: int) -> Passes:
        """One gradient, and one forward pass to know the prediction."""
        return Passes(1, 1)

    def __call__(self, x: Encoded) -> Asking[Attribution]:
        """One question: the gradient at the input."""
        readout = yield from resolve(self.target, x)
        at_input: SummedGradient = yield PathGradient(x, readout)
        tokens = over_dimensions(at_input.path.inputs * at_input.gradient, self.aggregate)
        tokens = np.abs(tokens) if self.absolute else tokens
        return x.attribution(over_subwords(tokens, at_input.path.token_unit, x))
