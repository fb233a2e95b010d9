"""Both tasks: same seed same data, splits apart, labels balanced, offsets right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import pytest

from verax.data.text import split_words
from verax.data.world import nli, opinion
from verax.data.world.splits import SIZES
from verax.types import Dataset, UserError

Load = Callable[..., Dataset]
TASKS = pytest.mark.parametrize("load", [nli.load, opinion.load], ids=["nli", "opinion"])


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
    seen: Counter[tuple[str, ...]] = Counter()
    for split in SIZES:
        for seed in (0, 1):
            seen.update({tuple(part.raw for part in i.parts) for i in load(split, 1200, seed).instances})
        texts = [tuple(part.raw for part in i.parts) for i in load(split, 1200).instances]
        assert len(set(texts)) == len(texts)
    splits = {s: {i.parts[-1].raw for i in load(s, 1200).instances} for s in SIZES}
    assert not splits["train"] & splits["test"]
    assert not splits["train"] & splits["validation"]
    assert not splits["validation"] & splits["test"]


@TASKS
def test_labels_are_balanced_at_every_size(load: Load) -> None:
    data = load("test")
    assert len(data) == SIZES["test"]
    assert set(Counter(i.label for i in data.instances).values()) == {len(data) // len(data.labels)}
    block = len(data.labels)
    assert {i.label for i in data.instances[:block]} == set(data.labels)


@TASKS
def test_texts_have_five_to_twenty_five_words_and_the_splitter_agrees_with_them(load: Load) -> None:
    for instance in load("train", 600).instances:
        for part in instance.parts:
            assert split_words(part.raw) == part
            assert 5 <= sum(word.isalpha() for word in part.words) <= len(part.words) <= 25


@TASKS
def test_texts_are_well_formed_english(load: Load) -> None:
    for instance in load("train", 600).instances:
        explanations = instance.human.explanations if instance.human else ()
        assert len(explanations) == 1
        for text in (*(part.raw for part in instance.parts), *explanations):
            assert re.fullmatch(r'["A-Z].*\.', text), text
            assert not re.search(r"\b[Aa] [aeiou]|\b[Aa]n [^aeiou]|  | [,.]|\b(\w+) \1\b|not not", text), text


@TASKS
def test_gold_words_are_words_of_the_text(load: Load) -> None:
    for instance in load("train", 600).instances:
        assert instance.human is not None
        assert instance.human.words is not None
        assert len(instance.human.words) == len(instance.parts)
        for part, words in zip(instance.parts, instance.human.words, strict=True):
            assert words
            assert list(words) == sorted(set(words))
            assert all(part.words[word].isalpha() for word in words)


@TASKS
def test_at_least_three_hundred_word_types(load: Load) -> None:
    words = {word.lower() for i in load("train", 6000).instances for part in i.parts for word in part.words}
    assert sum(word.isalpha() for word in words) >= 300


@TASKS
def test_a_wrong_split_or_limit_is_told_in_one_line(load: Load) -> None:
    with pytest.raises(UserError, match="unknown split 'tset'; did you mean 'test'"):
        load("tset")
    with pytest.raises(UserError, match="limit: got -1"):
        load("test", -1)
