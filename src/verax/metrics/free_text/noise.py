"""The noise floor of the counterfactual test: words drawn at random from all inputs, at places drawn at random."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import cycle, islice

import numpy as np

from verax.metrics.free_text.editor import has_letter, places
from verax.metrics.free_text.insertion import Insertion
from verax.stats.drawing import rng_of
from verax.types import Instance

_TRIES = 64
"""Draws for each word: far more than it takes, unless there is hardly a word among the vocabulary."""


def random_insertions(
    instance: Instance,
    lengths: Sequence[int],
    vocabulary: Sequence[str],
    *,
    count: int,
    seed: int,
    stops: Collection[str] = (),
    parts: Collection[int] | None = None,
) -> tuple[Insertion, ...]:
    """As many insertions as asked for, of the given lengths in turn; none where there is no word or no place for one.

    Args:
        instance: what is edited.
        lengths: in words; one word where there are none.
        vocabulary: words, as often as they occur; those without a letter are not drawn.
        stops: words in lower case that are not drawn either: stop words are met in any explanation.
        count: how many.
        seed: the same seed gives the same edits of the same text.
        parts: those that may be edited, all by default.
    """
    rng = rng_of(seed, (part.raw for part in instance.parts), b"noise")
    open_parts = [
        number for number, part in enumerate(instance.parts) if (parts is None or number in parts) and places(part)
    ]
    if not open_parts or not vocabulary:
        return ()
    made = []
    for length in islice(cycle(lengths or (1,)), count):
        part = open_parts[rng.integers(len(open_parts))]
        position = int(rng.integers(places(instance.parts[part])))
        words = _words(vocabulary, length, stops, rng)
        made += [Insertion(part, position, words)] if len(words) == length else []
    return tuple(made)


def _words(vocabulary: Sequence[str], count: int, stops: Collection[str], rng: np.random.Generator) -> tuple[str, ...]:
    drawn = (vocabulary[i] for i in rng.integers(len(vocabulary), size=_TRIES * count))
    return tuple(islice((word for word in drawn if has_letter([word]) and word.lower() not in stops), count))
