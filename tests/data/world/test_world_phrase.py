"""Tagged texts: capitals, punctuation, spans and content words."""

from __future__ import annotations

from verax.data.world.phrase import as_text, plain, tagged
from verax.types import Span


def test_a_text_has_capitals_and_punctuation_and_finds_its_tags() -> None:
    function_words = frozenset({"in", "the"})
    text = as_text(
        plain("the")
        + tagged("dog", "kind", function_words)
        + plain("is")
        + tagged("not", "place", function_words)
        + tagged("in the kitchen", "place", function_words)
        + plain(". it is")
        + tagged("kitchen", "place", function_words)
        + plain(", too .")
    )
    assert text.text.raw == "The dog is not in the kitchen. It is kitchen, too."
    assert text.text.words[:3] == ("The", "dog", "is")
    assert text.spans("place", 1) == (Span(1, 3, 7), Span(1, 10, 11))
    assert text.content_words(["place"]) == (3, 6, 10)
    assert text.content_words(["kind", "place"]) == (1, 3, 6, 10)
    assert text.spans("nowhere", 0) == ()


def test_tags_can_be_restricted_to_the_sentences_with_a_tag() -> None:
    dog, place, wet = (tagged(word, word, frozenset()) for word in ("dog", "here", "wet"))
    text = as_text(dog + place + plain(".") + dog + wet + plain(".") + dog + plain("."))
    near = text.tagged_only_near(["wet"])
    assert near.text == text.text
    assert near.spans("dog", 0) == (Span(0, 3, 4),)
    assert near.spans("wet", 0) == (Span(0, 4, 5),)
    assert near.spans("here", 0) == ()
