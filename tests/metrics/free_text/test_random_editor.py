"""The random editor: which words go where, how many, and that a seed means the same always."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from verax.data.load import load_dataset
from verax.data.text import split_words
from verax.metrics.free_text.editing import DrawingEditor, Insertion
from verax.metrics.free_text.random_editor import RandomEditor
from verax.metrics.free_text.wordnet import word_lists
from verax.types import Instance, UserError

ADJECTIVES = tuple(f"adj{i:02}" for i in range(30))
ADVERBS = tuple(f"adv{i:02}" for i in range(30))
PREMISE = "The old gardener waters the roses while two noisy children chase a dog around the pond."
HYPOTHESIS = "A woman is sleeping."


def instance(*parts: str, name: str = "i") -> Instance:
    return Instance(name, tuple(map(split_words, parts)))


@pytest.fixture(scope="module")
def editor(tmp_path_factory: pytest.TempPathFactory) -> RandomEditor:
    folder = tmp_path_factory.mktemp("wordnet")
    for file, kind, words in (("data.adj", "a", ADJECTIVES), ("data.adv", "r", ADVERBS)):
        lines = [f"{number:08} 00 {kind} 01 {word} 0 000 | none\n" for number, word in enumerate(words)]
        (folder / file).write_text("".join(lines))
    return RandomEditor(wordnet=str(folder))


def with_seed(editor: RandomEditor, seed: int, **others: int) -> RandomEditor:
    return RandomEditor(seed=seed, wordnet=editor.wordnet, **others)


def word_behind(edits: Sequence[Insertion], given: Instance) -> set[tuple[str, str]]:
    """The kind of each inserted word, and the word that it comes before."""
    return {(one.text[:3], given.parts[one.part].words[one.position]) for one in edits}


def test_adjectives_go_before_nouns_and_adverbs_before_verbs(editor: RandomEditor) -> None:
    given = instance(PREMISE)
    everywhere = with_seed(editor, 0, positions=99).edits(given)
    nouns, verbs = ("gardener", "roses", "children", "dog", "pond"), ("waters", "chase")
    assert word_behind(everywhere, given) == {*(("adj", noun) for noun in nouns), *(("adv", verb) for verb in verbs)}


def test_sixteen_edits_are_spread_evenly_over_the_parts(editor: RandomEditor) -> None:
    edits = editor.edits(instance(PREMISE, PREMISE.replace("gardener", "nurse")))
    at = Counter((one.part, one.position) for one in edits)
    assert sorted(at.values()) == [4] * 4
    assert Counter(part for part, _ in at) == {0: 2, 1: 2}
    assert len(set(edits)) == 16
    assert editor.max_inputs(2, 3) == editor.max_inputs(6, 5) == 16


@pytest.mark.parametrize("parts", [(PREMISE,), (HYPOTHESIS,), (PREMISE, HYPOTHESIS), (HYPOTHESIS, "Rain falls.")])
def test_every_input_has_the_same_number_of_edits(parts: tuple[str, ...], editor: RandomEditor) -> None:
    assert len(set(editor.edits(instance(*parts)))) == 16


def test_a_part_with_fewer_positions_leaves_them_to_the_others(editor: RandomEditor) -> None:
    edits = editor.edits(instance(PREMISE, "It rains.", "Yes!", ""))
    assert Counter(part for part, _ in {(one.part, one.position) for one in edits}) == {0: 3, 1: 1}
    assert word_behind(editor.edits(instance(HYPOTHESIS)), instance(HYPOTHESIS)) == {
        ("adj", "woman"),
        ("adv", "sleeping"),
    }
    assert editor.edits(instance("Yes!")) == ()


def test_a_word_of_several_tokens_is_one_position(editor: RandomEditor) -> None:
    given = instance("The dog's owner wears a t-shirt.")
    edits = with_seed(editor, 0, positions=4, candidates=1).edits(given)
    assert word_behind(edits, given) == {("adj", "dog's"), ("adj", "owner"), ("adv", "wears"), ("adj", "t-shirt")}
    assert len(edits) == 4


def test_only_parts_that_may_be_edited_are(editor: RandomEditor) -> None:
    edits = editor.edits(instance(PREMISE, HYPOTHESIS), parts=[1])
    assert {one.part for one in edits} == {1}
    assert len({one.position for one in edits}) == 2


def test_the_same_seed_gives_the_same_edits_whatever_came_before(editor: RandomEditor) -> None:
    pairs = [instance(PREMISE, HYPOTHESIS), instance(HYPOTHESIS, PREMISE), instance(PREMISE)]
    forward = [editor.edits(one) for one in pairs]
    again = [with_seed(editor, 0).edits(one) for one in reversed(pairs)]
    assert forward == again[::-1]
    assert editor.edits(instance(PREMISE, name="another")) == forward[2]


def test_another_seed_or_another_text_gives_other_edits(editor: RandomEditor) -> None:
    one = editor.edits(instance(PREMISE, HYPOTHESIS))
    assert with_seed(editor, 1).edits(instance(PREMISE, HYPOTHESIS)) != one
    other = editor.edits(instance(PREMISE, "Nobody is here."))
    assert [i for i in other if i.part == 0] != [i for i in one if i.part == 0]
    same = editor.edits(instance(PREMISE, PREMISE))
    assert [(i.position, i.words) for i in same[:16]] != [(i.position, i.words) for i in same[16:]]


def test_every_position_and_every_word_comes_up_equally_often(editor: RandomEditor) -> None:
    given = instance(PREMISE)
    drawn = [one for seed in range(700) for one in with_seed(editor, seed, positions=1, candidates=1).edits(given)]
    positions = Counter(one.position for one in drawn)
    assert len(positions) == 7
    assert all(60 <= count <= 145 for count in positions.values())  # 100 expected; 4.3 standard deviations
    assert len({one.text for one in drawn}) == 60


def test_short_lists_give_all_they_have(tmp_path: Path) -> None:
    (tmp_path / "data.adj").write_text("00000001 00 a 02 red 0 big 0 000 | none\n")
    (tmp_path / "data.adv").write_text("00000001 00 r 01 soon 0 000 | none\n")
    edits = RandomEditor(wordnet=str(tmp_path)).edits(instance(HYPOTHESIS))
    assert sorted(one.text for one in edits) == ["big", "red", "soon"]


def test_noise_is_drawn_as_the_edits_are_but_not_the_same_ones(editor: RandomEditor) -> None:
    assert isinstance(editor, DrawingEditor)
    given = instance(PREMISE, HYPOTHESIS)
    possible = set(with_seed(editor, 0, positions=99, candidates=99).edits(given))
    drawn = editor.draw(given, count=6, seed=0, parts=None)
    assert len(drawn) == 6
    assert set(drawn) <= possible
    assert len({(one.part, one.position) for one in drawn}) > 2, "they are spread over the positions"
    assert drawn != editor.draw(given, count=6, seed=1, parts=None)
    assert drawn == editor.draw(given, count=6, seed=0, parts=None)
    assert drawn != editor.edits(given)[:6]
    assert {one.part for one in editor.draw(given, count=4, seed=0, parts=(1,))} == {1}
    few = editor.draw(given, count=12, seed=0, parts=None)
    assert {(one.part, one.position) for one in few} == {
        (one.part, one.position) for one in editor.draw(given, count=99, seed=0, parts=None)
    }
    assert editor.draw(given, count=0, seed=0, parts=None) == ()
    assert len(editor.draw(given, count=10_000, seed=0, parts=None)) == len(editor.edits(given))


def test_what_decides_the_edits_is_told(editor: RandomEditor) -> None:
    told = editor.provenance
    assert set(told) == {"editor", "pipeline", "wordnet"}
    assert told["pipeline"].startswith("en_core_web_sm")


@pytest.mark.parametrize("name", ["positions", "candidates", "seed"])
def test_a_number_that_makes_no_sense_is_refused(name: str) -> None:
    with pytest.raises(UserError, match=f"random editor: {name}: got -1, it must be at least [01]"):
        RandomEditor(**{name: -1})


def test_the_words_of_the_built_in_corpus_are_qualities_that_it_knows() -> None:
    """The shipped models read all of them; there are no adverbs, so nothing goes before a verb."""
    given = instance("The boat is here.", "A dog is sleeping.")
    edits = RandomEditor(wordnet="world").edits(given)
    assert len(set(edits)) == 16
    assert {given.parts[one.part].words[one.position] for one in edits} == {"boat", "dog"}
    words = word_lists("world")
    assert {one.text for one in edits} <= set(words.adjectives)
    assert {"red", "crimson", "tiny", "furious"} <= set(words.adjectives)
    inputs = load_dataset("world/nli", split="train", limit=3000).instances
    assert set(words.adjectives) <= {word.lower() for one in inputs for part in one.parts for word in part.words}
