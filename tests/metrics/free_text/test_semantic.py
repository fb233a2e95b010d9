"""The semantic match: cosines against transformers and plain loops, in batches as one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from verax.data.text import split_words
from verax.engine.engine import Engine, Outcome, Task
from verax.metrics.free_text.insertion import Insertion
from verax.metrics.free_text.semantic import Explained, SemanticMatch
from verax.models.classifier import Encoder
from verax.models.load import load_encoder
from verax.types import FloatArray, Instance, Text, Undefined, UserError

LAYER = 1


def explained(words: str, position: int, explanation: str) -> Explained:
    insertion = Insertion.of(1, position, words)
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

    def kept(number: int, outcome: Outcome[float]) -> tuple[()]:
        end = outcome.error if outcome.value is None else outcome.value
        assert isinstance(end, float | Undefined)
        found[number] = end
        return ()

    Engine().run(Task(match.similarity(encoder, pair), partial(kept, i)) for i, pair in enumerate(pairs))
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
