"""An edit leaves every other word as it was, and says where its own are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.data.text import split_words
from verax.metrics.free_text.insertion import Insertion
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
    insertion = Insertion.of(0, position, words)
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
    insertion = Insertion.of(1, 2, "so many times")
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
