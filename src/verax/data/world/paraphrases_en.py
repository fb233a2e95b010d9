"""English paraphrases of a concept (synonyms and narrower terms, which entail it), and terms that contradict it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations
from random import Random
from typing import NamedTuple

from verax.data.world.knowledge import AFFORDS, CHILDREN, dimension_of, excludes, group_of, is_a, narrower, values
from verax.data.world.lexicon_en import FUNCTION_WORDS, synonyms


class Term(NamedTuple):
    """A concept and one of its synonyms."""

    concept: str
    words: str


def draw_term(rng: Random, concept: str) -> Term:
    """A concept with a random synonym."""
    return Term(concept, rng.choice(synonyms(concept)))


def terms_of(concepts: Iterable[str]) -> tuple[Term, ...]:
    """All terms for some concepts."""
    return tuple(Term(concept, words) for concept in concepts for words in synonyms(concept))


@cache
def paraphrases(term: Term, group: str) -> tuple[Term, ...]:
    """Terms for a thing of a group that entail the given one and share no content word with it."""
    own = content_words(term.words)
    below = [concept for concept in _alternatives(term.concept, group) if is_a(concept, term.concept)]
    return tuple(other for other in terms_of(below) if not own & content_words(other.words))


@cache
def contradictions(term: Term, group: str) -> tuple[Term, ...]:
    """Terms for a thing of a group that exclude the given one."""
    return terms_of(concept for concept in _alternatives(term.concept, group) if excludes(concept, term.concept))


def content_words(words: str) -> frozenset[str]:
    """The content words of a phrase."""
    return frozenset(words.split()) - FUNCTION_WORDS


@cache
def _alternatives(concept: str, group: str) -> tuple[str, ...]:
    """The values of the same dimension for a group; the kinds of the group for a kind."""
    dimension = dimension_of(concept)
    return narrower(group) if dimension == "relation" else values(group, dimension)


@cache
def _by_dimension(group: str) -> dict[str, list[str]]:
    """The values of a group that have paraphrases and contradictions, by dimension."""
    usable: dict[str, list[str]] = {}
    for dimension in AFFORDS[group]:
        for value in values(group, dimension):
            if all(paraphrases(term, group) and contradictions(term, group) for term in terms_of([value])):
                usable.setdefault(dimension_of(value), []).append(value)
    return usable


@cache
def kind_pools() -> tuple[tuple[str, ...], ...]:
    """Pools of mutually exclusive kinds with paraphrases: all groups, and the kinds right below one group."""
    pools = [tuple(AFFORDS)]
    for group in AFFORDS:
        pool = tuple(kind for kind in CHILDREN[group] if all(paraphrases(term, group) for term in terms_of([kind])))
        if len(pool) >= 3 and all(excludes(a, b) for a, b in combinations(pool, 2)):
            pools.append(pool)
    return tuple(pools)


def draw_kind(rng: Random, groups: Sequence[str] = tuple(AFFORDS)) -> str:
    """A kind below one of the groups."""
    return rng.choice(narrower(rng.choice(groups))[1:])


def draw_exclusive(rng: Random, group: str, count: int) -> list[str]:
    """Mutually exclusive values of one dimension."""
    while True:
        pool = rng.choice([pool for pool in _by_dimension(group).values() if len(pool) >= count])
        drawn = rng.sample(pool, count)
        if all(excludes(a, b) for a, b in combinations(drawn, 2)):
            return drawn


def draw_independent(rng: Random, group: str, count: int) -> list[str]:
    """Values of different dimensions."""
    usable = [value for pool in _by_dimension(group).values() for value in pool]
    while True:
        drawn = rng.sample(usable, count)
        if len({dimension_of(value) for value in drawn}) == count:
            return drawn


def draw_unlike(rng: Random, kind: str, groups: Sequence[str]) -> str:
    """Another kind, neither narrower nor wider; unless it is a person, the two must exclude each other."""
    while True:
        other = draw_kind(rng, groups)
        if not is_a(other, kind) and not is_a(kind, other) and (group_of(other) == "person" or excludes(other, kind)):
            return other
