"""What the model has already answered about one encoding; shared by all methods and metrics of a run."""

from __future__ import annotations

from collections.abc import Hashable

from verax.engine.questions import Attention, AttentionPathGradient, PathGradient, TokenStates

ASKED = RuntimeError("asked, but not answered yet")
"""Stands where an answer will be, so that nobody else asks the same question in the meantime."""

WholeQuestion = PathGradient | AttentionPathGradient | Attention | TokenStates
"""Questions that have one answer as a whole; others have one for each coalition."""


def key_of(ask: WholeQuestion) -> Hashable:
    """Everything that decides the answer to a question, but for the encoding."""
    decides: tuple[Hashable, ...]
    match ask:
        case PathGradient():
            decides = (ask.readout, ask.baseline, ask.alphas, ask.weights, ask.guided)
        case AttentionPathGradient():
            decides = (ask.readout, ask.alphas)
        case Attention():
            decides = (ask.layer, ask.readout, ask.map_of)
        case TokenStates():
            decides = (ask.layer,)
    return ask.x.state.tobytes(), *decides
