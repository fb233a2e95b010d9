"""Which passes a question needs that has one answer as a whole, and how their answers become that one."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from verax.engine.memo import WholeQuestion
from verax.engine.passes import MapSum, PathSum, finite, finite_attention
from verax.engine.questions import Attention, AttentionPathGradient, PathGradient, TokenStates
from verax.models.classifier import AttentionPass, Classifier, MapPoint, PathPoint, Row, StatesPass
from verax.types import UserError


class Needed(NamedTuple):
    """The passes of one question.

    Args:
        kind: of all of them, one of `KINDS`.
        passes: what is asked, and who takes each answer.
        finish: called when all are settled, if the answer is made of several.
    """

    kind: str
    passes: Sequence[tuple[Any, Callable[[Any], None]]]
    finish: Callable[[], None] | None = None


def how_many(ask: WholeQuestion, model: Classifier) -> int:
    """How many passes a question needs."""
    if isinstance(ask, PathGradient):
        return len(ask.alphas)
    return _layers(model) * len(ask.alphas) if isinstance(ask, AttentionPathGradient) else 1


def backward(ask: WholeQuestion) -> bool:
    """Whether the passes of a question go backward too."""
    return not (isinstance(ask, TokenStates) or (isinstance(ask, Attention) and ask.readout is None))


def needed(ask: WholeQuestion, model: Classifier, answers: dict[Hashable, Any], key: Hashable) -> Needed:
    """The passes of a question whose answer is to be kept under its key."""
    row = Row(ask.x.encoding, ask.x.state)

    def keep(answer: Any) -> None:
        answers[key] = answer

    match ask:
        case TokenStates():
            return Needed("states", [(StatesPass(row, ask.layer), lambda answer: keep(finite(answer, "states")))])
        case Attention():
            asked = AttentionPass(row, ask.layer, ask.readout, ask.map_of)
            return Needed("attention", [(asked, lambda answer: keep(finite_attention(answer)))])
        case PathGradient():
            path = PathSum(ask, np.zeros(len(ask.alphas)))
            points = [PathPoint(row, ask.baseline, alpha, ask.readout, ask.guided) for alpha in ask.alphas]
            passes = [(point, partial(path.add, number)) for number, point in enumerate(points)]
            return Needed("gradients", passes, lambda: keep(path.finished(model)))
        case AttentionPathGradient():
            layers = _layers(model)
            maps = MapSum(ask, np.zeros(layers))
            scaled = [MapPoint(row, layer, alpha, ask.readout) for layer in range(layers) for alpha in ask.alphas]
            at_maps = [(point, partial(maps.add, point.layer)) for point in scaled]
            return Needed("maps", at_maps, lambda: keep(maps.finished(model)))


def _layers(model: Classifier) -> int:
    if not model.attention_layers:
        raise UserError(
            f"the attention maps of the model {model.name!r} ({model.about.get('architecture', 'unknown')}) "
            "can't be scaled, so nothing can be attributed to them; bivariate_shapley needs none"
        )
    return model.attention_layers
