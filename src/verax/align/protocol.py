"""The protocol of aligners: pairs of texts in, pairs of word numbers out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from verax.types import IntArray, Links, Text, Undefined


class TextPair(NamedTuple):
    """A text of the reference language, its translation, and the links that came with the data, if any."""

    reference: Text
    translation: Text
    sure: Links | None = None
    possible: Links = ()

    @property
    def shape(self) -> tuple[int, int]:
        """How many words the two have."""
        return len(self.reference.words), len(self.translation.words)

    @property
    def empty(self) -> Undefined | None:
        """Why the pair can't be aligned, if a side has no word."""
        for side, text in (("reference", self.reference), ("translation", self.translation)):
            if not text.words:
                return Undefined("empty", f"the {side} has no word")
        return None


@runtime_checkable
class Aligner(Protocol):
    """Links the words of texts with those of their translations. Its fields are its parameters.

    Attributes:
        version: raised whenever the code comes to give other links: it is part of every key in the store.
        reference: the publication of the method.

    One that learns from all pairs together, so that the links of one depend on the others, says
    `learns: ClassVar[bool] = True`. One that may be unable to align at all (a tool that is not installed, a layer that
    the encoder does not have) has `check(encoder)`, which refuses before anything is computed.
    """

    version: ClassVar[int]
    reference: ClassVar[str]

    def align(self, pairs: Sequence[TextPair]) -> Iterator[IntArray | Undefined]:
        """For each pair, in order, its links: shape [links, 2], (word of the reference, word of the translation).

        Links are sorted and none is there twice. A pair that can't be aligned gives the `Undefined` that says why in
        place of its links, so that the others are not lost.
        """


def link_array(links: Iterable[tuple[int, int]]) -> IntArray:
    """Links as an aligner gives them: sorted, none there twice, shape [links, 2]."""
    return np.array(sorted(set(links)), np.int64).reshape(-1, 2)
