"""Saliency: the absolute gradient at the word embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verax.engine.questions import PathGradient, QuestionGenerator, SummedGradient, resolve
from verax.methods.aggregation import Aggregation, check_signal, to_words
from verax.models.classifier import Capability
from verax.models.subject import Subject
from verax.types import Attribution, Kind, Passes, Target, UserError


@dataclass(frozen=True)
class Saliency:
    """|df/dE| at the word embeddings, aggregated over dimensions, summed over the sub-words of a word.

    Args:
        target: what of the model is explained.
        aggregate: how the dimensions of an embedding are aggregated.
        signed: keep the sign of the gradient; only with `sum` or `mean`, as norms have no sign.
        absolute: take |.| of each sub-word before they are summed; only affects signed scores.
    """

    target: Target = Target()
    aggregate: Aggregation = "l2"
    signed: bool = False
    absolute: bool = False

    name: ClassVar[str] = "saliency"
    display: ClassVar[str] = "Saliency"
    summary: ClassVar[str] = "Absolute gradient at the word embedding."
    cost: ClassVar[str] = "1 forward, 1 backward"
    kind: ClassVar[Kind] = "token"
    requires: ClassVar[frozenset[Capability]] = frozenset({"outputs", "gradients"})
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Simonyan, Vedaldi and Zisserman 2014, Deep inside convolutional networks"

    def __post_init__(self) -> None:
        if self.signed and self.aggregate not in {"sum", "mean"}:
            raise UserError(f"saliency: signed: the norm {self.aggregate} has no sign; aggregate: sum or mean")

    def passes(self, n: int) -> Passes:
        """One gradient, and one forward pass for the prediction."""
        return Passes(1, 1)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the gradient at the input."""
        readout = yield from resolve(self.target, x)
        at_input: SummedGradient = yield PathGradient(x, readout)
        gradient, token_unit = at_input.gradient, at_input.path.token_unit
        if self.signed:
            check_signal(gradient[token_unit >= 0], self.aggregate)
        scores = gradient if self.signed else np.abs(gradient)
        return x.attribution(to_words(scores, token_unit, x, aggregate=self.aggregate, absolute=self.absolute))
