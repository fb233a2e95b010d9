"""Gradient with respect to the one-hot input, reduced to one number for each word by a norm over the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from verax.engine.questions import PathGradient, QuestionGenerator, SummedGradient, VocabularyNorm, resolve
from verax.methods.aggregation import over_subwords
from verax.models.classifier import Capability
from verax.models.subject import Subject
from verax.types import Attribution, FloatArray, Kind, Passes, Target


@dataclass(frozen=True)
class GradientVocabulary:
    """||W df/dE||, summed over the sub-words of a word; W is the embedding matrix, [vocabulary, dimensions].

    W df/dE is the gradient with respect to the one-hot vector of the token. Its norm is computed for a slice of the
    vocabulary at a time: an array of tokens times vocabulary is never allocated.

    Args:
        target: what of the model is explained.
        norm: over the vocabulary.
    """

    target: Target = Target()
    norm: Literal["l1", "l2"] = "l2"

    name: ClassVar[str] = "gradient_vocabulary"
    display: ClassVar[str] = "Grad"
    summary: ClassVar[str] = "Norm over the vocabulary of the gradient with respect to the one-hot input."
    cost: ClassVar[str] = "1 forward, 1 backward"
    kind: ClassVar[Kind] = "token"
    signed: ClassVar[bool] = False
    requires: ClassVar[frozenset[Capability]] = frozenset({"outputs", "gradients"})
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Baehrens et al. 2010, How to explain individual classification decisions"

    def passes(self, n: int) -> Passes:
        """One gradient, and one forward pass for the prediction."""
        return Passes(1, 1)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """The gradient at the input, and its norm."""
        readout = yield from resolve(self.target, x)
        at_input: SummedGradient = yield PathGradient(x, readout)
        tokens: FloatArray = yield VocabularyNorm(x, at_input.gradient, 1 if self.norm == "l1" else 2)
        return x.attribution(over_subwords(tokens, at_input.path.token_unit, x))
