"""The knowledge base holds together."""

from __future__ import annotations

from itertools import product

import pytest

from verax.data.world.knowledge import (
    AFFORDS,
    CHILDREN,
    DIMENSIONS,
    INVERSE,
    RELATIONS,
    dimension_of,
    excludes,
    group_of,
    is_a,
    narrower,
    relations,
    values,
    wider,
)

CONCEPTS = sorted({*CHILDREN, *(child for children in CHILDREN.values() for child in children), *RELATIONS})


def test_every_concept_has_one_parent_at_most() -> None:
    children = [child for below in CHILDREN.values() for child in below]
    assert len(children) == len(set(children))


def test_wider_and_narrower_are_each_others_inverse() -> None:
    for a, b in product(CONCEPTS, CONCEPTS):
        assert (b in wider(a)) == (a in narrower(b)) == is_a(a, b)


def test_nothing_excludes_itself_or_what_it_is_a_kind_of() -> None:
    for a, b in product(CONCEPTS, CONCEPTS):
        if is_a(a, b) or is_a(b, a):
            assert not excludes(a, b), (a, b)


def test_exclusion_is_mutual_and_passes_to_narrower_concepts() -> None:
    for a, b in product(CONCEPTS, CONCEPTS):
        assert excludes(a, b) == excludes(b, a)
        if excludes(a, b):
            assert all(excludes(x, y) for x in narrower(a) for y in narrower(b))


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("poodle", "cat", True),
        ("poodle", "dog", False),
        ("kitchen", "garden", True),
        ("kitchen", "house", False),
        ("scarlet", "navy", True),
        ("scarlet", "crimson", False),
        ("nap", "sprint", True),
        ("stroll", "sing", False),
        ("boy", "violinist", False),
        ("above", "below", True),
    ],
)
def test_exclusions_that_people_would_name(a: str, b: str, expected: bool) -> None:
    assert excludes(a, b) is expected


def test_every_value_that_is_afforded_belongs_to_its_dimension() -> None:
    for group, afforded in AFFORDS.items():
        for dimension in afforded:
            assert set(afforded[dimension]) <= set(DIMENSIONS[dimension])
            assert values(group, dimension)
            assert {dimension_of(value) for value in values(group, dimension)} == {dimension}


def test_inverses_are_inverse_and_of_relations_alone() -> None:
    for relation, inverse in INVERSE.items():
        assert INVERSE[inverse] == relation
        assert dimension_of(relation) == "relation"


def test_groups_and_relations_of_kinds() -> None:
    assert group_of("poodle") == "animal"
    assert "chase" in relations("animal", "person")
    assert "chase" not in relations("tool", "person")
    assert set(relations("person", "person")) <= set(CONCEPTS)
