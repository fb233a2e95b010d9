"""The reconstruction of any input by the words that its explanation mentions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from verax.data.text import split_words
from verax.metrics.free_text.reconstruction import Reconstructed, with_parts
from verax.models.subject import Subject
from verax.types import Undefined

EMPTY = "..."
"""Stands for a part of which no word is mentioned."""


@dataclass(frozen=True)
class MentionedWords:
    """The words of the input that occur in the explanation, in their order; a part without any becomes `...`."""

    namespace: ClassVar[str] = "reconstructions"
    name: ClassVar[str] = "mentioned_words"
    summary: ClassVar[str] = "Only the words of the input that the explanation mentions."
    reference: ClassVar[str] = "control"

    @property
    def provenance(self) -> Mapping[str, str]:
        """The version of the rule."""
        return {"reconstruction": "mentioned words 1"}

    def reconstruct(self, x: Subject, explanation: str, predicted: str) -> Reconstructed:
        """The words, compared without regard to case."""
        mentioned = {word.casefold() for word in split_words(explanation, x.instance.lang).words}
        kept = [[word for word in part.words if word.casefold() in mentioned] for part in x.instance.parts]
        if not any(kept):
            raise Undefined("no_reconstruction", "the explanation mentions no word of the input")
        parts = zip(kept, x.instance.parts, strict=True)
        texts = tuple(split_words(" ".join(words) or EMPTY, part.lang) for words, part in parts)
        return Reconstructed(with_parts(x.instance, texts), {"words": str(sum(map(len, kept)))})
