"""Integrated gradients of attention maps."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from verax.engine.questions.base import WholeQuestion
from verax.models.classifier import AttentionModel, MapGradient, MapPoint
from verax.models.readout import Readout
from verax.models.subject import Subject
from verax.types import FloatArray, IntArray, Undefined, UserError


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
        x: the input.
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
        model: AttentionModel = self.model
        if not model.attention_layers:
            raise UserError(
                f"the attention maps of the model {model.name!r} ({model.about.get('architecture', 'unknown')}) "
                "cannot be scaled, so nothing can be attributed to them; bivariate_shapley needs none"
            )
        return model.attention_layers


@dataclass(eq=False, slots=True)
class _MapSum:
    """Sum of the gradients at the attention maps of one input."""

    question: AttentionPathGradient
    layers: FloatArray
    total: Any = None

    def add(self, number: int, answer: MapGradient) -> None:
        points = len(self.question.alphas)
        share = 1 / points
        self.total = answer.product * share if self.total is None else self.total + answer.product * share
        self.layers[number // points] += answer.total * share

    def result(self) -> AttributedMaps:
        if not (np.isfinite(self.total).all() and np.isfinite(self.layers).all()):
            raise Undefined("nonfinite", "the gradients of the model's attention are not finite numbers")
        return AttributedMaps(self.total, self.layers, self.question.model.token_units(self.question.row))
