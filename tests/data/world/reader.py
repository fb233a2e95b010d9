"""A reader of the world's English that shares no code with the grammar, and a judge that tries all possible worlds.

It knows which words mean which concept (from the lexicon) and the is-a, exclusion and inverse tables; nothing else.
"""

from __future__ import annotations

import re
from itertools import product
from typing import NamedTuple

from verax.data.world.knowledge import (
    AFFORDS,
    CHILDREN,
    INVERSE,
    RELATIONS,
    excludes,
    group_of,
    narrower,
    values,
    wider,
)
from verax.data.world.lexicon_en import passive_of, synonyms

KINDS = {word: kind for group in AFFORDS for kind in narrower(group) for word in synonyms(kind)}
RELATED = {word: r for root in RELATIONS for r in narrower(root) for word in synonyms(r)}
PASSIVE = {passive_of(r): r for root in RELATIONS for r in narrower(root) if passive_of(r)}
OPENING = re.compile(r"^(we can see that|it is true that|in this scene|right now) ")


class Known(NamedTuple):
    """A fact as it was read: the kinds it speaks of, in their order, and the concept."""

    kinds: tuple[str, ...]
    concept: str
    holds: bool


def _longest(text: str, table: dict[str, str]) -> tuple[str, str] | None:
    """The meaning of the longest entry that the text begins with, and what comes after it."""
    fits = [words for words in table if text == words or text.startswith(f"{words} ")]
    if not fits:
        return None
    words = max(fits, key=len)
    return table[words], text[len(words) :].strip()


def values_of(kind: str) -> dict[str, str]:
    """What the words mean that can be said of a kind."""
    group = group_of(kind)
    return {word: v for dimension in AFFORDS[group] for v in values(group, dimension) for word in synonyms(v)}


def _noun(text: str) -> tuple[str, list[str], str]:
    """Read "the big red dog ...": the kind, the words before it, and the rest."""
    words = text.split(" ")
    assert words[0] in {"the", "a", "an"}, text
    for start in range(1, len(words)):
        found = _longest(" ".join(words[start:]), KINDS)
        if found:
            return found[0], words[1:start], found[1]
    raise AssertionError(f"no noun in {text!r}")


def _qualities(kind: str, words: list[str]) -> list[Known]:
    return [Known((kind,), values_of(kind)[word], True) for word in words]


def _predicates(kind: str, rest: str) -> list[Known]:
    """Read "running in the park and is not wet": every value, each with its own "not"."""
    facts = []
    while rest:
        rest = re.sub(r"^(and is |and |is )", "", rest)
        holds = not rest.startswith("not ")
        found = _longest(rest.removeprefix("not "), values_of(kind))
        assert found, f"{kind}: {rest!r}"
        facts.append(Known((kind,), found[0], holds))
        rest = found[1]
    return facts


def _clause(text: str) -> tuple[list[str], list[Known]]:
    """The kinds that a clause names and the facts it tells."""
    text = text.removeprefix("there is ")
    kind, before, rest = _noun(text)
    facts = _qualities(kind, before)
    for table, turned in ((RELATED, False), (PASSIVE, True)):
        predicate = rest.removeprefix("is ")
        holds = not predicate.startswith("not ")
        found = _longest(predicate.removeprefix("not "), table)
        if rest.startswith("is ") and found:
            other, adjectives, end = _noun(found[1])
            assert end == ""
            kinds = (other, kind) if turned else (kind, other)
            return [kind, other], [*facts, *_qualities(other, adjectives), Known(kinds, found[0], holds)]
    return [kind], facts + _predicates(kind, rest)


def read(raw: str) -> tuple[list[str], list[Known]]:
    """The kinds and facts of a premise or a hypothesis."""
    text = OPENING.sub("", raw[0].lower() + raw[1:]).removesuffix(".")
    kinds: list[str] = []
    facts: list[Known] = []
    for clause in re.split(r", and |, while |, but |\. ", text):
        named, told = _clause(clause[0].lower() + clause[1:])
        kinds += named
        facts += told
    return kinds, facts


def _worlds(concepts: list[str]) -> list[dict[str, bool]]:
    """All ways to be or not to be each of some concepts that the knowledge base allows."""
    worlds = [dict(zip(concepts, truth, strict=True)) for truth in product((False, True), repeat=len(concepts))]
    return [
        world
        for world in worlds
        if all(not world[a] or world[b] for a in concepts for b in concepts if b in wider(a))
        and not any(world[a] and world[b] for a in concepts for b in concepts if excludes(a, b))
    ]


def _about(fact: Known, kinds: tuple[str, ...]) -> str | None:
    """The concept by which a fact speaks of these kinds, in this order."""
    if fact.kinds == kinds:
        return fact.concept
    return INVERSE.get(fact.concept) if fact.kinds == kinds[::-1] else None


def _truths(asked: Known, kinds: tuple[str, ...], facts: list[Known]) -> set[bool]:
    """The truth of an asked fact in all worlds in which all known facts about the same things hold."""
    known = [(about, fact.holds) for fact in facts if (about := _about(fact, kinds)) is not None]
    concepts = sorted({asked.concept, *(concept for concept, _ in known)})
    return {
        world[asked.concept] == asked.holds
        for world in _worlds(concepts)
        if all(world[concept] == holds for concept, holds in known)
    }


def judged(premise: str, hypothesis: str) -> str:
    """The label by brute force: true in all worlds, false in all worlds, or neither."""
    kinds, facts = read(premise)
    asked_kinds, asked = read(hypothesis)
    referents = {}
    for wanted in asked_kinds:
        sure = {kind for kind in kinds if wanted in wider(kind)}
        if not sure:
            assert any(kind in wider(wanted) for kind in kinds), "the hypothesis speaks of something else"
            return "neutral"
        assert len(sure) == 1
        referents[wanted] = sure.pop()
    told = [_truths(fact, tuple(referents[kind] for kind in fact.kinds), facts) for fact in asked]
    assert all(told), "the premise contradicts itself"
    if {False} in told:
        return "contradiction"
    return "entailment" if all(truths == {True} for truths in told) else "neutral"


assert set(KINDS.values()) <= {*CHILDREN, *(child for below in CHILDREN.values() for child in below)}
