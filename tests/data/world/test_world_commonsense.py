"""The task of common sense: of two sentences that differ in one thing, exactly one can be true."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from data.world import reader
from data.world.bag_of_words import accuracy
from support.published import marked, paired
from verax.data.world import commonsense
from verax.data.world.knowledge import excludes, wider
from verax.types import Dataset, Instance

RELATION = "|".join(sorted(reader.RELATED, key=len, reverse=True))
TWO = re.compile(
    rf"the (?P<a>.+?) (?:that is|who is|is) (?P<first>{RELATION}) the (?P<b>.+?) (?:is|and) "
    rf"(?P<then>{RELATION}) the (.+)"
)
ONE = re.compile(rf"the (?P<a>.+) is (?P<relation>{RELATION}) the (?P<b>.+)")
A_KIND = re.compile(r"the (?P<a>.+) is an? (?P<kind>.+)")
DESCRIBED = re.compile(r"(?P<noun>.+?) (?:that|who) is (?P<said>.+)")
GRAMMAR = """
a an and animals at be can cannot every if is it neither no not of only people same something the them then time what
"""


@pytest.fixture(scope="module")
def train() -> Dataset:
    return commonsense.load("train", 3600)


@pytest.fixture(scope="module")
def test_split() -> Dataset:
    return commonsense.load("test")


def _form(raw: str) -> str:
    text = raw[0].lower() + raw[1:].removesuffix(".")
    for form, pattern in (("relation", TWO), ("alive", ONE), ("kind", A_KIND)):
        if pattern.fullmatch(text):
            return form
    return "value"


def _kind_and_words(phrase: str) -> tuple[str, str]:
    """The kind of "sleeping boy" or "boy who is sleeping", and what is said of it."""
    found = DESCRIBED.fullmatch(phrase)
    if found:
        return reader.KINDS[found["noun"]], found["said"]
    for start in range(len(phrase.split())):
        words = phrase.split()
        if " ".join(words[start:]) in reader.KINDS:
            return reader.KINDS[" ".join(words[start:])], " ".join(words[:start])
    raise AssertionError(phrase)


def _makes_sense(raw: str) -> bool:
    """Whether a sentence can be true, by a reader that knows the tables and nothing of the grammar."""
    text = raw[0].lower() + raw[1:].removesuffix(".")
    if found := TWO.fullmatch(text):
        return not excludes(reader.RELATED[found["first"]], reader.RELATED[found["then"]])
    if found := ONE.fullmatch(text):
        told = [_kind_and_words(found[noun]) for noun in "ab"]
        return all(not said or said in reader.values_of(kind) for kind, said in told)
    if found := A_KIND.fullmatch(text):
        nouns = [kind for words, kind in reader.KINDS.items() if re.search(rf"\b{words}\b", found["a"])]
        return any(reader.KINDS[found["kind"]] in wider(kind) for kind in nouns)
    _, facts = reader.read(re.sub(r" (that|who) is ", " is ", raw))
    assert len(facts) == 2
    return not excludes(facts[0].concept, facts[1].concept)


def test_exactly_one_of_the_two_makes_sense(train: Dataset) -> None:
    seen: Counter[str] = Counter()
    for instance in train.instances[:2500]:
        sense = [_makes_sense(part.raw) for part in instance.parts]
        assert sense == [instance.label == "second", instance.label == "first"], instance.parts
        seen[_form(instance.parts[0].raw)] += 1
    assert min(seen[form] for form in ("kind", "value", "alive", "relation")) > 150


@pytest.mark.parametrize(("parts", "highest"), [((0,), 0.6), ((1,), 0.6), ((0, 1), 0.58)])
def test_no_bag_of_words_and_word_pairs_tells_which(
    train: Dataset, test_split: Dataset, parts: tuple[int, ...], highest: float
) -> None:
    assert accuracy(train, test_split, parts) < highest


def test_the_two_sentences_differ_in_one_phrase_or_in_the_order_of_their_words(train: Dataset) -> None:
    for instance in train.instances:
        first, second = ([word.lower() for word in part.words] for part in instance.parts)
        if _form(instance.parts[0].raw) == "alive":
            assert Counter(first) - Counter(["that", "who"]) == Counter(second) - Counter(["that", "who"])
            continue
        same = next(n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
        behind = set(first[same:]) ^ set(second[same:])
        assert same >= 3
        assert behind


def _wrong(instance: Instance) -> int:
    return commonsense.LABELS.index(str(instance.label))


def test_no_sentence_says_how_two_things_stand_to_each_other_twice(train: Dataset) -> None:
    for instance in train.instances:
        for part in instance.parts:
            found = TWO.fullmatch(part.raw[0].lower() + part.raw[1:].removesuffix("."))
            assert not found or reader.RELATED[found["first"]] != reader.RELATED[found["then"]], part.raw


def test_gold_is_what_clashes_in_the_wrong_sentence(train: Dataset) -> None:
    for instance in train.instances:
        gold = marked(instance)
        assert not gold[1 - _wrong(instance)]
        assert len(gold[_wrong(instance)]) >= 2
        assert instance.human is not None
        ((first, second),) = instance.human.span_pairs or ()
        assert first.part == second.part == _wrong(instance)
        assert first.end <= second.start
        for phrase in paired(instance)[0]:
            assert set(phrase.split()) & set(gold[_wrong(instance)])


def test_the_clash_is_real(train: Dataset) -> None:
    """What the two spans of the wrong sentence stand for exclude each other."""
    meanings: dict[str, set[str]] = {}
    for kind in reader.KINDS.values():
        for words, concept in (*reader.values_of(kind).items(), *reader.KINDS.items(), *reader.RELATED.items()):
            meanings.setdefault(words, set()).add(concept)
    for instance in train.instances[:1500]:
        if _form(instance.parts[0].raw) != "alive":
            a, b = paired(instance)[0]
            assert any(excludes(x, y) for x in meanings[a.lower()] for y in meanings[b.lower()]), (a, b)


def test_three_explanations_refute_the_wrong_sentence_in_its_words(train: Dataset) -> None:
    grammar = set(GRAMMAR.split())
    for instance in train.instances:
        assert instance.human is not None
        assert len(set(instance.human.explanations)) == 3
        said = {word.lower() for part in instance.parts for word in part.words}
        gold = {word.lower() for word in marked(instance)[_wrong(instance)]}
        for why in instance.human.explanations[:2]:
            assert gold <= set(re.findall(r"\w+", why.lower())), why
        for why in instance.human.explanations:
            assert set(re.findall(r"\w+", why.lower())) <= said | grammar, why
            assert re.search(r"\b(not|no|cannot|neither)\b", why), why


def test_the_first_instance_is_the_same_on_every_machine(test_split: Dataset) -> None:
    first = test_split.instances[0]
    assert (test_split.name, test_split.maskable, test_split.labels) == (
        "world/commonsense",
        None,
        ("first", "second"),
    )
    assert [part.raw for part in first.parts] == ["The light blouse is a shoe.", "The light blouse is a shirt."]
