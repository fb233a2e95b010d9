"""The opinion task: labels by its stated rule, gold words that decide, no short cut through counting words."""

from __future__ import annotations

import re

import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from verax.data.world import opinion
from verax.data.world.opinion import LEXICON, OTHERS
from verax.types import Dataset

PRAISE, BLAME = ({word for words in LEXICON.values() for word in words[positive]} for positive in (True, False))
TURNS = ("not", "never", "hardly", "far from", "anything but", "no means", "no way", "disagree")


@pytest.fixture(scope="module")
def train() -> Dataset:
    return opinion.load("train", 6000)


@pytest.mark.parametrize(("ngrams", "highest"), [((1, 1), 0.65), ((1, 2), 0.8)])
def test_counting_words_does_not_tell_the_label(train: Dataset, ngrams: tuple[int, int], highest: float) -> None:
    test = opinion.load("test")
    counts = CountVectorizer(ngram_range=ngrams)
    model = LogisticRegression(max_iter=2000)
    model.fit(counts.fit_transform(i.parts[0].raw for i in train.instances), [i.label for i in train.instances])
    found = model.score(counts.transform(i.parts[0].raw for i in test.instances), [i.label for i in test.instances])
    assert found < highest


def _deciding(raw: str) -> str:
    """The clause that decides, by the rule in the docs, found by its words alone."""
    text = raw.lower().removesuffix(".")
    if re.search(r"\b(agree|disagree)$", text):
        return text
    if re.search(r"\banything but\b", text):
        text = text.replace("anything but", "anything_but")
    clauses = re.split(r", and |, while |\. |, (?=but |yet |though |even though |although )", text)
    if re.match(r"(although|though|even though|despite|in spite of) ", text):
        return text.split(", ", 1)[1]
    clauses = [clause for clause in clauses if not re.match(r"(although|though|even though|despite) ", clause)]
    clauses = [re.split(r" (?:despite|in spite of) ", clause)[0] for clause in clauses]
    own = [c for c in clauses if not any(re.match(rf"(but )?{holder} ", c) for holder in OTHERS)]
    later = [c for c in own if re.match(r"(but|yet) ", c)]
    judged = [c for c in (later or own) if set(c.split()) & (PRAISE | BLAME)]
    assert len(judged) == 1, (raw, judged)
    return judged[0].removeprefix("but ").removeprefix("yet ")


def _amounts_to_praise(clause: str) -> bool:
    """What the one evaluating word of a clause amounts to, with its negation."""
    words = set(re.findall(r"\w+", clause))
    praised, blamed = words & PRAISE, words & BLAME
    assert len(praised) + len(blamed) == 1, clause
    return bool(praised) != any(re.search(rf"\b{turn}\b", clause) for turn in TURNS)


def test_a_reader_of_the_rule_finds_every_label(train: Dataset) -> None:
    for instance in train.instances[:3000]:
        clause = _deciding(instance.parts[0].raw).replace("anything_but", "anything but")
        assert _amounts_to_praise(clause) == (instance.label == "positive"), instance.parts[0].raw


def test_what_is_conceded_speaks_against_the_label(train: Dataset) -> None:
    seen = 0
    for instance in train.instances[:3000]:
        text = instance.parts[0].raw.lower().removesuffix(".")
        if re.search(r"\b(although|though|despite|in spite|yet)\b", text):
            clause = _deciding(instance.parts[0].raw).replace("anything_but", "anything but")
            assert _amounts_to_praise(text.replace(clause, "")) == (instance.label == "negative"), text
            seen += 1
    assert seen > 1000


def test_the_explanation_tells_of_every_turn(train: Dataset) -> None:
    for instance in train.instances[:1000]:
        assert instance.human is not None
        clause = _deciding(instance.parts[0].raw).replace("anything_but", "anything but")
        turned = any(re.search(rf"\b{turn}\b", clause) for turn in TURNS)
        assert ("turns it round" in instance.human.explanations[0]) == turned
        assert f"is {instance.label}." in instance.human.explanations[0]


def test_gold_words_hold_the_verdict_and_what_turns_it_round(train: Dataset) -> None:
    for instance in train.instances[:3000]:
        assert instance.human is not None
        assert instance.human.words is not None
        words = [instance.parts[0].words[word].lower() for word in instance.human.words[0]]
        verdicts = [word for word in words if word in PRAISE | BLAME]
        assert len(verdicts) == 1
        turned = any(word in {"not", "never", "hardly", "far", "anything", "no", "disagree"} for word in words)
        assert ((verdicts[0] in PRAISE) != turned) == (instance.label == "positive")
        for contrast in ("although", "though", "despite", "yet", "spite"):
            assert (contrast in words) == (contrast in instance.parts[0].raw.lower().replace(",", "").split())
        assert verdicts[0] in instance.human.explanations[0]


def test_negation_and_contrast_come_up_under_each_label(train: Dataset) -> None:
    for label in opinion.LABELS:
        texts = [i.parts[0].raw.lower() for i in train.instances if i.label == label]
        for word in ("not", "never", "although", "but", "despite", "disagree"):
            assert sum(bool(re.search(rf"\b{word}\b", text)) for text in texts) > 20, (label, word)
