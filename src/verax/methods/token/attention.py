"""Attention: weights from the position that the classifier reads to each word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.questions import Attention, QuestionGenerator, resolve
from verax.methods.aggregation import over_subwords
from verax.models.classifier import AttentionRead, Capability, Head
from verax.models.subject import Subject
from verax.types import Attribution, Base, Kind, Passes, Target, UserError


@dataclass(frozen=True)
class AttentionWeights:
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
    cost: ClassVar[str] = "1 forward, 1 backward"
    kind: ClassVar[Kind] = "token"
    base: ClassVar[Base] = "attention"
    signed: ClassVar[bool] = False
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Jain and Wallace 2019, Attention is not explanation; head as in Sun et al. 2024"
    requires: ClassVar[frozenset[Capability]] = frozenset({"outputs", "attention"})

    def passes(self, n: int) -> Passes:
        """One pass; if heads are weighted, also backward, and one for the prediction."""
        return Passes(1, 1) if self.head == "most_important" else Passes(1, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the attention of a layer."""
        if self.head == "most_important":
            readout = yield from resolve(self.target, x)
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
