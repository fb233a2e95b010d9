"""Surface realisation of text plans in six languages, and gold word alignments between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from verax.data.world.facts import Fact
from verax.data.world.languages.grammar import Anchor, Grammar
from verax.data.world.languages.grammar_bg import Bulgarian
from verax.data.world.languages.grammar_de import German
from verax.data.world.languages.grammar_en import English
from verax.data.world.languages.grammar_es import Spanish
from verax.data.world.languages.grammar_fr import French
from verax.data.world.languages.grammar_zh import Chinese
from verax.data.world.languages.plan import TextPlan
from verax.data.world.phrase import TaggedText, TaggedToken, as_text
from verax.types import GivenAlignment, Links

GRAMMARS: Mapping[str, type[Grammar]] = {
    grammar.lang: grammar for grammar in (English, German, Spanish, French, Bulgarian, Chinese)
}
LANGUAGES = tuple(GRAMMARS)
"""English first."""

Anchors = tuple[tuple[Anchor, ...], ...]
"""The anchors of each word of a text."""


@dataclass(frozen=True, slots=True)
class Realisation:
    """A text plan in the words of a language."""

    tagged: TaggedText[Fact]
    anchors: Anchors


def realise(plan: TextPlan, lang: str, rng: Random) -> Realisation:
    """Realise a plan in a language; the random source only chooses between synonyms."""
    grammar = GRAMMARS[lang](rng)
    words = grammar.realise(plan)
    tokens = tuple(TaggedToken(word.text, word.fact, word.is_content) for word in words)
    return Realisation(as_text(tokens, lang, grammar.separator), tuple(word.anchors for word in words))


def links_between(reference: Anchors, translation: Anchors) -> Links:
    """Index pairs of the words that share an anchor."""
    by_anchor: dict[Anchor, list[int]] = {}
    for index, anchors in enumerate(translation):
        for anchor in anchors:
            by_anchor.setdefault(anchor, []).append(index)
    links = {(a, b) for a, anchors in enumerate(reference) for anchor in anchors for b in by_anchor.get(anchor, ())}
    return tuple(sorted(links))


class GoldAlignments(Mapping[str, tuple[GivenAlignment, ...]]):
    """Alignments of each instance with its translations by instance id, computed on access.

    Args:
        inputs: for each input, the id and the anchors of each part by language.
    """

    def __init__(self, inputs: list[dict[str, tuple[str, tuple[Anchors, ...]]]]) -> None:
        self._translations = {name: (lang, group) for group in inputs for lang, (name, _) in group.items()}

    def __getitem__(self, instance_id: str) -> tuple[GivenAlignment, ...]:
        lang, group = self._translations[instance_id]
        own = group[lang][1]
        return tuple(
            GivenAlignment(other, tuple(links_between(a, b) for a, b in zip(parts, own, strict=True)))
            for other, (_, parts) in group.items()
            if other != lang
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._translations)

    def __len__(self) -> int:
        return len(self._translations)
