"""Questions about the inside of a model: gradients at word embeddings, attention, hidden states."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from verax.engine.questions.base import Question, WholeQuestion, check_finite
from verax.models.classifier import (
    AttentionPass,
    AttentionRead,
    EmbeddingPath,
    Head,
    MapGradient,
    MapPoint,
    PathPoint,
    PointGradient,
    StatesPass,
)
from verax.models.subject import Subject
from verax.models.targets import Readout
from verax.types import FloatArray, IntArray, UserError


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
    path: EmbeddingPath


@dataclass(frozen=True, eq=False, slots=True)
class PathGradient(WholeQuestion):
    """Weighted sum of gradients at the word embeddings along the straight path from a baseline to x.

    Args:
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
    total: Any = 0.0

    def add(self, number: int, answer: PointGradient) -> None:
        self.total = self.total + self.question.weights[number] * answer.gradient
        self.values[number] = answer.value

    def result(self) -> SummedGradient:
        check_finite("gradients", self.total, self.values)
        path = self.question.model.path(self.question.row, self.question.baseline)
        return SummedGradient(self.total, self.values, path)


@dataclass(frozen=True, eq=False, slots=True)
class Embeddings(Question):
    """Word embeddings of x, before positions, types and the layer norm; needs no pass.

    The answer is an `EmbeddingPath` from a baseline to them.
    """

    x: Subject
    baseline: str = "zero"

    answered_by: ClassVar[str] = "path"

    def answer(self) -> EmbeddingPath:
        """A path from the baseline to the embeddings."""
        path: EmbeddingPath = self.model_method(self.model)(self.row, self.baseline)
        return path


@dataclass(frozen=True, eq=False, slots=True)
class VocabularyNorm(Question):
    """Norm over the vocabulary of a gradient with respect to the one-hot input; needs no pass.

    Args:
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


@dataclass(frozen=True, eq=False, slots=True)
class Attention(WholeQuestion):
    """Attention from the position that the classifier reads to every token, in one layer.

    Args:
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
        check_finite("attention weights", answer.weights, 0.0 if answer.contributions is None else answer.contributions)
        return answer


@dataclass(frozen=True, eq=False, slots=True)
class AttributedMaps:
    """The answer to an AttentionPathGradient.

    Args:
        total: by attending and attended token, summed over layers; shape [tokens, tokens].
        layers: sum over the whole map of each layer, special tokens included: what its attention adds to the readout,
            up to the error of the steps; shape [layers].
        token_unit: unit of each token, -1 for special tokens; shape [tokens].
    """

    total: FloatArray
    layers: FloatArray
    token_unit: IntArray


@dataclass(frozen=True, eq=False, slots=True)
class AttentionPathGradient(WholeQuestion):
    """Integrated gradients of the attention maps of x, one layer at a time, summed over heads and layers.

    Args:
        readout: what is differentiated.
        alphas: factors that scale a map, point by point; all points have the same weight.

    The answer is an `AttributedMaps`.
    """

    x: Subject
    readout: Readout
    alphas: tuple[float, ...]

    answered_by: ClassVar[str] = "map_gradients"
    budget: ClassVar[str] = "backward"

    def requests(self) -> Sequence[MapPoint]:
        """One backward pass for each point of each layer."""
        row = self.row
        return [MapPoint(row, layer, alpha, self.readout) for layer in range(self._layers()) for alpha in self.alphas]

    def together(self, request: MapPoint) -> Hashable:
        """The layer."""
        return request.layer

    def reduction(self) -> _MapSum:
        """The mean over points, summed over layers."""
        return _MapSum(self, np.zeros(self._layers()))

    def _layers(self) -> int:
        layers: int = self.model.attention_layers
        if not layers:
            architecture = self.model.about.get("architecture", "unknown")
            raise UserError(
                f"the attention maps of the model {self.model.name!r} ({architecture}) cannot be scaled, so nothing "
                "can be attributed to them; bivariate_shapley needs none"
            )
        return layers


@dataclass(eq=False, slots=True)
class _MapSum:
    """Sum of the gradients at the attention maps of one input."""

    question: AttentionPathGradient
    layers: FloatArray
    total: Any = 0.0

    def add(self, number: int, answer: MapGradient) -> None:
        points = len(self.question.alphas)
        self.total = self.total + answer.product * (1 / points)
        self.layers[number // points] += answer.total * (1 / points)

    def result(self) -> AttributedMaps:
        check_finite("attention gradients", self.total, self.layers)
        return AttributedMaps(self.total, self.layers, self.question.model.token_units(self.question.row))


@dataclass(frozen=True, eq=False, slots=True)
class TokenStates(WholeQuestion):
    """Hidden states of all tokens of x after one layer.

    Args:
        layer: 0 for the embeddings, after their norm; n for the output of the n-th layer.

    The answer is an array, shape [tokens, dimensions].
    """

    x: Subject
    layer: int

    answered_by: ClassVar[str] = "token_states"

    def requests(self) -> Sequence[StatesPass]:
        """One forward pass."""
        return [StatesPass(self.row, self.layer)]

    def together(self, request: StatesPass) -> Hashable:
        """The layer."""
        return request.layer

    def check(self, answer: FloatArray) -> FloatArray:
        """Reject states that are not finite."""
        check_finite("states", answer)
        return answer
