"""Alignment by hidden states: against transformers and literal loops; each text is read once, memory is bounded."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from conftest import PAIRS
from support.align_loops import argmax_by_loops, itermax_by_loops, softmax_by_loops
from verax.align import embedding
from verax.align.embedding import Embedding
from verax.align.protocol import TextPair
from verax.data.text import split_words
from verax.models.classifier import Classifier, Encoder, StatesPass
from verax.models.encoding import Encoding
from verax.models.load import load_encoder
from verax.types import FloatArray, Instance, Text, Undefined, UserError

TEXTS = [split_words(raw) for both in PAIRS for raw in both]
EXTRACTS = ("softmax", "argmax", "itermax")
Load = Callable[..., Classifier]


def states_by_transformers(folder: Path, text: Text, layer: int) -> tuple[FloatArray, list[int]]:
    """Hidden states of the sub-words of one text without special tokens, and the word that each lies in."""
    import torch
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder, dtype=torch.float64)
    encoded = tokenizer(text.raw, return_tensors="pt", return_offsets_mapping=True, return_special_tokens_mask=True)
    offsets, special = encoded.pop("offset_mapping")[0].tolist(), encoded.pop("special_tokens_mask")[0].tolist()
    with torch.inference_mode():
        states = model.eval()(**encoded, output_hidden_states=True).hidden_states[layer][0].numpy()
    own = [i for i in range(len(special)) if not special[i]]
    words = [
        next(w for w, (start, end) in enumerate(text.offsets) if start <= offsets[i][0] and offsets[i][1] <= end)
        for i in own
    ]
    return states[own], words


def links_by_loops(folder: Path, pair: TextPair, layer: int, extract: str, threshold: float) -> list[list[int]]:
    (one, words), (other, other_words) = (states_by_transformers(folder, text, layer) for text in pair[:2])
    if extract == "softmax":
        cells = softmax_by_loops(np.array([[float(a @ b) for b in other] for a in one]), threshold)
    else:
        cosines = [[float(a @ b / np.sqrt(a @ a) / np.sqrt(b @ b)) / 2 + 0.5 for b in other] for a in one]
        cells = (argmax_by_loops if extract == "argmax" else itermax_by_loops)(cosines)
    return sorted([i, j] for i, j in {(words[a], other_words[b]) for a, b in cells})


def aligned(aligner: Embedding, model: Encoder, pairs: Sequence[TextPair]) -> list[list[list[int]]]:
    found = []
    for one in aligner.align_with(model, pairs):
        assert not isinstance(one, Undefined), one
        found.append(one.tolist())
    return found


@pytest.mark.parametrize("extract", EXTRACTS)
@pytest.mark.parametrize("layer", [0, 1, 2])
def test_links_are_those_of_transformers_and_loops(
    checkpoint: Callable[[str], Path], classifier: Load, extract: Any, layer: int
) -> None:
    pairs = [TextPair(split_words(PAIRS[i][0]), split_words(PAIRS[j][1])) for i, j in ((0, 0), (1, 4), (3, 2))]
    aligner = Embedding(layer=layer, extract=extract, threshold=0.03)
    expected = [links_by_loops(checkpoint("bert"), pair, layer, extract, 0.03) for pair in pairs]
    assert aligned(aligner, classifier("bert"), pairs) == expected
    assert any(expected)


def test_by_default_two_thirds_of_the_way_up(classifier: Load) -> None:
    pairs = [TextPair(*both) for both in zip(TEXTS[::2], TEXTS[1::2], strict=True)]
    model = classifier("bert")
    by_layer = [aligned(Embedding(layer=layer, extract="argmax"), model, pairs) for layer in range(3)]
    assert aligned(Embedding(extract="argmax"), model, pairs) == by_layer[1]
    assert by_layer[1] not in (by_layer[0], by_layer[2])


@pytest.mark.parametrize("depth", [(12, 8), (24, 16), (6, 4), (4, 3), (1, 1)])
def test_the_default_layer_of_deeper_encoders(depth: tuple[int, int]) -> None:
    assert embedding.default_layer(depth[0]) == depth[1]


def test_an_encoder_by_name_gives_the_links_of_the_classifier_on_top_of_it(
    checkpoint: Callable[[str], Path], classifier: Load
) -> None:
    pairs = [TextPair(a, b) for a, b in product(TEXTS[:3], TEXTS[3:5])]
    aligner = Embedding(encoder=str(checkpoint("bert")), extract="itermax")
    found = [one.tolist() for one in aligner.align(pairs) if not isinstance(one, Undefined)]
    assert found == aligned(aligner, classifier("bert", "float32"), pairs)


@pytest.mark.parametrize("architecture", ["xlm-roberta", "distilbert", "gpt2", "bart"])
def test_other_architectures_align_a_text_with_itself(checkpoint: Callable[[str], Path], architecture: str) -> None:
    """Each sub-word is most like itself, unless the same one stands twice; so each word is linked to itself."""
    (links,) = aligned(
        Embedding(layer=1, extract="argmax"), load_encoder(checkpoint(architecture)), [TextPair(TEXTS[0], TEXTS[0])]
    )
    assert links == [[i, i] for i in range(len(TEXTS[0].words))]


@pytest.mark.parametrize("extract", ["softmax", "argmax"])
def test_swapping_the_sides_swaps_the_links(classifier: Load, extract: Any) -> None:
    pairs = [TextPair(a, b) for a, b in product(TEXTS[:4], TEXTS[4:])]
    there = aligned(Embedding(extract=extract, threshold=0.03), classifier("bert"), pairs)
    swapped = [TextPair(pair.translation, pair.reference) for pair in pairs]
    back = aligned(Embedding(extract=extract, threshold=0.03), classifier("bert"), swapped)
    assert there == [sorted([i, j] for j, i in links) for links in back]
    assert there != back


class Counting:
    """An encoder that counts what it is asked, and knows which of its encodings are still held."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.encoded: Counter[str] = Counter()
        self.run: Counter[str] = Counter()
        self.held: weakref.WeakSet[Encoding] = weakref.WeakSet()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def encode(self, instance: Instance) -> Encoding:
        self.encoded[instance.parts[0].raw] += 1
        encoding: Encoding = self._inner.encode(instance)
        self.held.add(encoding)
        return encoding

    def token_states(self, passes: Sequence[StatesPass]) -> list[FloatArray]:
        self.run.update(one.row.encoding.instance.parts[0].raw for one in passes)
        states: list[FloatArray] = self._inner.token_states(passes)
        return states


def by_language(rows: int, languages: int) -> list[TextPair]:
    """A reference of each row, translated into several languages, one language after the other."""
    return [
        TextPair(split_words(f"the boat {row} sails"), split_words(f"boat {row} lake {lang} wind", str(lang)))
        for lang in range(languages)
        for row in range(rows)
    ]


def test_each_text_is_read_once_however_often_it_is_there(classifier: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "WORDS_AT_ONCE", 45)  # five pairs: three of a reference, two of the next
    pairs = by_language(20, 3)
    model = Counting(classifier("bert"))
    found = aligned(Embedding(), model, [*pairs, *pairs[::-1]])
    assert set(model.encoded.values()) == set(model.run.values()) == {1}
    assert len(model.run) == 20 + 60
    assert found == [*found[: len(pairs)], *found[: len(pairs)][::-1]]


def test_the_texts_of_both_sides_share_their_batches(classifier: Load) -> None:
    class Batched(Counting):
        def token_states(self, passes: Sequence[StatesPass]) -> list[FloatArray]:
            batches.append({one.row.encoding.instance.parts[0].lang for one in passes})
            return super().token_states(passes)

    batches: list[set[str]] = []
    # the same words in another order: as many tokens, however the tokenizer cuts them
    pairs = [TextPair(split_words(f"the boat {i}", "en"), split_words(f"boat the {i}", "xx")) for i in range(9)]
    found = aligned(Embedding(), Batched(classifier("bert")), pairs)
    assert batches == [{"en", "xx"}]
    assert found == [links for pair in pairs for links in aligned(Embedding(), classifier("bert"), [pair])]


def test_links_come_while_the_rest_is_not_yet_read_and_few_states_are_held(
    classifier: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = by_language(60, 2)
    whole = aligned(Embedding(), classifier("bert"), pairs)
    monkeypatch.setattr(embedding, "WORDS_AT_ONCE", 90)
    model = Counting(classifier("bert"))
    most, found = 0, []
    for number, links in enumerate(Embedding().align_with(model, pairs)):
        assert not isinstance(links, Undefined)
        found.append(links.tolist())
        most = max(most, len(model.held))
        if number == 0:
            assert len(model.run) <= 20
    assert found == whole
    assert len(model.encoded) == 180
    assert most <= 90 / 4, "those of one chunk"


def test_words_decide_and_not_the_raw_text_alone(classifier: Load) -> None:
    raw = "the small boat"
    whole, split = Text(raw, (raw,), ((0, len(raw)),)), split_words(raw)
    found = aligned(Embedding(extract="argmax"), classifier("bert"), [TextPair(whole, split), TextPair(split, split)])
    assert found == [[[0, 0], [0, 1], [0, 2]], [[0, 0], [1, 1], [2, 2]]]


def test_what_can_not_be_aligned_has_its_reason_and_leaves_the_others_alone(classifier: Load) -> None:
    long, empty, fine = split_words("boat " * 200), Text("  ", (), ()), TEXTS[0]
    pairs = [TextPair(fine, empty), TextPair(long, fine), TextPair(fine, fine), TextPair(empty, fine)]
    found = list(Embedding(extract="argmax").align_with(classifier("bert"), pairs))
    assert [getattr(one, "reason", None) for one in found] == ["empty", "too_long", None, "empty"]
    assert str(found[0]).startswith("empty: the translation: ")
    assert str(found[1]).startswith("too_long: the reference: ")


def test_states_that_are_no_numbers_are_a_reason(classifier: Load) -> None:
    class Broken(Counting):
        def token_states(self, passes: Sequence[StatesPass]) -> list[FloatArray]:
            return [np.full_like(one, np.nan) for one in super().token_states(passes)]

    (found,) = Embedding().align_with(Broken(classifier("bert")), [TextPair(*TEXTS[:2])])
    assert isinstance(found, Undefined)
    assert found.reason == "nonfinite"


def test_an_error_that_nobody_foresaw_is_not_swallowed(classifier: Load) -> None:
    class Broken(Counting):
        def token_states(self, passes: Sequence[StatesPass]) -> list[FloatArray]:
            raise ZeroDivisionError("of all things")

    with pytest.raises(ZeroDivisionError, match="of all things"):
        list(Embedding().align_with(Broken(classifier("bert")), [TextPair(*TEXTS[:2])]))


def test_mistakes_are_told_in_one_line(classifier: Load) -> None:
    with pytest.raises(UserError, match="embedding: encoder: expected a folder, a hub id or a shipped model"):
        Embedding().align([TextPair(*TEXTS[:2])])
    with pytest.raises(UserError, match="embedding: layer: expected at most 2, the layers of the encoder, got 3"):
        list(Embedding(layer=3).align_with(classifier("bert"), [TextPair(*TEXTS[:2])]))
    with pytest.raises(UserError, match=r"layer: expected at least 0 .*, got -1"):
        Embedding(layer=-1)
    with pytest.raises(UserError, match="threshold: expected at least 0 and less than 1, got 1"):
        Embedding(threshold=1.0)
    with pytest.raises(UserError, match="there is no folder '/nowhere/at/all'"):
        Embedding(encoder="/nowhere/at/all").align([])
