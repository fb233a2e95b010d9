"""Attention between words: how much two words attend to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.questions import Attention, QuestionGenerator, resolve
from verax.methods.aggregation import over_subword_pairs
from verax.methods.pairs import Pairing, pair_attribution
from verax.models.classifier import AttentionRead, Capability, Head
from verax.models.subject import Subject
from verax.types import Attribution, Base, Kind, Note, Passes, Target


@dataclass(frozen=True)
class AttentionInteraction:
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
    cost: ClassVar[str] = "1 forward, 1 backward"
    kind: ClassVar[Kind] = "token_interaction"
    base: ClassVar[Base] = "attention"
    signed: ClassVar[bool] = False
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Clark et al. 2019, What does BERT look at?; head as in Sun et al. 2024"
    requires: ClassVar[frozenset[Capability]] = frozenset({"outputs", "attention"})

    def passes(self, n: int) -> Passes:
        """One pass; if heads are weighted, also backward, and one for the prediction."""
        return Passes(1, 1) if self.head == "most_important" else Passes(1, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the attention map of a layer."""
        readout = (yield from resolve(self.target, x)) if self.head == "most_important" else None
        read: AttentionRead = yield Attention(x, self.layer, readout, map_of=self.head)
        assert read.map is not None  # noqa: S101 - requested by map_of
        notes: dict[str, Note] = {}
        if read.contributions is not None:
            notes["head"] = int(read.contributions.argmax())
        scores = over_subword_pairs(read.map, read.token_unit, x)
        return pair_attribution(x, scores, self.parts, directed=self.directed, **notes)
