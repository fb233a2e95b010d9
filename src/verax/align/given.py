"""Given alignment: the links that came with the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from verax.align.protocol import TextPair, link_array
from verax.types import IntArray, Undefined, UserError


@dataclass(frozen=True)
class Given:
    """Links given with the data (`possible`: use possible links in addition to sure ones)."""

    possible: bool = False

    name: ClassVar[str] = "given"
    summary: ClassVar[str] = "Links that come with the data."
    kind: ClassVar[str] = "data"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "the data"

    def align(self, pairs: Sequence[TextPair]) -> Iterator[IntArray | Undefined]:
        """The given links of each pair; Undefined if there are none."""
        return (self._links(number, pair) for number, pair in enumerate(pairs, 1))

    def _links(self, number: int, pair: TextPair) -> IntArray | Undefined:
        if pair.sure is None:
            return Undefined("no_alignment", "the data links no words of this input")
        links = pair.sure + pair.possible if self.possible else pair.sure
        sides = (("reference", pair.reference), ("translation", pair.translation))
        for link in links:
            for word, (side, text) in zip(link, sides, strict=True):
                if not 0 <= word < len(text.words):
                    raise UserError(
                        f"given: pair {number}: link {link[0]}-{link[1]}: word {word} is out of range for the {side}, "
                        f"which has {len(text.words)} words (from 0): {text.raw!r:.60}"
                    )
        return link_array(links)
