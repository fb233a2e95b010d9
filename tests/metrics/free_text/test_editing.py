"""Insertions leave all other words unchanged; random ones resemble the edits they are compared with."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.rigged import insertion_of, instance
from verax.data.text import split_words
from verax.metrics.free_text.editing import Insertion, position_count, random_insertions, spread_evenly
from verax.types import Human, Instance, Span, Text

WORDS = st.lists(st.text("abcö🙂", min_size=1, max_size=5), min_size=1, max_size=3)


def pair(premise: str, hypothesis: str = "It moves.") -> Instance:
    parts = split_words(premise), split_words(hypothesis, "de")
    return Instance("p", parts, "yes", parallel_id="t", human=Human(words=((0,), (0,)), explanations=("so it is",)))


@pytest.mark.parametrize(
    ("premise", "position", "words", "edited"),
    [
        ("A dog runs.", 1, "red", "A red dog runs."),
        ("A dog runs.", 0, "red", "red A dog runs."),
        ("A dog runs.", 3, "so many times", "A dog runs so many times ."),
        ("A dog runs.", 4, "today", "A dog runs. today"),
        ("A (dog) runs", 2, "red", "A (red dog) runs"),
        ('A "dog" runs', 2, "red", 'A "red dog" runs'),
        ("A dog,cat", 3, "red", "A dog, red cat"),
        ("A  dog \n", 1, "semi-formal", "A  semi-formal dog \n"),
        ("", 0, "red", "red"),
    ],
)
def test_words_are_put_in(premise: str, position: int, words: str, edited: str) -> None:
    insertion = insertion_of(0, position, words)
    made = insertion.apply(pair(premise))
    assert made.parts[0].raw == edited
    assert made.parts[1] == pair(premise).parts[1]
    _, start, end = insertion.span
    assert made.parts[0].words[start:end] == tuple(words.split())


@given(st.text(max_size=30), WORDS, st.data())
def test_all_other_words_stay_in_their_order(raw: str, words: list[str], data: st.DataObject) -> None:
    instance = Instance("x", (split_words("first"), split_words(raw)))
    before = instance.parts[1]
    insertion = Insertion(1, data.draw(st.integers(0, len(before.words))), tuple(words))
    after = insertion.apply(instance).parts[1]
    part, start, end = insertion.span
    assert part == 1
    assert after.words[start:end] == tuple(words)
    assert after.words[:start] + after.words[end:] == before.words
    added = len(after.raw) - len(before.raw)
    assert added in {len(insertion.text) + spaces for spaces in range(3)}
    for old, new in zip(before.offsets[start:], after.offsets[end:], strict=True):
        assert (new[0] - old[0], new[1] - old[1]) == (added, added)


def test_nothing_is_claimed_of_the_edited_input() -> None:
    made = Insertion(0, 1, ("red",)).apply(pair("A dog runs."))
    assert (made.label, made.parallel_id, made.human) == (None, None, None)
    assert made.id == "p+0.1:red"
    assert made.parts[1].lang == "de"


def test_a_text_keeps_its_language_and_its_odd_words() -> None:
    text = Text("ab cd", ("a", "b", "cd"), ((0, 1), (1, 2), (3, 5)), "fr")
    made = Insertion(0, 1, ("x",)).apply(Instance("i", (text,))).parts[0]
    assert made == Text("a x b cd", ("a", "x", "b", "cd"), ((0, 1), (2, 3), (4, 5), (6, 8)), "fr")


def test_an_insertion_knows_its_words() -> None:
    insertion = insertion_of(1, 2, "so many times")
    assert insertion == Insertion(1, 2, ("so", "many", "times"))
    assert (insertion.text, insertion.span) == ("so many times", Span(1, 2, 5))


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: Insertion(0, 0, ()), "needs words"),
        (lambda: Insertion(0, 0, ("a", " ")), "needs words"),
        (lambda: Insertion(2, 0, ("a",)).apply(pair("x")), "no part 2"),
        (lambda: Insertion(0, 2, ("a",)).apply(pair("x")), "no position 2"),
        (lambda: Insertion(0, -1, ("a",)).apply(pair("x")), "no position -1"),
    ],
)
def test_what_has_no_place_is_refused(made: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        made()  # type: ignore[operator]


ONE, ONE_TWO = (("x",),), (("x",), ("x", "y"))
VOCABULARY = ("tulip", "tulip", "tulip", "lantern", ".", "9", "don't")


def test_lengths_come_in_turn() -> None:
    made = random_insertions(instance("a b c d"), (("x",), ("x", "y", "z"), ("x", "y")), VOCABULARY, count=7, seed=0)
    assert [len(one.words) for one in made] == [1, 3, 2, 1, 3, 2, 1]


def test_words_come_up_as_often_as_they_occur_and_hold_a_letter() -> None:
    made = random_insertions(instance("a b c d"), ONE, VOCABULARY, count=5000, seed=0)
    shares = Counter(one.text for one in made)
    assert shares["tulip"] == pytest.approx(3000, abs=150)  # 4.3 standard deviations
    assert set(shares) == {"tulip", "lantern", "don't"}


def test_a_function_word_is_drawn_for_each_function_word_of_an_edit() -> None:
    words = ("The", "the", "tulip", "of", "lantern", ".")
    for like, expected in (
        ((("boat",),), {"tulip", "lantern"}),
        ((("The", "boat"),), {"The", "the", "of", "tulip", "lantern"}),
        ((), {"tulip", "lantern"}),
        ((("Of", "the"),), {"The", "the", "of"}),
    ):
        made = random_insertions(instance("a b c d"), like, words, count=60, seed=0, stops={"the", "of"})
        assert {word for one in made for word in one.words} == expected
        kinds = tuple(word.lower() in {"the", "of"} for word in (like[0] if like else ("boat",)))
        assert {tuple(word.lower() in {"the", "of"} for word in one.words) for one in made} == {kinds}
    assert random_insertions(instance("a b"), (("of",),), ("tulip",), count=3, seed=0, stops={"of"}) == ()


@pytest.mark.parametrize("count", range(13))
def test_positions_are_spread_evenly_however_few_are_taken(count: int) -> None:
    positions = {"a": [4, 1, 7], "b": [2], "c": [0, 9, 8, 3, 5]}
    for seed in range(20):
        order = spread_evenly(positions, np.random.default_rng(seed))
        assert sorted(order) == sorted((name, at) for name, several in positions.items() for at in several)
        taken = Counter(name for name, _ in order[:count])
        assert {name: [at for one, at in order if one == name] for name in positions} == positions
        open_ones = [name for name, several in positions.items() if taken[name] < len(several)]
        assert all(taken[name] + 1 >= max(taken.values(), default=0) for name in open_ones)
    first = Counter(spread_evenly(positions, np.random.default_rng(seed))[0][0] for seed in range(300))
    assert all(70 <= first[name] <= 130 for name in positions)  # 100 expected, standard deviation 8


def test_every_place_of_every_part_that_may_be_edited_comes_up() -> None:
    given = instance("One two.", "three four", "", "!")
    made = random_insertions(given, ONE, VOCABULARY, count=400, seed=0)
    assert {(one.part, one.position) for one in made} == {(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (3, 0)}
    assert {one.part for one in random_insertions(given, ONE, VOCABULARY, count=50, seed=0, parts=(1, 2))} == {1}
    for one in made:
        assert one.apply(given).parts[one.part].words[one.position] == one.text


def test_a_text_can_go_on_at_its_end_unless_a_full_stop_closes_it() -> None:
    assert [position_count(instance(text).parts[0]) for text in ("One two.", "One two", "")] == [3, 3, 0]


def test_seed_and_text_decide_alone() -> None:
    def drawn(text: str, seed: int) -> tuple[object, ...]:
        return random_insertions(instance(text, name=text[::-1]), ONE_TWO, VOCABULARY, count=6, seed=seed)

    assert drawn("a b c d", 0) == drawn("a b c d", 0)
    assert drawn("a b c d", 0) != drawn("a b c d", 1)
    assert drawn("a b c d", 0) != drawn("a b c e", 0)


@pytest.mark.parametrize(("parts", "words"), [((0,), ()), ((0,), (".", "9")), ((1,), VOCABULARY)])
def test_where_there_is_no_word_or_no_place_there_is_no_edit(parts: tuple[int, ...], words: tuple[str, ...]) -> None:
    assert random_insertions(instance("a b", ""), ONE, words, count=4, seed=0, parts=parts) == ()
