"""One line of Pharaoh's format, read and written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.data.pharaoh import format_links, parse_links
from verax.types import UserError

LINKS = st.sets(st.tuples(st.integers(0, 11), st.integers(0, 7)), max_size=12)


@pytest.mark.parametrize(
    ("text", "sure", "possible"),
    [
        ("", (), ()),
        (" \n", (), ()),
        ("0-0 1-2", ((0, 0), (1, 2)), ()),
        ("1-2\t0-0 1-2\r\n", ((0, 0), (1, 2)), ()),
        ("2p3 0-0 1?1", ((0, 0),), ((1, 1), (2, 3))),
        ("1p1 1-1", ((1, 1),), ()),
    ],
)
def test_a_line_gives_sure_and_possible_links(
    text: str, sure: tuple[tuple[int, int], ...], possible: tuple[tuple[int, int], ...]
) -> None:
    assert parse_links(text, "f:1", 3, 4) == (sure, possible)


def test_words_may_be_counted_from_one() -> None:
    assert parse_links("1-1 3p4", "f:1", 3, 4, first=1) == (((0, 0),), ((2, 3),))


@given(LINKS, LINKS)
def test_what_is_written_is_read_back(sure: set[tuple[int, int]], possible: set[tuple[int, int]]) -> None:
    line = format_links(tuple(sure), tuple(possible - sure))
    assert parse_links(line, "f:1", 12, 8) == (tuple(sorted(sure)), tuple(sorted(possible - sure)))


@pytest.mark.parametrize(
    ("text", "first", "message"),
    [
        ("0-0 3-0", 0, "f:7: link 3-0: word 3 of the reference is out of range 0 to 2"),
        ("0-4", 0, "f:7: link 0-4: word 4 of the translation is out of range 0 to 3"),
        ("0-1", 1, "f:7: link 0-1: word 0 of the reference is out of range 1 to 3"),
        ("3p5", 1, "f:7: link 3p5: word 5 of the translation is out of range 1 to 4"),
        ("0-0 1", 0, "f:7: expected links such as 0-0 1-2 2p3, got '1'"),
        ("0--1", 0, "f:7: expected links such as 0-0 1-2 2p3, got '0--1'"),
        ("0-" + "9" * 5000, 0, f"f:7: expected links such as 0-0 1-2 2p3, got '0-{'9' * 37}"),
        ("9" * 5000 + "p1", 1, f"f:7: expected links such as 0-0 1-2 2p3, got '{'9' * 39}"),
        ("٣-0", 0, "f:7: expected links such as 0-0 1-2 2p3, got '٣-0'"),
    ],
)
def test_a_mistake_is_named_with_its_line(text: str, first: int, message: str) -> None:
    with pytest.raises(UserError) as refused:
        parse_links(text, "f:7", 3, 4, first=first)
    assert str(refused.value) == message


def test_an_empty_side_has_no_links() -> None:
    assert parse_links("", "f:1", 0, 0) == ((), ())
    with pytest.raises(UserError, match="f:1: link 0-0: the reference has no words"):
        parse_links("0-0", "f:1", 0, 3)
