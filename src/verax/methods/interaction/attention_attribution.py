"""Attention attribution: integrated gradients of the attention maps, layer by layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.questions import AttentionPathGradient, AttributedMaps, QuestionGenerator, resolve
from verax.methods.aggregation import over_subword_pairs
from verax.methods.pairs import Pairing, pair_attribution
from verax.models.classifier import Capability
from verax.models.subject import Subject
from verax.types import Attribution, Base, Kind, Passes, Target, UserError


@dataclass(frozen=True)
class AttentionAttribution:
    """A * mean over k of df/dA at (k / steps) A, summed over heads and layers, averaged over both directions.

    The map A of one layer is scaled at a time, all its heads together, while the other layers are unchanged. In an
    encoder-decoder the self-attention of both and the cross-attention each count as a layer.

    Args:
        target: what of the model is explained.
        steps: number of points from no attention to the whole map.
        parts: pairs `between` the two parts, or `within` each part.
        directed: score the entries [i, j] and [j, i] of the map as two units.
    """

    target: Target = Target()
    steps: int = 20
    parts: Pairing = "between"
    directed: bool = False

    name: ClassVar[str] = "attention_attribution"
    display: ClassVar[str] = "AttAttr"
    summary: ClassVar[str] = "Integrated gradients of the attention maps, layer by layer."
    cost: ClassVar[str] = "1 forward, 20 backward per layer"
    kind: ClassVar[Kind] = "token_interaction"
    base: ClassVar[Base] = "integrated_gradients"
    requires: ClassVar[frozenset[Capability]] = frozenset({"outputs", "attention_gradients"})
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Hao et al. 2021, Self-attention attribution; layer-wise as in Ye, Nair and Durrett 2021"
    per_layer: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise UserError(f"attention_attribution: steps: got {self.steps}, it must be at least 1")

    def passes(self, n: int) -> Passes:
        """A gradient for each step in each layer of the model, and one pass for the prediction."""
        return Passes(1, self.steps)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the maps of all layers."""
        readout = yield from resolve(self.target, x)
        alphas = tuple((k + 1) / self.steps for k in range(self.steps))
        answer: AttributedMaps = yield AttentionPathGradient(x, readout, alphas)
        scores = over_subword_pairs(answer.total, answer.token_unit, x)
        return pair_attribution(x, scores, self.parts, directed=self.directed)
