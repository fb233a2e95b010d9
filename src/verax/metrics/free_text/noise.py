"""The noise floor of the counterfactual test: words drawn at random from all inputs, at places drawn at random.

A random edit is like one of the editor's: as many words, content words unless that one has none. Function words stand
in most explanations, so an edit of nothing else is mentioned by chance far more often than another.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import cycle, islice

import numpy as np

from verax.metrics.free_text.editor import has_letter, open_parts, places
from verax.metrics.free_text.insertion import Insertion
from verax.stats.drawing import rng_of
from verax.types import Instance

_TRIES = 64
"""Draws for each word: far more than it takes, unless there is hardly a word among the vocabulary."""


def random_insertions(
    instance: Instance,
    like: Sequence[Sequence[str]],
    vocabulary: Sequence[str],
    *,
    count: int,
    seed: int,
    stops: Collection[str] = (),
    parts: Collection[int] | None = None,
) -> tuple[Insertion, ...]:
    """As many insertions as asked for; none where there is no word or no place for one.

    Args:
        instance: what is edited.
        like: the words of edits that these are to be like, in turn; one content word where there are none.
        vocabulary: words, as often as they occur; those without a letter are not drawn.
        stops: function words, in lower case.
        count: how many.
        seed: the same seed gives the same edits of the same text.
        parts: those that may be edited, all by default.
    """
    rng = rng_of(seed, (part.raw for part in instance.parts), b"noise")
    fit = [number for number in open_parts(instance, parts) if places(instance.parts[number])]
    if not fit or not vocabulary:
        return ()
    made = []
    for model in islice(cycle(like or (("",),)), count):
        part = fit[rng.integers(len(fit))]
        position = int(rng.integers(places(instance.parts[part])))
        words = _words(vocabulary, model, stops, rng)
        made += [Insertion(part, position, words)] if len(words) == len(model) else []
    return tuple(made)


def _words(
    vocabulary: Sequence[str], like: Sequence[str], stops: Collection[str], rng: np.random.Generator
) -> tuple[str, ...]:
    """As many words as those, all of them function words if those are."""
    function = all(word.lower() in stops for word in like)
    drawn = (vocabulary[i] for i in rng.integers(len(vocabulary), size=_TRIES * len(like)))
    fit = (word for word in drawn if has_letter([word]) and (word.lower() in stops) == function)
    return tuple(islice(fit, len(like)))
