"""Guided backpropagation: the gradient, passed through a ReLU only where it and the activation are positive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.questions import PathGradient, QuestionGenerator, SummedGradient, resolve
from verax.methods.aggregation import Aggregation, check_signal, to_words
from verax.models.classifier import Capability
from verax.models.subject import Subject
from verax.types import Attribution, Kind, Passes, Target


@dataclass(frozen=True)
class GuidedBackprop:
    """df/dE with gated ReLUs, aggregated over dimensions, summed over the sub-words of a word.

    A model without ReLU (GELU, SiLU) has nothing to gate: there it is the signed gradient.

    Args:
        target: what of the model is explained.
        aggregate: how the dimensions of an embedding are aggregated.
        absolute: take |.| of each sub-word before they are summed.
    """

    target: Target = Target()
    aggregate: Aggregation = "l2"
    absolute: bool = False

    name: ClassVar[str] = "guided_backprop"
    display: ClassVar[str] = "Guided BP"
    summary: ClassVar[str] = "Gradient that passes a ReLU only where it is positive."
    cost: ClassVar[str] = "1 forward, 1 backward"
    kind: ClassVar[Kind] = "token"
    requires: ClassVar[frozenset[Capability]] = frozenset({"outputs", "gradients"})
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Springenberg et al. 2015, Striving for simplicity: the all convolutional net"

    def passes(self, n: int) -> Passes:
        """One gradient, and one forward pass for the prediction."""
        return Passes(1, 1)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the guided gradient at the input."""
        readout = yield from resolve(self.target, x)
        at_input: SummedGradient = yield PathGradient(x, readout, guided=True)
        gradient, token_unit = at_input.gradient, at_input.path.token_unit
        check_signal(gradient[token_unit >= 0], self.aggregate)
        return x.attribution(to_words(gradient, token_unit, x, aggregate=self.aggregate, absolute=self.absolute))
