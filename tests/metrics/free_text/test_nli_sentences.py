"""A sentence for each template, with the inference that somebody who writes it has in mind."""

from __future__ import annotations

import pytest

from verax.metrics.free_text.nli import read_nli
from verax.metrics.free_text.nli_templates import NLI_TEMPLATES

NEUTRAL = (
    ("Just because he smiles does not mean he is happy", "he smiles", "he is happy"),
    ("The fact that he smiles does not imply he is happy", "he smiles", "he is happy"),
    ("Even if he smiles, it does not mean that he is happy", "he smiles", "he is happy"),
    ("He smiles but that does not always mean he is happy", "He smiles", "he is happy"),
    ("He smiles doesn't entail that he is happy", "He smiles", "he is happy"),
    ("One cannot conclude from he smiles that he is happy", "he smiles", "he is happy"),
    ("You cannot assume he is happy simply because he smiles", "he smiles", "he is happy"),
    ("He smiles does not guarantee that he is happy", "He smiles", "he is happy"),
    ("She sings doesn't tell us whether she is sad", "She sings", "she is sad"),
    ("He smiles is no reason to believe that he is happy", "He smiles", "he is happy"),
    ("It does not follow from he smiles that he is happy", "he smiles", "he is happy"),
    ("He is happy does not necessarily follow from he smiles", "he smiles", "He is happy"),
    ("A nurse sings, but it is unclear whether she is leaving", "A nurse sings", "she is leaving"),
    ("Even though a nurse sings, it is not known if she is leaving", "a nurse sings", "she is leaving"),
    ("A nurse sings leaves it open whether she is leaving", "A nurse sings", "she is leaving"),
    ("A nurse sings regardless of whether she is leaving", "A nurse sings", "she is leaving"),
    ("A nurse sings, but maybe not because she is leaving", "A nurse sings", "she is leaving"),
    ("The nurse might be waving rather than swimming", "The nurse is waving", "The nurse is swimming"),
    ("Not all men are tall", "there are men", "men are tall"),
    ("Not every cook is tall", "there is a cook", "a cook is tall"),
    ("A man riding a bike is not necessarily racing", "A man riding a bike", "A man riding a bike is racing"),
    ("Two cooks do not have to be brothers", "there are Two cooks", "Two cooks are brothers"),
)
CONTRADICTION = (
    ("She sleeps and she runs are not the same thing", "She sleeps", "she runs"),
    ("It is impossible that she sleeps and that she runs at the same time", "she sleeps", "she runs"),
    ("She sleeps and she runs can not both be true", "She sleeps", "she runs"),
    ("If she sleeps, then it can not be true that she runs", "she sleeps", "she runs"),
    ("She sleeps, so it is not true that she runs", "She sleeps", "she runs"),
    ("The nurse can't be sleeping and running at once", "The nurse is sleeping", "The nurse is running"),
    ("The nurses can't simultaneously be asleep and awake", "The nurses are asleep", "The nurses are awake"),
    ("The nurse can't sleep and run simultaneously", "The nurse sleeps", "The nurse runs"),
    ("The nurses can not both sleep and run", "The nurses sleep", "The nurses run"),
    ("The nurse cannot be asleep if she runs", "she runs", "The nurse is asleep"),
    ("The nurse can't be sleeping while also running", "The nurse is sleeping", "The nurse is running"),
    ("The nurse can't be sleeping while her son is running", "The nurse is sleeping", "her son is running"),
    ("The nurse can't sleep when she runs", "she runs", "The nurse sleeps"),
    ("The nurse can't sleep while running", "The nurse sleeps", "The nurse is running"),
    ("If the nurse runs then she isn't asleep", "the nurse runs", "she is asleep"),
    ("When the nurse runs, she does not sleep", "the nurse runs", "she sleeps"),
    ("The nurse runs, so she is not asleep", "The nurse runs", "she is asleep"),
    ("The nurse runs therefore she cannot sleep", "The nurse runs", "she sleeps"),
    ("Either the nurse is running or sleeping", "the nurse is running", "the nurse is sleeping"),
    ("The nurse must be either running or asleep", "The nurse is running", "The nurse is asleep"),
    ("The nurse can either be running or asleep", "The nurse is running", "The nurse is asleep"),
    ("Either the nurse runs or her son sleeps", "the nurse runs", "her son sleeps"),
    ("The nurse either runs or sleeps", "The nurse runs", "The nurse sleeps"),
    ("She sleeps and she runs are two different things", "She sleeps", "she runs"),
    ("She sleeps and she runs contradict each other", "She sleeps", "she runs"),
    ("She sleeps is completely different from she runs", "She sleeps", "she runs"),
    ("She sleeps is not the same as she runs", "She sleeps", "she runs"),
    ("She sleeps is the opposite of she runs", "She sleeps", "she runs"),
    ("She runs contradicts the claim that she sleeps", "she sleeps", "She runs"),
    ("She sleeps rules out that she runs", "She sleeps", "she runs"),
    ("One says the nurse runs while the other says she sleeps", "the nurse runs", "she sleeps"),
    ("The nurse runs as opposed to she sleeps", "The nurse runs", "she sleeps"),
    ("The nurse runs, whereas her son sleeps", "The nurse runs", "her son sleeps"),
    ("A girl is not a woman", "there is A girl", "there is a woman"),
)
ENTAILMENT = (
    ("The boat sank and the boat went down mean the same", "The boat sank", "the boat went down"),
    ("The boat sank is the same as saying that it went down", "The boat sank", "it went down"),
    ("It went down is just another way to say the boat sank", "the boat sank", "It went down"),
    ("It went down is a paraphrase of the boat sank", "the boat sank", "It went down"),
    ("The boat sank can be restated as it went down", "The boat sank", "it went down"),
    ("The boat sank is equivalent to it went down", "The boat sank", "it went down"),
    ("It went down can be inferred from the boat sank", "the boat sank", "It went down"),
    ("From the boat sank it follows that it went down", "the boat sank", "it went down"),
    ("If the boat sank then it went down", "the boat sank", "it went down"),
    ("Given that the boat sank, it went down", "the boat sank", "it went down"),
    ("The boat sank, which means that it went down", "The boat sank", "it went down"),
    ("The boat sank, implying that it went down", "The boat sank", "it went down"),
    ("The boat sank entails that it went down", "The boat sank", "it went down"),
    ("The boat sank means it went down", "The boat sank", "it went down"),
    ("The boat sank shows that it went down", "The boat sank", "it went down"),
    ("The boat sank, and therefore it went down", "The boat sank", "it went down"),
    ("The boat sank so it went down", "The boat sank", "it went down"),
    ("The boat sank is a kind of it went down", "The boat sank", "it went down"),
    ("The boat sank equals it went down", "The boat sank", "it went down"),
    ("It went down because the boat sank", "the boat sank", "It went down"),
    ("Women are people", "there are Women", "there are people"),
)
WRITTEN = {"neutral": NEUTRAL, "contradiction": CONTRADICTION, "entailment": ENTAILMENT}
ROWS = [(label, *row) for label, rows in WRITTEN.items() for row in rows]


@pytest.mark.parametrize(("label", "explanation", "premise", "hypothesis"), ROWS)
def test_a_sentence_is_read_as_it_is_meant(label: str, explanation: str, premise: str, hypothesis: str) -> None:
    reading = read_nli(explanation)
    assert (reading.premise, reading.hypothesis, reading.label) == (premise, hypothesis, label)


def test_there_is_one_for_each_template() -> None:
    read = [read_nli(explanation).template for _, explanation, *_ in ROWS]
    assert sorted(read) == sorted(template.phrase for template in NLI_TEMPLATES)
