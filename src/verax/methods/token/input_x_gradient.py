"""Input x gradient: the first-order contribution of each word embedding to the target."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.questions import PathGradient, QuestionGenerator, SummedGradient, resolve
from verax.methods.aggregation import Aggregation, to_words
from verax.models.classifier import Capability
from verax.models.subject import Subject
from verax.types import Attribution, Kind, Passes, Target


@dataclass(frozen=True)
class InputXGradient:
    """E * df/dE, aggregated over dimensions, summed over the sub-words of a word.

    Args:
        target: what of the model is explained.
        aggregate: how the dimensions of an embedding are aggregated; `sum` is the dot product, which equals the one-hot
            input times its gradient.
        absolute: take |.| of each sub-word before they are summed.
    """

    target: Target = Target()
    aggregate: Aggregation = "sum"
    absolute: bool = False

    name: ClassVar[str] = "input_x_gradient"
    display: ClassVar[str] = "InputXGrad"
    summary: ClassVar[str] = "Gradient times word embedding."
    cost: ClassVar[str] = "1 forward, 1 backward"
    kind: ClassVar[Kind] = "token"
    requires: ClassVar[frozenset[Capability]] = frozenset({"outputs", "gradients"})
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Shrikumar et al. 2016, Not just a black box"

    def passes(self, n: int) -> Passes:
        """One gradient, and one forward pass for the prediction."""
        return Passes(1, 1)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the gradient at the input."""
        readout = yield from resolve(self.target, x)
        at_input: SummedGradient = yield PathGradient(x, readout)
        scores, token_unit = at_input.path.inputs * at_input.gradient, at_input.path.token_unit
        return x.attribution(to_words(scores, token_unit, x, aggregate=self.aggregate, absolute=self.absolute))
