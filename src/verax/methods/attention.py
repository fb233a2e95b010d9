"""Attention as an explanation: weights to words, weights between words, and integrated gradients of the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.questions import Attention, AttentionPathGradient, AttributedMaps, QuestionGenerator, resolve_target
from verax.methods.aggregation import over_subword_pairs, over_subwords
from verax.methods.pairs import Pairing, pair_attribution
from verax.models.classifier import AttentionRead, Capability, Head
from verax.models.subject import Subject
from verax.types import Attribution, Base, Kind, Note, Passes, Target, UserError, require_at_least


class _AttentionMethod:
    """What methods that read attention weights have in common."""

    head: Head

    cost: ClassVar[str] = "1 forward, 1 backward"
    base: ClassVar[Base] = "attention"
    signed: ClassVar[bool] = False
    requires: ClassVar[frozenset[Capability]] = frozenset({"outputs", "attention"})

    def passes(self, n: int) -> Passes:
        """One pass; if heads are weighted, also backward, and one for the prediction."""
        return Passes(1, 1) if self.head == "most_important" else Passes(1, 0)


@dataclass(frozen=True)
class AttentionWeights(_AttentionMethod):
    """Attention weights from the reading position to the sub-words of a word, summed.

    The reading position is the first token of an encoder, the last token of a decoder, and in an encoder-decoder the
    decoder's last end mark, whose attention to the encoder is taken.

    Args:
        target: what the importance of a head is measured by; ignored for other values of `head`.
        head: `most_important` (the one whose output contributes most to the target, by gradient times activation),
            `mean` over heads, or the number of one, from 0.
        layer: counted from 0, or from the last one as -1.
    """

    target: Target = Target()
    head: Head = "most_important"
    layer: int = -1

    name: ClassVar[str] = "attention"
    display: ClassVar[str] = "Attention"
    summary: ClassVar[str] = "Attention weight from the position that the classifier reads to each word."
    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Jain and Wallace 2019, Attention is not explanation; head as in Sun et al. 2024"

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the attention of a layer."""
        if self.head == "most_important":
            readout = yield from resolve_target(self.target, x)
            read: AttentionRead = yield Attention(x, self.layer, readout)
            assert read.contributions is not None  # noqa: S101 - requested by the readout
            head = int(read.contributions.argmax())
            return x.attribution(over_subwords(read.weights[head], read.token_unit, x), head=head)
        read = yield Attention(x, self.layer)
        if self.head == "mean":
            return x.attribution(over_subwords(read.weights.mean(0), read.token_unit, x))
        n = len(read.weights)
        if not 0 <= self.head < n:
            raise UserError(f"attention: head: got {self.head}; the model has {n}, counted from 0")
        return x.attribution(over_subwords(read.weights[self.head], read.token_unit, x))


@dataclass(frozen=True)
class AttentionInteraction(_AttentionMethod):
    """Attention weight from one word to the other, averaged over their sub-words and over both directions.

    In an encoder-decoder it is the cross-attention, from the word in the decoder to the word in the encoder. In a
    decoder a word attends only to earlier ones, so one of the two directions is 0.

    Args:
        target: what the importance of a head is measured by; ignored for other values of `head`.
        head: as in `attention`: `most_important`, `mean`, or a number.
        layer: counted from 0, or from the last one as -1.
        parts: pairs `between` the two parts, or `within` each part.
        directed: score the attention from i to j and from j to i as two units.
    """

    target: Target = Target()
    head: Head = "most_important"
    layer: int = -1
    parts: Pairing = "between"
    directed: bool = False

    name: ClassVar[str] = "attention_interaction"
    display: ClassVar[str] = "Attention interaction"
    summary: ClassVar[str] = "Attention weight between two words."
    kind: ClassVar[Kind] = "token_interaction"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Clark et al. 2019, What does BERT look at?; head as in Sun et al. 2024"

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the attention map of a layer."""
        readout = (yield from resolve_target(self.target, x)) if self.head == "most_important" else None
        read: AttentionRead = yield Attention(x, self.layer, readout, map_of=self.head)
        assert read.map is not None  # noqa: S101 - requested by map_of
        notes: dict[str, Note] = {}
        if read.contributions is not None:
            notes["head"] = int(read.contributions.argmax())
        scores = over_subword_pairs(read.map, read.token_unit, x)
        return pair_attribution(x, scores, self.parts, directed=self.directed, **notes)


@dataclass(frozen=True)
class AttentionAttribution:
    """A * mean over k of df/dA at (k / steps) A, summed over heads and layers, averaged over both directions.

    The map A of one layer is scaled at a time, all its heads together, while the other layers are unchanged. In an
    encoder-decoder the self-attention of both and the cross-attention each count as a layer.

    Args:
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
        require_at_least("attention_attribution", 1, steps=self.steps)

    def passes(self, n: int) -> Passes:
        """A gradient for each step in each layer of the model, and one pass for the prediction."""
        return Passes(1, self.steps)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the maps of all layers."""
        readout = yield from resolve_target(self.target, x)
        alphas = tuple((k + 1) / self.steps for k in range(self.steps))
        answer: AttributedMaps = yield AttentionPathGradient(x, readout, alphas)
        scores = over_subword_pairs(answer.total, answer.token_unit, x)
        return pair_attribution(x, scores, self.parts, directed=self.directed)
