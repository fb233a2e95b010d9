"""The knowledge base of the corpus: concepts, their hierarchy, and which of them exclude each other."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import combinations

from verax.data.world import read_toml

_TABLES = read_toml("knowledge.toml")


def _table(name: str) -> Mapping[str, tuple[str, ...]]:
    return {key: tuple(words.split()) for key, words in _TABLES[name].items()}


CHILDREN = _table("narrower")
"""Each concept and the narrower ones right below it."""
DIMENSIONS = _table("dimensions")
"""Each dimension and its widest values."""
PARTS = _table("parts")
"""Parts of the things of a group that can be evaluated on their own."""
INVERSE: Mapping[str, str] = _TABLES["inverse"]
"""`a` above `b` is `b` below `a`; a relation that is missing here says nothing about the other direction."""

AFFORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    group: {
        dimension: tuple(few.split(",")) if few else DIMENSIONS[dimension]
        for dimension, _, few in (word.partition(":") for word in words)
    }
    for group, words in _table("affords").items()
}
"""The widest values of each dimension that make sense for a group of kinds."""

_NOT_FOR: Mapping[str, frozenset[str]] = {"animal": frozenset({"dance", "waltz", "march", "jog", "munch"})}

LIVING = ("person", "animal")
THINGS = tuple(group for group in AFFORDS if group not in LIVING)
_GROUPS = {**_table("groups"), "any": tuple(AFFORDS)}
RELATIONS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    relation: tuple(tuple(group for name in names.split() for group in _GROUPS.get(name, (name,))) for names in sides)
    for relation, sides in _TABLES["relations"].items()
}
"""The widest relations, with the possible groups of their first and second argument."""

COMPARISONS = frozenset(("bigger", "smaller", "older", "younger"))
"""Relations that decide no other relation than their own inverse."""

ONE_WAY = frozenset(("push", "pull", "look_at", "watch"))
"""Relations that leave their converse open."""

_PARENT = {child: parent for parent, children in CHILDREN.items() for child in children}
_EXCLUSIVE = frozenset(
    frozenset(pair)
    for concepts in (
        *(roots for dimension, roots in DIMENSIONS.items() if dimension != "activity"),
        tuple(AFFORDS),
        *(concepts.split() for concepts in _TABLES["exclusive"]["sets"]),
        *(CHILDREN[parent] for parent in _TABLES["exclusive"]["below"].split()),
    )
    for pair in combinations(concepts, 2)
)


@cache
def wider(concept: str) -> tuple[str, ...]:
    """The concept and all wider ones, narrowest first."""
    parent = _PARENT.get(concept)
    return (concept,) if parent is None else (concept, *wider(parent))


@cache
def narrower(concept: str) -> tuple[str, ...]:
    """The concept and all narrower ones, depth first."""
    return (concept, *(below for child in CHILDREN.get(concept, ()) for below in narrower(child)))


def is_a(narrow: str, wide: str) -> bool:
    """Whether `narrow` is a kind of `wide`."""
    return wide in wider(narrow)


@cache
def excludes(a: str, b: str) -> bool:
    """Whether two concepts exclude each other."""
    return any(frozenset((x, y)) in _EXCLUSIVE for x in wider(a) for y in wider(b))


def group_of(kind: str) -> str:
    """The widest kind above a kind, which determines its possible values."""
    return wider(kind)[-1]


@cache
def values(group: str, dimension: str) -> tuple[str, ...]:
    """All values of a dimension that make sense for a group."""
    barred = _NOT_FOR.get(group, frozenset())
    return tuple(v for root in AFFORDS[group].get(dimension, ()) for v in narrower(root) if v not in barred)


@cache
def dimension_of(value: str) -> str:
    """The dimension of a value; `relation` for relations and kinds."""
    root = wider(value)[-1]
    return next((dimension for dimension, roots in DIMENSIONS.items() if root in roots), "relation")


@cache
def relations(first: str, second: str) -> tuple[str, ...]:
    """All relations that are possible between members of two groups."""
    return tuple(r for root, (a, b) in RELATIONS.items() if first in a and second in b for r in narrower(root))
