"""All tasks: same seed same data, splits apart, labels balanced, offsets right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from itertools import combinations

import pytest

from verax.data.text import split_words
from verax.data.world import commonsense, fact_checking, nli, opinion, questions
from verax.data.world.splits import SIZES
from verax.types import Dataset, Instance, Text, UserError

Load = Callable[..., Dataset]
LOADS: dict[str, Load] = {
    "nli": nli.load,
    "facts": fact_checking.load,
    "opinion": opinion.load,
    "questions": questions.load,
    "commonsense": commonsense.load,
}
TASKS = pytest.mark.parametrize("load", LOADS.values(), ids=LOADS.keys())
# the parts whose text is in one split alone
CLAIMS = {
    "world/nli": (1,),
    "world/facts": (0,),
    "world/opinion": (0,),
    "world/questions": (0,),
    "world/commonsense": (0, 1),
}
LONGEST = {
    "world/nli": 25,
    "world/facts": 55,
    "world/opinion": 25,
    "world/questions": 30,
    "world/commonsense": 20,
}
WORD_TYPES = {
    "world/nli": 300,
    "world/facts": 280,
    "world/opinion": 300,
    "world/questions": 270,
    "world/commonsense": 280,
}
EXPLANATIONS = {"world/nli": 4, "world/facts": 1, "world/opinion": 1, "world/questions": 3, "world/commonsense": 3}
DIGESTS = {
    "nli": "414494ce33076042",
    "facts": "3d6e1b489a4fda52",
    "opinion": "57e8ff5730b4de12",
    "questions": "74dbbefd55fad2b6",
    "commonsense": "d866b47fa645b1bf",
}
PHRASINGS = {"nli": "4b7df454180ac6b5", "questions": "673ae5ed07a0da14", "commonsense": "6bb02b46d356ed27"}


def sentences(instance: Instance) -> tuple[Text, ...]:
    """The parts that are sentences: all but the choices of a question."""
    return instance.parts[:1] if len(instance.parts) > 2 else instance.parts


@pytest.mark.parametrize("task", LOADS)
def test_instances_stay_what_they_are(task: str) -> None:
    digest = sha256()
    for split in SIZES:
        for i in LOADS[task](split, 90, seed=3).instances:
            assert i.human is not None
            texts = [part.raw for part in i.parts]
            pairs = [[tuple(span) for span in pair] for pair in i.human.span_pairs or ()]
            digest.update(repr((i.id, texts, i.label, i.human.words, pairs, i.human.explanations[:1])).encode())
    assert digest.hexdigest()[:16] == DIGESTS[task]


@pytest.mark.parametrize("task", PHRASINGS)
def test_further_phrasings_stay_what_they_are(task: str) -> None:
    told = [i.human.explanations[1:] for i in LOADS[task]("test", 90, seed=3).instances if i.human is not None]
    assert len(told) == 90
    assert sha256(repr(told).encode()).hexdigest()[:16] == PHRASINGS[task]


@TASKS
def test_the_same_seed_gives_the_same_and_another_seed_gives_others(load: Load) -> None:
    first, again, other = load("test", 60), load("test", 60), load("test", 60, seed=1)
    assert first == again
    assert {i.parts for i in first.instances} != {i.parts for i in other.instances}


@TASKS
def test_a_limit_takes_the_first_ones(load: Load) -> None:
    assert load("validation", 30).instances == load("validation", 90).instances[:30]
    assert len(load("validation", 0)) == 0
    assert [i.id for i in load("test", 2).instances] == [f"{load('test', 0).name}/test/0000{n}" for n in (0, 1)]


@TASKS
def test_no_text_is_in_two_splits_or_twice_in_one(load: Load) -> None:
    claims: dict[str, set[str]] = {}
    for split in SIZES:
        drawn = [load(split, 900, seed) for seed in (0, 1)]
        for data in drawn:
            assert len({tuple(part.raw for part in i.parts) for i in data.instances}) == len(data)
        claims[split] = {i.parts[n].raw for data in drawn for i in data.instances for n in CLAIMS[data.name]}
    for first, second in combinations(claims, 2):
        assert not claims[first] & claims[second]


@TASKS
def test_labels_are_balanced_at_every_size(load: Load) -> None:
    data = load("test")
    assert len(data) == SIZES["test"]
    assert set(Counter(i.label for i in data.instances).values()) == {len(data) // len(data.labels)}
    block = len(data.labels)
    assert {i.label for i in data.instances[:block]} == set(data.labels)


@TASKS
def test_texts_are_as_long_as_they_should_be_and_the_splitter_agrees_with_them(load: Load) -> None:
    data = load("train", 600)
    for instance in data.instances:
        assert all(split_words(part.raw) == part for part in instance.parts)
        for part in sentences(instance):
            assert 5 <= sum(word.isalpha() for word in part.words) <= len(part.words) <= LONGEST[data.name]


@TASKS
def test_texts_are_well_formed_english(load: Load) -> None:
    data = load("train", 600)
    for instance in data.instances:
        explanations = instance.human.explanations if instance.human else ()
        assert len(set(explanations)) == EXPLANATIONS[data.name]
        for text in (*(part.raw for part in sentences(instance)), *explanations):
            assert re.fullmatch(r'["A-Z].*[.?]', text), text
            assert not re.search(r"\b[Aa] [aeiou]|\b[Aa]n [^aeiou]|  | [,.]|\b(\w+) \1\b|not not", text), text


@TASKS
def test_gold_words_are_words_of_the_text(load: Load) -> None:
    for instance in load("train", 600).instances:
        assert instance.human is not None
        assert instance.human.words is not None
        assert len(instance.human.words) == len(instance.parts)
        assert all(instance.human.words) or len(instance.parts) > 2 or instance.label in commonsense.LABELS
        assert any(instance.human.words)
        for part, words in zip(instance.parts, instance.human.words, strict=True):
            assert list(words) == sorted(set(words))
            assert all(part.words[word].isalpha() for word in words)


@TASKS
def test_there_are_about_three_hundred_word_types(load: Load) -> None:
    data = load("train", 6000)
    words = {word.lower() for i in data.instances for part in i.parts for word in part.words}
    assert sum(word.isalpha() for word in words) >= WORD_TYPES[data.name]


@TASKS
def test_a_wrong_split_or_limit_is_told_in_one_line(load: Load) -> None:
    with pytest.raises(UserError, match="unknown split 'tset'; did you mean 'test'"):
        load("tset")
    with pytest.raises(UserError, match="limit: got -1"):
        load("test", -1)
