"""What the model has already answered about one encoding; shared by all methods and metrics of a run."""

from __future__ import annotations

from dataclasses import dataclass, field

from verax.engine.asks import Attention, AttentionPathGradient, AttributedMaps, PathGradient, SummedGradient
from verax.models.classifier import AttentionRead, Head
from verax.models.readout import Readout
from verax.types import FloatArray

GradientKey = tuple[bytes, Readout, str, tuple[float, ...], tuple[float, ...], bool]
AttentionKey = tuple[bytes, int, Readout | None, Head | None]
MapsKey = tuple[bytes, Readout, tuple[float, ...]]
ASKED = RuntimeError("asked, but not answered yet")
"""Stands where an answer will be, so that nobody else asks the same question in the meantime."""


@dataclass(slots=True)
class Memo:
    """Answers by their question: logits and maxima by the state of the units, others by everything that decides them.

    An answer that could not be had is kept as the exception that says why.
    """

    logits: dict[bytes, FloatArray | Exception] = field(default_factory=dict)
    hidden: dict[bytes, FloatArray | Exception] = field(default_factory=dict)
    gradients: dict[GradientKey, SummedGradient | Exception] = field(default_factory=dict)
    attention: dict[AttentionKey, AttentionRead | Exception] = field(default_factory=dict)
    maps: dict[MapsKey, AttributedMaps | Exception] = field(default_factory=dict)


def gradient_key(ask: PathGradient) -> GradientKey:
    """Everything that decides the answer to a question for gradients."""
    return ask.x.state.tobytes(), ask.readout, ask.baseline, ask.alphas, ask.weights, ask.guided


def attention_key(ask: Attention) -> AttentionKey:
    """Everything that decides the answer to a question for attention."""
    return ask.x.state.tobytes(), ask.layer, ask.readout, ask.map_of


def maps_key(ask: AttentionPathGradient) -> MapsKey:
    """Everything that decides the answer to a question for integrated gradients of attention maps."""
    return ask.x.state.tobytes(), ask.readout, ask.alphas
