"""Other words for a concept: synonyms and what is narrower, from which it follows; and words for what excludes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations
from random import Random
from typing import NamedTuple

from verax.data.world.knowledge import AFFORDS, CHILDREN, dimension_of, excludes, group_of, is_a, narrower, values
from verax.data.world.lexicon_en import SILENT, words_of


class Named(NamedTuple):
    """A concept and the words that it is called by."""

    concept: str
    words: str


def named(rng: Random, concept: str) -> Named:
    """A concept by one of its names."""
    return Named(concept, rng.choice(words_of(concept)))


def all_named(concepts: Iterable[str]) -> tuple[Named, ...]:
    """All names of some concepts."""
    return tuple(Named(concept, words) for concept in concepts for words in words_of(concept))


@cache
def reworded(wanted: Named, group: str) -> tuple[Named, ...]:
    """From what it follows that a thing of a group is so, in words that have none in common with it."""
    own = carrying(wanted.words)
    below = [concept for concept in sensible(wanted.concept, group) if is_a(concept, wanted.concept)]
    return tuple(other for other in all_named(below) if not own & carrying(other.words))


@cache
def barring(wanted: Named, group: str) -> tuple[Named, ...]:
    """What a thing of a group can be so that it can't be what is wanted."""
    return all_named(concept for concept in sensible(wanted.concept, group) if excludes(concept, wanted.concept))


def carrying(words: str) -> frozenset[str]:
    """Those words of a phrase that carry its meaning."""
    return frozenset(words.split()) - SILENT


@cache
def sensible(concept: str, group: str) -> tuple[str, ...]:
    """The concepts of the same dimension, or the kinds, that a thing of a group can be."""
    dimension = dimension_of(concept)
    return narrower(group) if dimension == "relation" else values(group, dimension)


@cache
def rewordable(group: str) -> tuple[str, ...]:
    """The values that a thing of a group can have, be shown to have in other words, and be shown not to have."""
    return tuple(
        value
        for dimension in AFFORDS[group]
        for value in values(group, dimension)
        if all(
            reworded(Named(value, words), group) and barring(Named(value, words), group) for words in words_of(value)
        )
    )


@cache
def kind_pools() -> tuple[tuple[str, ...], ...]:
    """Kinds that exclude each other and have narrower ones or synonyms: all groups, and those right below a group."""
    pools = [tuple(AFFORDS)]
    for group in AFFORDS:
        pool = tuple(
            kind for kind in CHILDREN[group] if all(reworded(Named(kind, words), group) for words in words_of(kind))
        )
        if len(pool) >= 3 and all(excludes(a, b) for a, b in combinations(pool, 2)):
            pools.append(pool)
    return tuple(pools)


def draw_kind(rng: Random, groups: Sequence[str] = tuple(AFFORDS)) -> str:
    """A kind below one of some groups."""
    return rng.choice(narrower(rng.choice(groups))[1:])


def article(words: str) -> str:
    """The "a" or "an" that stands before a noun."""
    return "an" if words[0] in "aeiou" else "a"


def with_article(words: str) -> str:
    """A noun with "a" or "an" before it."""
    return f"{article(words)} {words}"


def draw_exclusive(rng: Random, group: str, count: int) -> list[str]:
    """Values of one dimension that a thing of a group can have, no two of them at once."""
    while True:
        pool = rng.choice([pool for pool in _by_dimension(group) if len(pool) >= count])
        drawn = rng.sample(pool, count)
        if all(excludes(a, b) for a, b in combinations(drawn, 2)):
            return drawn


@cache
def _by_dimension(group: str) -> tuple[list[str], ...]:
    dimensions: dict[str, list[str]] = {}
    for value in rewordable(group):
        dimensions.setdefault(dimension_of(value), []).append(value)
    return tuple(dimensions.values())


def draw_apart(rng: Random, group: str, count: int) -> list[str]:
    """Values of different dimensions that a thing of a group can have, all at once."""
    while True:
        drawn = rng.sample(rewordable(group), count)
        if len({dimension_of(value) for value in drawn}) == count:
            return drawn


def unlike(rng: Random, kind: str, groups: Sequence[str]) -> str:
    """A kind of some groups that a kind can neither be nor be taken for."""
    while True:
        other = draw_kind(rng, groups)
        if not is_a(other, kind) and not is_a(kind, other) and (group_of(other) == "person" or excludes(other, kind)):
            return other
