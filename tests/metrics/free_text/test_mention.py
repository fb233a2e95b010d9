"""Which explanations mention an insertion: by words, and by cosines checked against transformers and plain loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.rigged import insertion_of
from verax.data.text import split_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.metrics.free_text.editing import Insertion
from verax.metrics.free_text.linguistics import linguistics
from verax.metrics.free_text.mention import Mention, SemanticMatch, WordMatch
from verax.models.classifier import Encoder
from verax.models.load import load_encoder
from verax.types import FloatArray, Instance, Text, Undefined, UserError

TEXT = "The man walks near the old women."


def mention(words: str, position: int, explanation: str, match: str = "content") -> Mention:
    insertion = insertion_of(1, position, words)
    instance = Instance("i", (split_words("Rain falls."), split_words(TEXT)))
    return WordMatch(match).mention(insertion, insertion.apply(instance), explanation)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "position", "explanation", "rule", "by"),
    [
        ("blue", 1, "A Blue man is a man.", "word", "Blue"),
        ("blue", 1, "A man is a person.", "none", ""),
        ("blue", 1, "The bluebird sings.", "none", ""),
        ("dogs", 1, "The dog is an animal.", "lemma", "dog"),
        ("slowly running", 1, "He ran away.", "lemma", "ran"),
        ("dog", 1, "It is the dog's bone.", "word", "dog's"),
        ("semi-formal", 1, "The dress is formal.", "none", ""),
        ("semi-formal", 1, "A semi passes.", "none", ""),
        ("blue ,", 1, "Well, he walks.", "none", ""),
        ("formal", 1, "The dress is semi-formal.", "none", ""),
        ("semi-formal", 1, "Semi-formal clothes are clothes.", "word", "Semi-formal"),
        ("so many times", 3, "So he walks.", "none", ""),
        ("so many times", 3, "So he walks many miles.", "word", "many"),  # a quantifier is a content word
        ("so many times", 3, "He walks each time.", "lemma", "time"),
        ("not", 2, "He does not walk.", "word", "not"),
        ("in", 2, "He is in it.", "word", "in"),  # no content word: it is looked for itself
        ("happy and not sad", 6, "They are not here.", "word", "not"),  # nor is a negation a stop word
        ("happy and calm", 6, "They come and go.", "none", ""),
        ("the two", 4, "The man walks.", "none", ""),
        ("the two", 4, "There are two.", "word", "two"),
        ("happy and not sad", 6, "They are happy.", "word", "happy"),
        ("happy and not sad", 6, "They are sad.", "word", "sad"),
        ("blue", 1, "", "none", ""),
    ],
)
def test_a_whole_content_word_of_the_explanation_mentions(
    words: str, position: int, explanation: str, rule: str, by: str
) -> None:
    found = mention(words, position, explanation)
    assert (found.mentioned, found.rule, found.by) == (rule != "none", rule, by)


@pytest.mark.parametrize(
    ("words", "explanation", "mentioned"),
    [
        ("in the red", "The man walks.", True),  # Equation 1: W and the explanation share a word
        ("in the red", "A man walks.", False),
        ("blue ,", "Well, he walks.", False),  # a comma is no word
        ("of", "It is the roof of a house.", True),
        ("of", "It is a roof.", False),
    ],
)
def test_by_default_any_inserted_word_mentions(words: str, explanation: str, mentioned: bool) -> None:
    assert WordMatch().match == "any"
    assert mention(words, 1, explanation, "any").mentioned is mentioned


def test_numbers_negations_and_quantifiers_are_no_stop_words() -> None:
    stops = linguistics().stop_words
    assert {"the", "of", "is", "so", "and"} <= stops
    negations = {"no", "not", "never", "nobody", "noone", "without"}
    assert not (negations | {"two", "ten", "first", "all", "some", "few", "most"}) & stops
    assert not {stop for stop in stops if stop.startswith(("n'", "n’", "n‘"))}, "n't, however its apostrophe is typed"


@pytest.mark.parametrize(
    ("words", "explanation", "rule", "by"),
    [
        ("blue", "The bluebird sings.", "substring", "blue"),
        ("dogs", "A dogged fight.", "substring", "dog"),
        ("blue", "The blue bird sings.", "word", "blue"),
        ("blue", "The bird sings.", "none", ""),
    ],
)
def test_the_loosest_rule_takes_letters_inside_a_word(words: str, explanation: str, rule: str, by: str) -> None:
    found = mention(words, 1, explanation, "substring")
    assert (found.rule, found.by) == (rule, by)


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from(["blue", "slowly running", "dogs", "not", "semi-formal", "so many times"]),
    st.lists(
        st.sampled_from(["Blue", "runs", "bluebird", "dog", "the", "not", "formal", "times", "time", ","]), max_size=5
    ),
)
def test_what_a_word_mentions_the_loosest_rule_mentions_too(words: str, explanation: list[str]) -> None:
    strict, loose = (mention(words, 1, " ".join(explanation), match) for match in ("any", "substring"))
    assert loose.mentioned or not strict.mentioned
    if strict.mentioned:
        assert loose == strict


def test_an_explanation_that_copies_the_input_mentions_everything() -> None:
    insertion = insertion_of(1, 1, "increasingly odd")
    edited = insertion.apply(Instance("i", (split_words("Rain falls."), split_words(TEXT))))
    assert WordMatch().mention(insertion, edited, " ".join(part.raw for part in edited.parts)).mentioned


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(UserError, match="match: unknown rule 'substrings'; did you mean 'substring'"):
        WordMatch("substrings")  # type: ignore[arg-type]


def test_what_decides_a_mention_is_told() -> None:
    told = WordMatch().provenance
    assert told["mention"].startswith("words ")
    assert told["pipeline"].startswith("en_core_web_sm")
    versions = {match: WordMatch(match).provenance["mention"] for match in ("any", "content", "substring")}
    assert versions == {"any": "words 2", "content": "words 3", "substring": "words 2"}, "stored scores have keys of it"


LAYER = 1


class Explained(NamedTuple):
    insertion: Insertion
    edited: Instance
    explanation: str


def explained(words: str, position: int, explanation: str) -> Explained:
    insertion = insertion_of(1, position, words)
    parts = split_words("nobody is here"), split_words("the small boat sails across the lake")
    return Explained(insertion, insertion.apply(Instance("i", parts)), explanation)


PAIRS = [
    explained("quiet", 6, "a quiet lake is a lake"),
    explained("very warm bread", 2, "a woman sells honey"),
    explained("green", 0, "boat"),
    explained("quiet", 6, "a boat is small and red"),
]


@pytest.fixture(scope="module")
def folder(checkpoint: Callable[[str], Path]) -> Path:
    return checkpoint("bert")


@pytest.fixture(scope="module")
def encoder(folder: Path) -> Encoder:
    return load_encoder(folder, dtype="float64")


def similarities(match: SemanticMatch, encoder: Encoder, pairs: Sequence[Explained]) -> list[float | Undefined]:
    """Of each pair, all asked by one engine."""
    found: dict[int, float | Undefined] = {}

    def kept(number: int, outcome: TaskResult[float]) -> tuple[()]:
        end = outcome.error if outcome.value is None else outcome.value
        assert isinstance(end, float | Undefined)
        found[number] = end
        return ()

    Engine().run(Task(match.similarity(encoder, *pair), partial(kept, i)) for i, pair in enumerate(pairs))
    return [found[number] for number in range(len(pairs))]


def sub_words(folder: Path, text: Text) -> list[tuple[int, FloatArray]]:
    """Each sub-word's word and hidden state, by transformers."""
    import torch
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder, dtype=torch.float64)
    encoded = tokenizer(text.raw, return_tensors="pt", return_offsets_mapping=True)
    offsets = encoded.pop("offset_mapping")[0].tolist()
    with torch.inference_mode():
        states = model.eval()(**encoded, output_hidden_states=True).hidden_states[LAYER][0].numpy()
    found = []
    for (start, end), state in zip(offsets, states, strict=True):
        if end > start:
            found.append((next(w for w, place in enumerate(text.offsets) if place[0] <= start < place[1]), state))
    return found


def best_by_loops(folder: Path, pair: Explained) -> float:
    def mean(states: list[tuple[int, FloatArray]], start: int, end: int) -> FloatArray:
        return np.mean([state for word, state in states if start <= word < end], axis=0)

    _, start, end = pair.insertion.span
    inserted = mean(sub_words(folder, pair.edited.parts[1]), start, end)
    explanation = split_words(pair.explanation)
    states, best = sub_words(folder, explanation), -2.0
    for first in range(len(explanation.words)):
        for last in range(first + 1, min(first + len(pair.insertion.words), len(explanation.words)) + 1):
            other = mean(states, first, last)
            cosine = float(inserted @ other / np.sqrt(inserted @ inserted) / np.sqrt(other @ other))
            best = max(best, cosine)
    return best


def test_cosines_are_those_of_transformers_and_loops(folder: Path, encoder: Encoder) -> None:
    found = similarities(SemanticMatch("-", LAYER), encoder, PAIRS)
    for one, pair in zip(found, PAIRS, strict=True):
        assert one == pytest.approx(best_by_loops(folder, pair), abs=1e-9)


def test_a_batch_says_what_each_says_alone(encoder: Encoder) -> None:
    match = SemanticMatch("-", LAYER)
    together = similarities(match, encoder, PAIRS)
    for pair, one in zip(PAIRS, together, strict=True):
        (alone,) = similarities(match, encoder, [pair])
        assert alone == pytest.approx(one, abs=1e-9)


def test_a_word_is_like_itself_in_the_same_company(encoder: Encoder) -> None:
    same = explained("quiet", 0, "quiet the small boat sails across the lake")
    (found,) = similarities(SemanticMatch("-", LAYER), encoder, [same])
    assert found == pytest.approx(1, abs=1e-9)


def test_what_can_not_be_compared_has_a_reason_and_harms_nobody_else(encoder: Encoder) -> None:
    pairs = [explained("quiet", 6, " "), PAIRS[0], explained("quiet", 6, "boat " * 500)]
    found = similarities(SemanticMatch("-", LAYER), encoder, pairs)
    assert [one.reason if isinstance(one, Undefined) else None for one in found] == ["empty", None, "too_long"]


def test_states_are_read_two_thirds_up(encoder: Encoder) -> None:
    assert similarities(SemanticMatch("-"), encoder, PAIRS) == similarities(SemanticMatch("-", 1), encoder, PAIRS)


def test_parameters_that_make_no_sense_are_refused(encoder: Encoder) -> None:
    with pytest.raises(UserError, match="layer must be 0"):
        SemanticMatch("-", -1)
    with pytest.raises(UserError, match="threshold must be a cosine, from -1 to 1, got 2"):
        SemanticMatch("-", threshold=2)
    with pytest.raises(UserError, match="layer must be at most 2, the layers of the encoder, got 3"):
        similarities(SemanticMatch("-", 3), encoder, PAIRS)


def test_what_decides_a_similarity_is_told() -> None:
    assert SemanticMatch("-").provenance["mention"].startswith("cosine ")
