"""The task of questions: exactly one choice fits by the knowledge base, and nothing short of both parts tells which."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression

from data.world import reader
from data.world.bag_of_words import accuracy
from support.published import marked, paired
from verax.data.world import questions
from verax.data.world.knowledge import excludes, group_of, wider
from verax.types import Dataset, Instance

DEEDS = {"found": "find", "drew": "draw", "photographed": "photograph", "described": "describe"}
KIND = re.compile(rf"an? (?P<who>.+?) (?P<verb>wants to \w+|{'|'.join(DEEDS)}) an? (?P<what>.+)")
ASKED = re.compile(
    r"(?P<kind>What did the (?P<a>.+) \w+)|(?P<member>What can the (?P<b>.+) (?:find|draw|photograph|describe))|"
    r"(?P<excluded>What can the (?P<c>.+) not be)|(?P<sure>What must the (?P<d>.+) be)|"
    r"(?P<value>(?:Which colour is|What is|Where is|What colour does|Where can) the (?P<e>.+?)"
    r"(?: have| doing| be found)?)"
)
GRAMMAR = """
a an and at be because but can cannot every find draw photograph describe found drew photographed described if is must
no not or same take the then time wants what whoever
"""


@pytest.fixture(scope="module")
def train() -> Dataset:
    return questions.load("train", 3600)


@pytest.fixture(scope="module")
def test_split() -> Dataset:
    return questions.load("test")


def _asked(instance: Instance) -> tuple[str, str, str]:
    """What is told, what form of question it is, and of whom, read from the text alone."""
    told, _, question = instance.parts[0].raw.removesuffix("?").partition(". ")
    found = ASKED.fullmatch(question)
    assert found, question
    form = next(name for name in ("kind", "member", "excluded", "sure", "value") if found[name])
    return told, form, next(who for who in found.group("a", "b", "c", "d", "e") if who)


def _fitting(instance: Instance) -> list[bool]:
    """Which choices fit, by a reader that shares no code with what drew and told the question."""
    told, form, who = _asked(instance)
    choices = [part.raw for part in instance.parts[1:]]
    if form not in ("kind", "member"):
        wanted = "contradiction" if form == "excluded" else "entailment"
        return [reader.judged(f"{told}.", f"The {who} is {choice}.") == wanted for choice in choices]
    clauses = [KIND.fullmatch(clause) for clause in re.split(", and |, while ", told[0].lower() + told[1:])]
    (had,) = (clause["what"] for clause in clauses if clause and clause["who"] == who)
    kinds = [reader.KINDS[re.sub("^an? ", "", choice)] for choice in choices]
    if form == "kind":
        return [kind in wider(reader.KINDS[had]) for kind in kinds]
    return [reader.KINDS[had] in wider(kind) for kind in kinds]


def test_exactly_the_right_choice_fits(train: Dataset) -> None:
    seen: Counter[str] = Counter()
    for instance in train.instances[:2000]:
        fits = _fitting(instance)
        assert [questions.LABELS[n] for n, fit in enumerate(fits) if fit] == [instance.label], instance.parts
        seen[_asked(instance)[1]] += 1
    assert min(seen[form] for form in ("kind", "member", "value", "sure", "excluded")) > 250


@pytest.mark.parametrize("parts", [(0,), (1, 2, 3), (0, 1, 2, 3)])
def test_no_bag_of_words_tells_the_letter(train: Dataset, test_split: Dataset, parts: tuple[int, ...]) -> None:
    assert accuracy(train, test_split, parts) < 0.4


@pytest.mark.parametrize("with_question", [False, True])
def test_no_bag_of_words_tells_a_right_choice_from_a_wrong_one(
    train: Dataset, test_split: Dataset, with_question: bool
) -> None:
    def texts(data: Dataset) -> list[str]:
        before = [i.parts[0].raw if with_question else "" for i in data.instances]
        return [f"{q} {part.raw}" for q, i in zip(before, data.instances, strict=True) for part in i.parts[1:]]

    right = [letter == i.label for i in train.instances for letter in questions.LABELS]
    counts = CountVectorizer(ngram_range=(1, 2))
    model = LogisticRegression(max_iter=2000).fit(counts.fit_transform(texts(train)), right)
    scores = model.predict_proba(counts.transform(texts(test_split)))[:, 1].reshape(-1, 3)
    labels = [questions.LABELS.index(str(i.label)) for i in test_split.instances]
    assert np.mean(scores.argmax(1) == labels) < 0.4


def test_no_choice_is_in_the_words_of_the_question(train: Dataset) -> None:
    for instance in train.instances:
        words = {word.lower() for word in instance.parts[0].words}
        for part in instance.parts[1:]:
            assert not words & set(part.words) - {"a", "an", "in", "on", "the", "at", "of", "under"}, instance.parts


def test_choices_of_a_kind_are_often_of_one_group_and_always_exclude_each_other(train: Dataset) -> None:
    together: Counter[bool] = Counter()
    for instance in train.instances:
        if _asked(instance)[1] in ("kind", "member"):
            kinds = [reader.KINDS[re.sub("^an? ", "", part.raw)] for part in instance.parts[1:]]
            assert all(excludes(a, b) for a in kinds for b in kinds if a != b)
            together[len({group_of(kind) for kind in kinds}) == 1] += 1
    assert together[True] > together[False] > 100


def test_gold_is_what_is_told_of_the_one_asked_about_and_the_right_choice(train: Dataset) -> None:
    for instance in train.instances[:1500]:
        told, form, who = _asked(instance)
        own, *choices = marked(instance)
        right = questions.LABELS.index(str(instance.label))
        assert [bool(gold) for gold in choices] == [n == right for n in range(3)]
        assert set(choices[right]) <= set(instance.parts[1 + right].words) - {"a", "an", "the"}
        assert (own.count("must"), own.count("not")) == (form == "sure", form == "excluded")
        named = [word for word in own if word.lower() in who.split()]
        assert len(named) == (2 * len(who.split()) if re.search(", and |, while ", told) else 0)
        assert set(own) - {"must", "not", *named}
        assert [choice for _, choice in paired(instance)] == [re.sub("^an? ", "", _right(instance))]


def _right(instance: Instance) -> str:
    return instance.parts[1 + questions.LABELS.index(str(instance.label))].raw


def test_three_explanations_speak_of_the_right_choice_in_the_words_of_the_question(train: Dataset) -> None:
    grammar = set(GRAMMAR.split())
    for instance in train.instances:
        assert instance.human is not None
        assert len(set(instance.human.explanations)) == 3
        said = {word.lower() for part in instance.parts for word in part.words}
        gold = set(marked(instance)[1 + questions.LABELS.index(str(instance.label))])
        for why in instance.human.explanations:
            words = set(re.findall(r"\w+", why.lower()))
            assert words <= said | grammar, why
        assert all(gold <= set(re.findall(r"\w+", why.lower())) for why in instance.human.explanations[:2])


def test_what_an_explanation_says_of_a_thing_is_true_of_what_was_told(train: Dataset) -> None:
    for instance in train.instances[:1500]:
        assert instance.human is not None
        told, form, who = _asked(instance)
        second = instance.human.explanations[1]
        if form not in ("kind", "member"):
            found = re.fullmatch(rf"If the {who} is (.+), then (the {who} is .+)\.", second)
            assert found, second
            assert reader.judged(f"The {who} is {found[1]}.", f"T{found[2][1:]}.") == "entailment"
            assert reader.judged(f"{told}.", f"The {who} is {found[1]}.") == "entailment"


def test_the_first_instance_is_the_same_on_every_machine(test_split: Dataset) -> None:
    first = test_split.instances[0]
    assert (test_split.name, test_split.maskable, test_split.labels) == ("world/questions", (0,), ("A", "B", "C"))
    assert [part.raw for part in first.parts] == [
        "A bed is in the bathroom, and a tulip is in the meadow. Where is the tulip?",
        "under a roof",
        "in the woods",
        "in the field",
    ]
