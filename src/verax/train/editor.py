"""What an editor is taught: to write the one to three words that are masked in an input, given its class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from verax.models.editor_wording import EditorFacts, editor_prompt
from verax.train.text_pairs import Pair
from verax.types import Dataset, Instance, Span, Text

MOST = 3
"""Words that are masked at the most (Atanasova et al. 2023, Section 3)."""


def editor_pairs(
    facts: EditorFacts, dataset: Dataset, classes: Mapping[str, str], *, masks: int = 1, seed: int = 0
) -> list[Pair]:
    """A pair for each mask of each input: the input with the mark and its class, and the words.

    Which words are masked is drawn for each input by itself: leaving others out changes nothing.

    Args:
        classes: the class of each input, by its id; an input without one is left out.
        masks: how many pairs are made of each input, each masked anew.
        seed: of the draws.
    """
    known = [instance for instance in dataset.instances if instance.id in classes]
    return [
        Pair(editor_prompt(facts, instance, *place, classes[instance.id], words=count).user, target)
        for instance in known
        for place, count, target in _drawn(instance, masks, seed)
    ]


def _drawn(instance: Instance, masks: int, seed: int) -> Iterator[tuple[tuple[int, int], int, str]]:
    """Part and position, how many words, and their text; a mask that is drawn twice counts once."""
    rng = np.random.default_rng([seed, *"\n".join(part.raw for part in instance.parts).encode()])
    spans = [_spans(instance, count) for count in range(1, MOST + 1)]
    drawn: dict[Span, None] = {}
    for _ in range(masks):
        wanted = int(rng.integers(1, MOST + 1))
        possible = next((found for found in reversed(spans[:wanted]) if found), [])
        if possible:
            drawn[possible[int(rng.integers(len(possible)))]] = None
    for span in drawn:
        yield (span.part, span.start), span.end - span.start, _text(instance.parts[span.part], span)


def _spans(instance: Instance, count: int) -> list[Span]:
    """So many words in a row, each of them more than punctuation, anywhere in the input."""
    return [
        Span(number, start, start + count)
        for number, text in enumerate(instance.parts)
        for start in range(len(text.words) - count + 1)
        if all(any(sign.isalnum() for sign in word) for word in text.words[start : start + count])
    ]


def _text(text: Text, span: Span) -> str:
    return " ".join(text.raw[text.offsets[span.start][0] : text.offsets[span.end - 1][1]].split())
