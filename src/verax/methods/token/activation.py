"""Activation: the word embedding itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.questions import Embeddings, QuestionGenerator
from verax.methods.aggregation import Aggregation, to_words
from verax.models.classifier import Capability, Path
from verax.models.subject import Subject
from verax.types import Attribution, Kind, Passes, Target


@dataclass(frozen=True)
class Activation:
    """E, aggregated over dimensions, summed over the sub-words of a word.

    Args:
        target: recorded with the explanation; the scores are the same for every target.
        aggregate: how the dimensions of an embedding are aggregated.
        absolute: take |.| of each sub-word before they are summed.
    """

    target: Target = Target()
    aggregate: Aggregation = "l2"
    absolute: bool = False

    name: ClassVar[str] = "activation"
    display: ClassVar[str] = "Activation"
    summary: ClassVar[str] = "Norm of the word embedding itself."
    cost: ClassVar[str] = "none"
    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Karpathy, Johnson and Fei-Fei 2015, Visualizing and understanding recurrent networks"
    requires: ClassVar[frozenset[Capability]] = frozenset({"embeddings"})

    def passes(self, n: int) -> Passes:
        """No pass: embeddings are looked up."""
        return Passes(0, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the embeddings."""
        path: Path = yield Embeddings(x)
        scores = to_words(path.inputs, path.token_unit, x, aggregate=self.aggregate, absolute=self.absolute)
        return x.attribution(scores)
