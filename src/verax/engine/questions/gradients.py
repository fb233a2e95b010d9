"""Questions about word embeddings and gradients with respect to them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from verax.engine.questions.base import Question, WholeQuestion, check_finite
from verax.models.classifier import Path, PathPoint, PointGradient, Row
from verax.models.readout import Readout
from verax.models.subject import Subject
from verax.types import FloatArray


@dataclass(frozen=True, eq=False, slots=True)
class SummedGradient:
    """The answer to a PathGradient.

    Args:
        gradient: the weighted sum, shape [tokens, dimensions].
        values: the readout at each point, shape [points].
        path: its two ends.
    """

    gradient: FloatArray
    values: FloatArray
    path: Path


@dataclass(frozen=True, eq=False, slots=True)
class PathGradient(WholeQuestion):
    """Weighted sum of gradients at the word embeddings along the straight path from a baseline to x.

    Args:
        x: the input.
        readout: what is differentiated.
        baseline: `pad` or `mask` (that token's embedding for every word), `zero_words` (zero for every word), `zero`
            (zero everywhere, special tokens included).
        alphas: points on the path: 0 is the baseline, 1 the input.
        weights: of the gradient at each point. They are summed as they arrive, so that memory does not grow with the
            number of points.
        guided: let only positive gradients pass back through a ReLU (guided backpropagation).

    The answer is a `SummedGradient`.
    """

    x: Subject
    readout: Readout
    baseline: str = "zero"
    alphas: tuple[float, ...] = (1.0,)
    weights: tuple[float, ...] = (1.0,)
    guided: bool = False

    answered_by: ClassVar[str] = "gradients"
    budget: ClassVar[str] = "backward"

    def requests(self) -> Sequence[PathPoint]:
        """One backward pass for each point."""
        row = self.row
        return [PathPoint(row, self.baseline, alpha, self.readout, self.guided) for alpha in self.alphas]

    def together(self, request: PathPoint) -> Hashable:
        """Guided passes run in batches of their own."""
        return request.guided

    def reduction(self) -> _PathSum:
        """The weighted sum."""
        return _PathSum(self, np.zeros(len(self.alphas)))


@dataclass(eq=False, slots=True)
class _PathSum:
    """Weighted sum of the gradients of one path, and the readout at each point."""

    question: PathGradient
    values: FloatArray
    total: Any = None

    def add(self, number: int, answer: PointGradient) -> None:
        weighted = self.question.weights[number] * answer.gradient
        self.total = weighted if self.total is None else self.total + weighted
        self.values[number] = answer.value

    def result(self) -> SummedGradient:
        check_finite("gradients", self.total, self.values)
        path = self.question.model.path(self.question.row, self.question.baseline)
        return SummedGradient(self.total, self.values, path)


@dataclass(frozen=True, eq=False, slots=True)
class Embeddings(Question):
    """Word embeddings of x, before positions, types and the layer norm; needs no pass.

    The answer is a `Path` that ends in them.
    """

    x: Subject

    answered_by: ClassVar[str] = "path"

    def answer(self) -> Path:
        """A path from zero to the embeddings."""
        path: Path = self.model_method(self.model)(Row(self.x.encoding, self.x.state), "zero")
        return path


@dataclass(frozen=True, eq=False, slots=True)
class VocabularyNorm(Question):
    """Norm over the vocabulary of a gradient with respect to the one-hot input; needs no pass.

    Args:
        x: the input.
        gradient: at the word embeddings, shape [tokens, dimensions].
        order: of the norm.

    The answer is an array, shape [tokens].
    """

    x: Subject
    gradient: FloatArray
    order: Literal[1, 2]

    answered_by: ClassVar[str] = "vocabulary_norm"

    def answer(self) -> FloatArray:
        """The norm for each token."""
        norm: FloatArray = self.model_method(self.model)(self.gradient, self.order)
        return norm
