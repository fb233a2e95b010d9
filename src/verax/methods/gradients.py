"""Methods that score words by their embeddings, or by the gradient there.

Scores of the dimensions of an embedding are aggregated by `aggregate`, and those of the sub-words of a word are summed,
with `absolute` after taking |.| of each.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from verax.engine.questions import (
    Embeddings,
    PathGradient,
    QuestionGenerator,
    SummedGradient,
    VocabularyNorm,
    resolve_target,
)
from verax.methods.aggregation import check_signal, over_subwords, to_words
from verax.models.classifier import Capability, EmbeddingPath
from verax.models.subject import Subject
from verax.stats.aggregation import Aggregation
from verax.types import Attribution, FloatArray, Kind, NoPasses, Passes, Target, UserError


class _GradientMethod:
    """A method that needs the gradient of the target at the input."""

    cost: ClassVar[str] = "1 forward, 1 backward"
    kind: ClassVar[Kind] = "token"
    requires: ClassVar[frozenset[Capability]] = frozenset({"outputs", "gradients"})

    def passes(self, n: int) -> Passes:
        """One gradient, and one forward pass for the prediction."""
        return Passes(1, 1)


def _gradient(x: Subject, target: Target, *, guided: bool = False) -> QuestionGenerator[SummedGradient]:
    """The gradient of the target at the embeddings of x."""
    readout = yield from resolve_target(target, x)
    at_input: SummedGradient = yield PathGradient(x, readout, guided=guided)
    return at_input


@dataclass(frozen=True)
class Saliency(_GradientMethod):
    """|df/dE| at the word embeddings; with `signed` df/dE, only with `sum` or `mean`, as norms have no sign."""

    target: Target = Target()
    aggregate: Aggregation = "l2"
    signed: bool = False
    absolute: bool = False

    name: ClassVar[str] = "saliency"
    display: ClassVar[str] = "Saliency"
    summary: ClassVar[str] = "Absolute gradient at the word embedding."
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Simonyan, Vedaldi and Zisserman 2014, Deep inside convolutional networks"

    def __post_init__(self) -> None:
        if self.signed and self.aggregate not in {"sum", "mean"}:
            raise UserError(f"saliency: signed: the norm {self.aggregate} has no sign; aggregate: sum or mean")

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the gradient at the input."""
        at_input = yield from _gradient(x, self.target)
        gradient, token_unit = at_input.gradient, at_input.path.token_unit
        if self.signed:
            check_signal(gradient[token_unit >= 0], self.aggregate)
        scores = gradient if self.signed else np.abs(gradient)
        return x.attribution(to_words(scores, token_unit, x, aggregate=self.aggregate, absolute=self.absolute))


@dataclass(frozen=True)
class InputXGradient(_GradientMethod):
    """E * df/dE; with `sum` the dot product, which equals the one-hot input times its gradient."""

    target: Target = Target()
    aggregate: Aggregation = "sum"
    absolute: bool = False

    name: ClassVar[str] = "input_x_gradient"
    display: ClassVar[str] = "InputXGrad"
    summary: ClassVar[str] = "Gradient times word embedding."
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Shrikumar et al. 2016, Not just a black box"

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the gradient at the input."""
        at_input = yield from _gradient(x, self.target)
        scores, token_unit = at_input.path.inputs * at_input.gradient, at_input.path.token_unit
        return x.attribution(to_words(scores, token_unit, x, aggregate=self.aggregate, absolute=self.absolute))


@dataclass(frozen=True)
class GuidedBackprop(_GradientMethod):
    """df/dE, passed through a ReLU only where it and the activation are positive.

    A model without ReLU (GELU, SiLU) has nothing to gate: there it is the signed gradient.
    """

    target: Target = Target()
    aggregate: Aggregation = "l2"
    absolute: bool = False

    name: ClassVar[str] = "guided_backprop"
    display: ClassVar[str] = "Guided BP"
    summary: ClassVar[str] = "Gradient that passes a ReLU only where it is positive."
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Springenberg et al. 2015, Striving for simplicity: the all convolutional net"

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the guided gradient at the input."""
        at_input = yield from _gradient(x, self.target, guided=True)
        gradient, token_unit = at_input.gradient, at_input.path.token_unit
        check_signal(gradient[token_unit >= 0], self.aggregate)
        return x.attribution(to_words(gradient, token_unit, x, aggregate=self.aggregate, absolute=self.absolute))


@dataclass(frozen=True)
class GradientVocabulary(_GradientMethod):
    """||W df/dE||, summed over the sub-words of a word; W is the embedding matrix, [vocabulary, dimensions].

    W df/dE is the gradient with respect to the one-hot vector of the token. Its norm is computed for a slice of the
    vocabulary at a time: an array of tokens times vocabulary is never allocated.
    """

    target: Target = Target()
    norm: Literal["l1", "l2"] = "l2"

    name: ClassVar[str] = "gradient_vocabulary"
    display: ClassVar[str] = "Grad"
    summary: ClassVar[str] = "Norm over the vocabulary of the gradient with respect to the one-hot input."
    signed: ClassVar[bool] = False
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Baehrens et al. 2010, How to explain individual classification decisions"

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """The gradient at the input, and its norm."""
        at_input = yield from _gradient(x, self.target)
        tokens: FloatArray = yield VocabularyNorm(x, at_input.gradient, 1 if self.norm == "l1" else 2)
        return x.attribution(over_subwords(tokens, at_input.path.token_unit, x))


@dataclass(frozen=True)
class Activation(NoPasses):
    """E itself; the target is recorded with the explanation, but the scores are the same for every target."""

    target: Target = Target()
    aggregate: Aggregation = "l2"
    absolute: bool = False

    name: ClassVar[str] = "activation"
    display: ClassVar[str] = "Activation"
    summary: ClassVar[str] = "Norm of the word embedding itself."
    signed: ClassVar[bool] = False
    cost: ClassVar[str] = "none"
    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Karpathy, Johnson and Fei-Fei 2015, Visualizing and understanding recurrent networks"
    requires: ClassVar[frozenset[Capability]] = frozenset({"embeddings"})

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the embeddings."""
        path: EmbeddingPath = yield Embeddings(x)
        scores = to_words(path.inputs, path.token_unit, x, aggregate=self.aggregate, absolute=self.absolute)
        return x.attribution(scores)
