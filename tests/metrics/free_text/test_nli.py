"""Explanations as people write them: what is read from them, and why nothing is."""

from __future__ import annotations

import contextlib
import time

import pytest

from verax.metrics.free_text import nli_statements
from verax.metrics.free_text.nli import normalised_sentences, read_nli, templates_provenance
from verax.types import Undefined

N, C, E = "neutral", "contradiction", "entailment"


@pytest.mark.parametrize(
    ("explanation", "premise", "hypothesis", "label"),
    [
        ("Just because a cook wears a hat doesn't mean it is raining.", "a cook wears a hat", "it is raining", N),
        ("just because a cook wears a hat, it does n't imply that it rains", "a cook wears a hat", "it rains", N),
        ("A cook smiles does not necessarily mean that he is happy", "A cook smiles", "he is happy", N),
        ("We can't know if he is happy just because he smiles", "he smiles", "he is happy", N),
        ("Because the cook smiles implies that he is happy", "the cook smiles", "he is happy", E),
        ("Since the cook smiles, he is happy.", "the cook smiles", "he is happy", E),
        ("If the cook “smiles”, then he is happy!", "the cook smiles", "he is happy", E),
        ("The cook is happy because he smiles", "he smiles", "The cook is happy", E),
        ("The cook smiles; so what? If it rains then the roof is wet.", "it rains", "the roof is wet", E),
        ("The roof is wet is a rephrasing of rain made it wet", "rain made it wet", "The roof is wet", E),
        ("The cook cannot be sleeping and cooking at the same time.", "The cook is sleeping", "The cook is cooking", C),
        ("Two cooks ca n't be sleeping while cooking", "Two cooks are sleeping", "Two cooks are cooking", C),
        ("Tom and Ann can't be both here and there", "Tom and Ann are here", "Tom and Ann are there", C),
        ("They can not be asleep and awake at once", "They are asleep", "They are awake", C),
        ("I can not be asleep and awake at once", "I am asleep", "I am awake", C),
        ("A cook can't have two hats and carry a pan simultaneously", "A cook has two hats", "A cook carries a pan", C),
        ("A cook can't also be asleep if he is cooking", "he is cooking", "A cook is asleep", C),
        ("Either the cook is asleep or the kitchen is on fire", "the cook is asleep", "the kitchen is on fire", C),
        ("If he sleeps, he isnt cooking", "he sleeps", "he is cooking", C),
        ("Mr. Brown sleeps implies that Mr. Brown rests.", "Mr. Brown sleeps", "Mr. Brown rests", E),
        ("On Monday, the cook rests means the cook is free", "On Monday, the cook rests", "the cook is free", E),
    ],
)  # fmt: skip
def test_explanations_are_taken_apart(explanation: str, premise: str, hypothesis: str, label: str) -> None:
    reading = read_nli(explanation)
    assert (reading.premise, reading.hypothesis, reading.label) == (premise, hypothesis, label)


@pytest.mark.parametrize(
    ("explanation", "reason"),
    [
        ("The cook sleeps.", "no_template"),
        ("", "empty"),
        (" . !", "empty"),
        ("He smiles does not mean rain", "no_subject"),
        ("The cook smiles implies happiness", "no_subject"),
        ("Women are people and playing implies that they run", "no_statement"),
        ("They are either waiting for a train or a bus", "no_statement"),
    ],
)
def test_what_can_not_be_read_has_a_reason(explanation: str, reason: str) -> None:
    with pytest.raises(Undefined) as caught:
        read_nli(explanation)
    assert caught.value.reason == reason


def test_a_half_without_a_verb_has_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nli_statements, "lacks", lambda tokens: "verb" if tokens[-1].text == "homes" else None)
    with pytest.raises(Undefined, match="no_verb: hypothesis 'he homes'"):
        read_nli("it rains implies he homes")


def test_the_half_that_is_no_statement_is_told() -> None:
    with pytest.raises(Undefined, match="no_subject: hypothesis 'happiness', by the template"):
        read_nli("The cook smiles implies happiness")


@pytest.mark.parametrize(
    ("written", "full"),
    [
        ("can't", "can not"),
        ("can’t", "can not"),
        ("ca n't", "can not"),
        ("cannot", "can not"),
        ("cant", "can not"),
        ("can 't", "can not"),
        ("won't", "will not"),
        ("doesn't", "does not"),
        ("doesnt", "does not"),
        ("is n't", "is not"),
        ("arent", "are not"),
        ("canteen", "canteen"),
        ("pants", "pants"),
    ],
)
def test_contractions_are_written_in_full(written: str, full: str) -> None:
    assert [sentence.text for sentence in normalised_sentences(f"It {written} go")] == [f" It {full} go "]


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("`` A '' , [ b ] . \n C; d", ["A , b", "C", "d"]),
        ("It rains.\nIt pours", ["It rains", "It pours"]),
        ("At 3 p.m. it rains.", ["At 3 p.m. it rains"]),
        ("It costs 3.50 . Really", ["It costs 3.50", "Really"]),
        ("Because it rains", ["it rains", "Because it rains"]),
        ("because", ["because"]),
    ],
)
def test_sentences_are_found(text: str, sentences: list[str]) -> None:
    assert [sentence.text.strip() for sentence in normalised_sentences(text)] == sentences


def test_a_template_that_stands_earlier_is_taken_wherever_its_sentence_stands() -> None:
    reading = read_nli("Rain implies wind. Just because it rains does not mean it storms.")
    assert reading.template.startswith("just because")
    assert (reading.premise, reading.hypothesis) == ("it rains", "it storms")


PAIR = ("A man is jumping off steps.", "The man is sleeping on a bench.")


@pytest.mark.parametrize(
    ("explanation", "parts", "premise", "hypothesis"),
    [
        # the half with more words of the premise is the premise
        ("The man can not be sleeping and jumping at once", PAIR, "The man is jumping", "The man is sleeping"),
        ("The man can not be sleeping and jumping at once", (), "The man is sleeping", "The man is jumping"),
        # a root noun is a subject
        ("A child jumping off steps does not mean he plays", (), "A child jumping off steps", "he plays"),
        # a half without a subject takes that of the other half, or of the premise
        ("jumping off steps does not mean the man is happy", PAIR, "the man is jumping off steps", "the man is happy"),
        ("jumping implies moving", PAIR, "a man is jumping", "a man is moving"),
        (
            "the man is either reading a book or a paper",
            PAIR,
            "the man is reading a book",
            "the man is reading a paper",
        ),
        ("man is different from bench", ("A man runs.", "There is a bench."), "there is a man", "there is a bench"),
    ],
)
def test_the_input_decides_the_order_and_completes_a_half(
    explanation: str, parts: tuple[str, ...], premise: str, hypothesis: str
) -> None:
    reading = read_nli(explanation, parts)
    assert (reading.premise, reading.hypothesis) == (premise, hypothesis)


def test_what_decides_a_reading_is_told() -> None:
    told = templates_provenance()
    assert told["templates"].startswith("nli ")
    assert told["pipeline"].startswith("en_core_web_sm")


@pytest.mark.parametrize(
    "text", ["does not mean " * 4000, "' " * 20000, "can " * 20000, ". " * 20000, " " * 50000 + "x"]
)
def test_garbage_is_read_in_linear_time(text: str) -> None:
    begun = time.process_time()
    with contextlib.suppress(Undefined):
        read_nli(text)
    assert time.process_time() - begun < 5
