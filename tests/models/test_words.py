"""Sub-words find their word by offsets, in every script and with every kind of tokenizer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.data.text import split_words
from verax.models.classifier import Classifier
from verax.models.words import split_by_tokens, words_of_tokens
from verax.types import Human, Instance, Span, Text

TEXTS = (
    "don't stop well-known boats, 3.14!",
    "das große Haus",
    "यह छोटा घर है",
    "هذا البيت صغير",
    "这是一个小房子 靠近河边",
    "👩‍👩‍👧 e\u0301te\u0301",
)


def brute_force(text: Text, offsets: list[tuple[int, int]]) -> list[int]:
    found = []
    for start, end in offsets:
        overlaps = [max(0, min(end, e) - max(start, s)) for s, e in text.offsets]
        if max(overlaps) > 0:
            found.append(overlaps.index(max(overlaps)))
        else:
            after = [i for i, (_, e) in enumerate(text.offsets) if e > start]
            found.append(after[0] if after else len(text.words) - 1)
    return found


@given(st.text(alphabet="ab ,é्य", min_size=1, max_size=20), st.data())
def test_most_overlap_wins(raw: str, data: st.DataObject) -> None:
    text = split_words(raw)
    if not text.words:
        return
    bounds = st.integers(0, len(raw))
    spans = data.draw(st.lists(st.tuples(bounds, bounds).map(lambda pair: (min(pair), max(pair))), max_size=8))
    assert words_of_tokens(text, spans).tolist() == brute_force(text, spans)


@pytest.mark.parametrize("architecture", ["bert", "roberta", "xlm-roberta", "gpt2", "llama"])
@pytest.mark.parametrize("raw", TEXTS)
def test_every_token_has_its_word(architecture: str, raw: str, classifier: Callable[..., Classifier]) -> None:
    """Tokens in order belong to words in order, and each word that the tokenizer did not drop has its tokens."""
    encoding = classifier(architecture).encode(Instance("x", (split_words(raw), split_words(raw))))
    own = encoding.token_unit[encoding.token_unit >= 0]
    assert (np.diff(own) >= 0).all()
    n = len(encoding.instance.parts[0].words)
    first = own[own < n]
    second = own[own >= n]
    assert len(first) > 0
    assert set(first.tolist()) == {unit - n for unit in second.tolist()}


@pytest.mark.parametrize("architecture", ["bert", "roberta", "xlm-roberta"])
@pytest.mark.parametrize("raw", TEXTS)
def test_by_token(architecture: str, raw: str, classifier: Callable[..., Classifier]) -> None:
    """Each sub-word becomes a word; gold goes with the characters."""
    text = split_words(raw)
    gold = Human(words=((0,),), span_pairs=((Span(0, 0, 1), Span(0, 1, 2)),))
    model = classifier(architecture)
    split = model.by_token(Instance("x", (text,), human=gold))
    fine = split.parts[0]
    assert fine.raw == raw
    assert len(fine.words) >= len(text.words) or architecture == "xlm-roberta"
    assert split.human is not None
    assert split.human.words is not None
    end = text.offsets[0][1]
    assert all(fine.offsets[i][0] < end for i in split.human.words[0])
    encoding = model.encode(split)
    assert set(encoding.token_unit[encoding.token_unit >= 0].tolist()) == set(range(len(fine.words)))


def test_span_pairs_follow_their_characters() -> None:
    text = split_words("unbelievable boats sail")
    cuts = [(0, 2), (2, 12), (13, 17), (17, 18), (19, 23)]
    human = Human(words=((1,),), span_pairs=((Span(0, 0, 1), Span(0, 1, 3)),))
    split = split_by_tokens(Instance("x", (text,), human=human), [cuts])
    assert split.parts[0].words == ("un", "believable", "boat", "s", "sail")
    assert split.human == Human(words=((2, 3),), span_pairs=((Span(0, 0, 2), Span(0, 2, 5)),))
