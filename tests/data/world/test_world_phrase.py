"""Sentences know where their words stand and what they say."""

from __future__ import annotations

from verax.data.world.phrase import marked, plain, sentence
from verax.types import Span


def test_a_sentence_sets_capitals_and_punctuation_and_finds_its_marks() -> None:
    silent = frozenset({"in", "the"})
    told = sentence(
        plain("the")
        + marked("dog", "kind", silent)
        + plain("is")
        + marked("not", "place", silent)
        + marked("in the kitchen", "place", silent)
        + plain(". it is")
        + marked("kitchen", "place", silent)
        + plain(", too .")
    )
    assert told.text.raw == "The dog is not in the kitchen. It is kitchen, too."
    assert told.text.words[:3] == ("The", "dog", "is")
    assert told.spans("place", 1) == (Span(1, 3, 7), Span(1, 10, 11))
    assert told.carriers(["place"]) == (3, 6, 10)
    assert told.carriers(["kind", "place"]) == (1, 3, 6, 10)
    assert told.spans("nowhere", 0) == ()


def test_marks_may_be_kept_in_those_sentences_alone_that_speak_of_something() -> None:
    silent: frozenset[str] = frozenset()
    dog, place, wet = (marked(word, word, silent) for word in ("dog", "here", "wet"))
    told = sentence(dog + place + plain(".") + dog + wet + plain(".") + dog + plain("."))
    only = told.in_sentences_of(["wet"])
    assert only.text == told.text
    assert only.spans("dog", 0) == (Span(0, 3, 4),)
    assert only.spans("wet", 0) == (Span(0, 4, 5),)
    assert only.spans("here", 0) == ()
