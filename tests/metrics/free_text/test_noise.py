"""Random words at random places: how many, like which edits, from which words."""

from __future__ import annotations

from collections import Counter

import pytest

from rigged import instance
from verax.metrics.free_text.editor import places
from verax.metrics.free_text.noise import random_insertions

ONE, ONE_TWO = (("x",),), (("x",), ("x", "y"))
WORDS = ("tulip", "tulip", "tulip", "lantern", ".", "9", "don't")


def test_lengths_come_in_turn() -> None:
    made = random_insertions(instance("a b c d"), (("x",), ("x", "y", "z"), ("x", "y")), WORDS, count=7, seed=0)
    assert [len(one.words) for one in made] == [1, 3, 2, 1, 3, 2, 1]


def test_words_come_up_as_often_as_they_occur_and_hold_a_letter() -> None:
    made = random_insertions(instance("a b c d"), ONE, WORDS, count=5000, seed=0)
    shares = Counter(one.text for one in made)
    assert shares["tulip"] == pytest.approx(3000, abs=150)  # 4.3 standard deviations
    assert set(shares) == {"tulip", "lantern", "don't"}


def test_function_words_are_drawn_only_beside_edits_of_nothing_else() -> None:
    words = ("The", "the", "tulip", "of", "lantern", ".")
    for like, expected in (
        ((("boat",),), {"tulip", "lantern"}),
        ((("The", "boat"),), {"tulip", "lantern"}),
        ((), {"tulip", "lantern"}),
        ((("Of", "the"),), {"The", "the", "of"}),
    ):
        made = random_insertions(instance("a b c d"), like, words, count=60, seed=0, stops={"the", "of"})
        assert {word for one in made for word in one.words} == expected
        assert {len(one.words) for one in made} == {len(like[0]) if like else 1}
    assert random_insertions(instance("a b"), (("of",),), ("tulip",), count=3, seed=0, stops={"of"}) == ()


def test_every_place_of_every_part_that_may_be_edited_comes_up() -> None:
    given = instance("One two.", "three four", "", "!")
    made = random_insertions(given, ONE, WORDS, count=400, seed=0)
    assert {(one.part, one.position) for one in made} == {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (3, 0)}
    assert {one.part for one in random_insertions(given, ONE, WORDS, count=50, seed=0, parts=(1, 2))} == {1}
    for one in made:
        assert one.apply(given).parts[one.part].words[one.position] == one.text


def test_a_text_can_go_on_at_its_end_unless_a_full_stop_closes_it() -> None:
    assert [places(instance(text).parts[0]) for text in ("One two.", "One two", "")] == [3, 3, 0]


def test_seed_and_text_decide_alone() -> None:
    def drawn(text: str, seed: int) -> tuple[object, ...]:
        return random_insertions(instance(text, name=text[::-1]), ONE_TWO, WORDS, count=6, seed=seed)

    assert drawn("a b c d", 0) == drawn("a b c d", 0)
    assert drawn("a b c d", 0) != drawn("a b c d", 1)
    assert drawn("a b c d", 0) != drawn("a b c e", 0)


@pytest.mark.parametrize(("parts", "words"), [((0,), ()), ((0,), (".", "9")), ((1,), WORDS)])
def test_where_there_is_no_word_or_no_place_there_is_no_edit(parts: tuple[int, ...], words: tuple[str, ...]) -> None:
    assert random_insertions(instance("a b", ""), ONE, words, count=4, seed=0, parts=parts) == ()
