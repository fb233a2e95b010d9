"""The aligner protocol: from pairs of texts to pairs of word indices."""

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
        """Numbers of words of both texts."""
        return len(self.reference.words), len(self.translation.words)

    @property
    def empty(self) -> Undefined | None:
        """Undefined if a side has no words, otherwise None."""
        for side, text in (("reference", self.reference), ("translation", self.translation)):
            if not text.words:
                return Undefined("empty", f"the {side} has no words")
        return None


@runtime_checkable
class Aligner(Protocol):
    """Links the words of texts with those of their translations. Its fields are its parameters.

    Attributes:
        version: increased whenever the links change; part of every key in the store.

    An aligner that learns from all pairs together declares `learns: ClassVar[bool] = True`. An aligner that may be
    unavailable (a missing tool or layer) has `check(encoder)`, which raises a UserError before the run.
    """

    version: ClassVar[int]
    reference: ClassVar[str]

    def align(self, pairs: Sequence[TextPair]) -> Iterator[IntArray | Undefined]:
        """For each pair, in order, its links: shape [links, 2], (word of the reference, word of the translation).

        Links are sorted and unique. A pair that cannot be aligned yields an `Undefined` with its reason in
        place of its links, so that the others are not lost.
        """


def link_array(links: Iterable[tuple[int, int]]) -> IntArray:
    """Links as a sorted array without duplicates, shape [links, 2]."""
    return np.array(sorted(set(links)), np.int64).reshape(-1, 2)
