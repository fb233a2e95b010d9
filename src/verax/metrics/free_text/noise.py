"""The noise floor of the counterfactual test: random words from all inputs, at random positions.

A random edit resembles one of the editor's: as many words, and content words unless that one has none. Function words
are in most explanations, so an edit of function words is mentioned at random far more often.
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
"""Number of draws for each word: far more than needed, unless hardly any entry of the vocabulary fits."""


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
    """`count` random insertions; none if there is no word or no position for one.

    Args:
        instance: the input to edit.
        like: words of the edits to resemble, in turn; one content word if there are none.
        vocabulary: words, as often as they occur; those without a letter are not drawn.
        stops: function words, in lower case.
        count: number of insertions.
        seed: a text gets the same edits for the same seed.
        parts: parts that may be edited, all by default.
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
    """As many words as in `like`; function words if all of `like` are."""
    function = all(word.lower() in stops for word in like)
    drawn = (vocabulary[i] for i in rng.integers(len(vocabulary), size=_TRIES * len(like)))
    fit = (word for word in drawn if has_letter([word]) and (word.lower() in stops) == function)
    return tuple(islice(fit, len(like)))
