"""English words for the concepts of the corpus."""

from __future__ import annotations

from verax.data.world.languages.grammar import read_lexicon

FUNCTION_WORDS = frozenset(("in", "on", "at", "to", "of", "the", "a", "than", "piece", "being", "from", "away"))
"""Words of a phrase that are not content words."""


def synonyms(concept: str) -> tuple[str, ...]:
    """Synonyms for a concept, as used after "is" (a kind: after "a"); each may be several words."""
    return read_lexicon("en").entries[concept]


def passive_of(relation: str) -> str | None:
    """The passive of an action, "being chased by"; None if there is no natural one."""
    participle = read_lexicon("en").participles.get(relation)
    return None if participle is None else f"being {participle} by"


def article(words: str) -> str:
    """The indefinite article before some words."""
    return "an" if words[0] in "aeiou" else "a"


def with_article(words: str) -> str:
    """Words after their indefinite article."""
    return f"{article(words)} {words}"


def to_sentence(clause: str) -> str:
    """A clause with a capital and a full stop."""
    return f"{clause[0].upper()}{clause[1:]}."
