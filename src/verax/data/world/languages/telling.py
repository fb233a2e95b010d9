"""Plans told in any language of the world, and which words of two languages say the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from verax.data.world.facts import Fact
from verax.data.world.languages.grammar_bg import Bulgarian
from verax.data.world.languages.grammar_de import German
from verax.data.world.languages.grammar_en import English
from verax.data.world.languages.grammar_es import Spanish
from verax.data.world.languages.grammar_fr import French
from verax.data.world.languages.grammar_zh import Chinese
from verax.data.world.languages.plan import Plan
from verax.data.world.languages.wording import Grammar, Piece, as_sentence
from verax.data.world.phrase import Sentence
from verax.types import GivenAlignment, Links

GRAMMARS: Mapping[str, type[Grammar]] = {
    grammar.lang: grammar for grammar in (English, German, Spanish, French, Bulgarian, Chinese)
}
LANGUAGES = tuple(GRAMMARS)
"""English first."""

Pieces = tuple[tuple[Piece, ...], ...]
"""What each word of a text says."""


@dataclass(frozen=True, slots=True)
class Told:
    """A plan in the words of a language."""

    sentence: Sentence[Fact]
    pieces: Pieces


def told(plan: Plan, lang: str, rng: Random) -> Told:
    """Tell a plan in a language; the random source chooses among words of the same meaning alone."""
    grammar = GRAMMARS[lang](rng)
    words = grammar.tell(plan)
    return Told(as_sentence(words, lang, grammar.apart), tuple(word.pieces for word in words))


def links(reference: Pieces, translation: Pieces) -> Links:
    """The pairs of words that say a piece in common, by their numbers in the two texts."""
    sayers: dict[Piece, list[int]] = {}
    for number, pieces in enumerate(translation):
        for piece in pieces:
            sayers.setdefault(piece, []).append(number)
    found = {(a, b) for a, pieces in enumerate(reference) for piece in pieces for b in sayers.get(piece, ())}
    return tuple(sorted(found))


class GoldAlignments(Mapping[str, tuple[GivenAlignment, ...]]):
    """How each instance translates the same input in every other language, worked out when it is asked for.

    Args:
        inputs: for each input that is told in several languages, its instances by their language: their id, and the
            pieces of each part.
    """

    def __init__(self, inputs: list[dict[str, tuple[str, tuple[Pieces, ...]]]]) -> None:
        self._siblings = {name: (lang, group) for group in inputs for lang, (name, _) in group.items()}

    def __getitem__(self, instance_id: str) -> tuple[GivenAlignment, ...]:
        lang, group = self._siblings[instance_id]
        own = group[lang][1]
        return tuple(
            GivenAlignment(other, tuple(links(a, b) for a, b in zip(parts, own, strict=True)))
            for other, (_, parts) in group.items()
            if other != lang
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._siblings)

    def __len__(self) -> int:
        return len(self._siblings)
