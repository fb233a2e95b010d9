"""Which label an answer in words names."""

from __future__ import annotations

from contextlib import suppress
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.models.endpoint.choice import label_by_tops, parse_label, read_choice, text_request
from verax.models.generator import ChoicePass, ChosenLabel, GeneratePass, Prompt
from verax.types import Finish, Generated, Undefined

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
    asked = text_request(ChoicePass(Prompt("Is it so?\n", system="Think."), NLI, max_new_tokens=5))
    assert isinstance(asked, GeneratePass)
    assert asked.prompt.system == "Think."
    assert asked.prompt.user.startswith("Is it so?\n\nAnswer")
    assert asked.prompt.user.endswith(": entailment, neutral, contradiction")
    assert (asked.max_new_tokens, asked.temperature) == (5, 0.0)


CUT_OFF = (
    ("To decide whether this is a contradiction, we need to look at", NLI, None),
    ("<b>If the hypothesis is an entailment of the", NLI, None),
    ("First, let me think about which of the two sentences", ("first", "second"), None),
    ("neutral", NLI, "neutral"),
    ("**Neutral**\n\nThe premise does not say", NLI, "neutral"),
    ("Contradiction. The premise says", NLI, "contradiction"),
    ("The answer is neutral. A man who", NLI, "neutral"),
    ('Answer: "Entailment"\nsince the', NLI, "entailment"),
    ("(B) a box, for a box is", LETTERS, None),
    ("The answer is B. A box is", LETTERS, "B"),
    ("B: a box is where", LETTERS, "B"),
)


@pytest.mark.parametrize(("text", "labels", "label"), CUT_OFF)
def test_an_answer_that_was_cut_off_names_a_label_only_if_that_stands_by_itself(
    text: str, labels: tuple[str, ...], label: str | None
) -> None:
    answer = Generated(text, "length", 32)
    if label is None:
        with pytest.raises(Undefined, match="unparsed_answer"):
            read_choice(answer, labels)
    else:
        assert read_choice(answer, labels) == ChosenLabel(label, "parsed")


@pytest.mark.parametrize(
    ("tops", "labels", "found"),
    [
        ({"neut": 0.5, "ent": 0.3}, NLI, (0.375, 0.625, 0.0)),
        ({" Ent": 0.2, "ent": 0.2, "Neutral": 0.3, "The": 0.3}, NLI, (4 / 7, 3 / 7, 0.0)),
        ({"contr": 0.5, "The": 0.4}, NLI, (0.0, 0.0, 1.0)),
        ({"contr": 0.5, "The": 0.5}, NLI, None),
        ({"The": 0.9, "contr": 0.01}, NLI, None),
        ({"**Neutral": 0.6, "Neutral.": 0.1, "entailment,": 0.3}, NLI, (0.3, 0.7, 0.0)),
        ({"A": 0.4, "a": 0.2, "An": 0.1, "B": 0.1}, LETTERS, (0.8, 0.2, 0.0, 0.0, 0.0)),
        ({"now": 0.1, "no": 0.4, "yes": 0.2, "y": 0.3}, YES_NO, (1 / 3, 2 / 3)),
        ({"not": 0.6, "ent": 0.3}, ("entailed", "not entailed"), (1 / 3, 2 / 3)),
        ({"In": 0.1, "Cor": 0.9}, ("correct", "incorrect"), (1.0, 0.0)),
        ({"In": 0.9, "Cor": 0.1}, ("correct", "incorrect"), None),
        # what may be the beginning of both decides nothing, unless it could not turn the choice
        ({"not": 0.3, "not s": 0.2, "not e": 0.1}, ("not sure", "not entailed"), None),
        ({"not": 0.05, "not s": 0.3, "not e": 0.1}, ("not sure", "not entailed"), (0.75, 0.25)),
        ({"neu": 0.3, "ent": 0.3}, NLI, None),
        ({"The": 0.9, "": 0.05, " ": 0.05}, NLI, None),
        ({}, NLI, None),
    ],
)
def test_the_likeliest_first_tokens_give_a_label(
    tops: dict[str, float], labels: tuple[str, ...], found: tuple[float, ...] | None
) -> None:
    choice = label_by_tops(shares(tops), labels)
    if found is None:
        assert choice is None
    else:
        assert choice is not None
        assert (choice.label, choice.label_source) == (labels[found.index(max(found))], "first_token")
        assert choice.probabilities == pytest.approx(found, abs=1e-12)


def shares(tops: dict[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple((token, log(share)) for token, share in tops.items())


@pytest.mark.parametrize(
    ("text", "tops", "choice"),
    [
        ("Entailed.", {" Ent": 0.7, "The": 0.2}, ChosenLabel("entailment", "first_token", (1.0, 0.0, 0.0))),
        ("Neutral.", {"Neut": 0.6, "Ent": 0.3}, ChosenLabel("neutral", "first_token", (1 / 3, 2 / 3, 0.0))),
        ("It is neutral.", {"It": 0.7, "neut": 0.2}, ChosenLabel("neutral", "parsed")),
        ("It is neutral.", {"It": 0.2, "ent": 0.7}, ChosenLabel("neutral", "parsed")),
        ("It is neutral.", {"It": 0.7}, ChosenLabel("neutral", "parsed")),
        ("neutral", {}, ChosenLabel("neutral", "parsed")),
    ],
)
def test_what_is_written_has_the_last_word(text: str, tops: dict[str, float], choice: ChosenLabel) -> None:
    found = read_choice(Generated(text, "stop", 8, shares(tops)), NLI)
    assert (found.label, found.label_source) == (choice.label, choice.label_source)
    assert found.probabilities == pytest.approx(choice.probabilities, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "finish"),
    [
        ("It is not neutral.", "stop"),
        ("Either neutral or contradiction.", "stop"),
        ("Neutral it may be, if", "length"),
        ("I can't say.", "stop"),
    ],
)
def test_first_tokens_do_not_overrule_what_is_denied_left_open_or_cut_off(text: str, finish: Finish) -> None:
    few = {"It": 0.7, "neut": 0.2} if text == "I can't say." else {"neut": 0.7}
    with pytest.raises(Undefined, match="unparsed_answer"):
        read_choice(Generated(text, finish, 8, shares(few)), NLI)


def test_where_neither_says_anything_there_is_no_label() -> None:
    with pytest.raises(Undefined, match="unparsed_answer"):
        read_choice(Generated("Who knows?", "stop", 3, ((" Who", -0.1),)), NLI)


@given(st.lists(st.tuples(st.text(max_size=4), st.floats(-700, 0)), max_size=8))
def test_any_first_tokens_give_a_label_with_the_highest_probability_or_none(tops: list[tuple[str, float]]) -> None:
    choice = label_by_tops(tops, NLI)
    if choice is not None:
        assert sum(choice.probabilities) == pytest.approx(1)
        assert choice.probabilities[NLI.index(choice.label)] == max(choice.probabilities)
