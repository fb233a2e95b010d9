"""What an editor is taught: the words behind a mark, given a class."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import tiny
from verax.data.text import split_words
from verax.models.editor_wording import EditorFacts, editor_facts, editor_prompt, read_editor_facts
from verax.train.text_pairs import editor_pairs
from verax.types import Dataset, Instance, UserError

FACTS = EditorFacts("edit label: {label} 1: {1} 2: {2} words:", "___", ("far", "near"))
WORDS = ("the", "red", "boat", ",", "{label}", "sails", "away", ".", "{2}")


def _data(*texts: tuple[str, str]) -> Dataset:
    made = [Instance(str(n), tuple(map(split_words, pair)), FACTS.labels[n % 2]) for n, pair in enumerate(texts)]
    return Dataset("boats", tuple(made), FACTS.labels)


def _classes(data: Dataset) -> dict[str, str]:
    return {instance.id: str(instance.label) for instance in data.instances}


SENTENCE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


@given(SENTENCE, SENTENCE, st.integers(0, 2**32), st.integers(1, 4))
def test_the_words_put_back_give_the_input(first: str, second: str, seed: int, masks: int) -> None:
    """Whatever braces stand in the input: they are text and are not filled in."""
    data = _data((first, second))
    pairs = editor_pairs(FACTS, data, _classes(data), masks=masks, seed=seed)
    words = [word for word in f"{first} {second}".split() if any(sign.isalnum() for sign in word)]
    assert len(pairs) <= masks
    assert bool(pairs) == bool(words)
    for source, target in pairs:
        assert source.count("___") == 1
        assert source.replace("___", target) == f"edit label: far 1: {first} 2: {second} words:"
        assert len(split_words(target).words) >= 1
        assert not {",", "."} & set(target.split())


def test_one_to_three_words_of_any_part_are_masked_and_a_seed_draws_the_same() -> None:
    data = _data(*[(f"the small boat {n} sails far", f"nobody is there {n}") for n in range(60)])
    pairs = editor_pairs(FACTS, data, _classes(data), seed=3)
    assert len(pairs) == 60
    assert {len(pair.target.split()) for pair in pairs} == {1, 2, 3}
    assert {pair.source.index("___") > pair.source.index(" 2: ") for pair in pairs} == {True, False}
    assert editor_pairs(FACTS, data, _classes(data), seed=3) == pairs
    assert editor_pairs(FACTS, data, _classes(data), seed=4) != pairs
    later = Dataset("boats", data.instances[30:], FACTS.labels)
    assert editor_pairs(FACTS, later, _classes(later), seed=3) == pairs[30:], "others left out change nothing"
    assert not editor_pairs(FACTS, data, {}, seed=3), "an input without a class is left out"


@pytest.mark.parametrize(
    ("position", "words", "expected"),
    [
        (0, 0, "___ A boat, (red)."),
        (2, 0, "A boat ___ , (red)."),
        (4, 0, "A boat, (___ red)."),
        (1, 1, "A ___, (red)."),
        (0, 2, "___, (red)."),
        (7, 0, "A boat, (red). ___"),
    ],
)
def test_the_mark_stands_where_words_are_to_go(position: int, words: int, expected: str) -> None:
    text = split_words("A boat, (red).")
    assert text.words == ("A", "boat", ",", "(", "red", ")", ".")
    instance = Instance("1", (text, split_words("so")))
    prompt = editor_prompt(FACTS, instance, 0, position, "near", words=words)
    assert prompt.plain
    assert prompt.user == f"edit label: near 1: {expected} 2: so words:"


def test_a_place_that_is_not_there_is_a_mistake() -> None:
    instance = Instance("1", (split_words("a boat"), split_words("so")))
    for position, words in ((3, 0), (2, 1), (-1, 0)):
        with pytest.raises(ValueError, match="a text of 2 words has no"):
            editor_prompt(FACTS, instance, 0, position, "near", words=words)


def test_the_mark_is_one_that_the_base_knows() -> None:
    tokenizer = tiny.tokenizer_of("bytes")
    assert editor_facts(("far", "near"), 1, tokenizer) == EditorFacts(
        "edit label: {label} text: {1} words:", "<mask>", ("far", "near")
    )
    assert editor_facts(("A", "B"), 3, tiny.tokenizer_of("bare bytes")).mark == "___"
    tokenizer.add_tokens(["<extra_id_0>"], special_tokens=True)
    nli = editor_facts(("entailment", "neutral", "contradiction"), 2, tokenizer)
    assert nli.mark == "<extra_id_0>"
    assert nli.prompt == "edit label: {label} premise: {1} hypothesis: {2} words:"


def test_facts_are_read_or_told_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no editor\.json; make one with: verax train editor"):
        read_editor_facts(tmp_path)
    path = tmp_path / "editor.json"
    path.write_text(json.dumps({"prompt": "p", "labels": ["far"]}))
    with pytest.raises(UserError, match=r"editor\.json has no 'mark'"):
        read_editor_facts(tmp_path)
    path.write_text("{")
    with pytest.raises(UserError, match=r"editor\.json can't be read"):
        read_editor_facts(tmp_path)
    path.write_text(json.dumps({"prompt": "p", "labels": ["far"], "mark": "_", "more": 1}))
    assert read_editor_facts(tmp_path) == EditorFacts("p", "_", ("far",))
