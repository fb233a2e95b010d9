"""Which label an answer in words names."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.models.endpoint_choice import ask_for_label, parse_label
from verax.models.generator import ChoicePass, GeneratePass, Prompt
from verax.types import Undefined

NLI = ("entailment", "neutral", "contradiction")
YES_NO = ("yes", "no")
LETTERS = ("A", "B", "C", "D", "E")


@pytest.mark.parametrize(
    ("text", "labels", "label"),
    [
        ("neutral", NLI, "neutral"),
        ("  Neutral.\n", NLI, "neutral"),
        ("**CONTRADICTION**", NLI, "contradiction"),
        ('"entailment"', NLI, "entailment"),
        ("The answer is entailment, because it rains.", NLI, "entailment"),
        ("Answer: Neutral. I say neutral since nothing is known.", NLI, "neutral"),
        ("It does not say who sails. Neutral", NLI, "neutral"),
        ("It's not clear, neutral", NLI, "neutral"),
        ("no", YES_NO, "no"),
        ("No, she does not.", YES_NO, "no"),
        ("I know nothing; yes", YES_NO, "yes"),
        ("not entailed", ("entailed", "not entailed"), "not entailed"),
        ("It is not entailed by that.", ("entailed", "not entailed"), "not entailed"),
        ("entailed", ("entailed", "not entailed"), "entailed"),
        ("die Antwort ist JA", ("ja", "nein"), "ja"),
        ("उत्तर हाँ है", ("हाँ", "नहीं"), "हाँ"),
        ("C++", ("C", "C++"), "C++"),
        ("STRASSE", ("straße", "weg"), "straße"),
        ("The sentence of the first man makes no sense", ("first", "second"), "first"),
        ("(b)", ("a", "b", "c"), "b"),
        ("B", LETTERS, "B"),
        ("**A.**", LETTERS, "A"),
        ("A. library", LETTERS, "A"),
        ("B) a box", LETTERS, "B"),
        ("**C**: a dog, not a cat", LETTERS, "C"),
        ("Answer: (C) a box", LETTERS, "C"),
        ("It must be (D), for a dog is a pet.", LETTERS, "D"),
        ("The correct answer is **E** because a box is none.", LETTERS, "E"),
        ("Answer: A", LETTERS, "A"),
        ("**Answer:** A\nA library has books.", LETTERS, "A"),
        ("I would take option A here", LETTERS, "A"),
        ("The answer is C++", ("C", "C++"), "C++"),
    ],
)
def test_a_label_that_is_named_is_found(text: str, labels: tuple[str, ...], label: str) -> None:
    assert parse_label(text, labels) == label


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("entailment or neutral", NLI),
        ("I can't tell.", NLI),
        ("neutrality", NLI),
        ("It is not a contradiction", NLI),
        ("This isn't really neutral.", NLI),
        ("Neither entailment nor the others", NLI),
        ("It is never neutral", NLI),
        ("not no", YES_NO),
        ("yesterday", YES_NO),
        ("", YES_NO),
        ("The best choice is a library.", LETTERS),
        ("It is a dog", LETTERS),
        ("A dog has four legs", LETTERS),
        ("Answer: A library", LETTERS),
        ("The answer is a library", LETTERS),
        ("a", LETTERS),
        ("(a) box", LETTERS),
        ("A.M. or P.M.", LETTERS),
        ("(A) or (B)", LETTERS),
        ("I do not think the answer is A", LETTERS),
        ("It is not (A)", LETTERS),
        ("हाँजी", ("हाँ", "नहीं")),
        ("नहीं में हाँ", ("हाँ", "नहीं")),
    ],
)
def test_what_names_no_label_or_several_is_not_guessed(text: str, labels: tuple[str, ...]) -> None:
    with pytest.raises(Undefined) as raised:
        parse_label(text, labels)
    assert raised.value.reason == "unparsed_answer"


@given(st.text(), st.lists(st.text(min_size=1), min_size=2, max_size=4, unique=True))
def test_an_answer_gives_one_of_the_labels_or_none(text: str, labels: list[str]) -> None:
    with suppress(Undefined):
        assert parse_label(text, labels) in labels


def test_the_question_names_the_labels_behind_the_prompt() -> None:
    asked = ask_for_label(ChoicePass(Prompt("Is it so?\n", system="Think."), NLI, max_new_tokens=5))
    assert isinstance(asked, GeneratePass)
    assert asked.prompt.system == "Think."
    assert asked.prompt.user.startswith("Is it so?\n\nAnswer")
    assert asked.prompt.user.endswith(": entailment, neutral, contradiction")
    assert (asked.max_new_tokens, asked.temperature) == (5, 0.0)
