"""From an explanation to highlighted words: one score a word, normalised within its input, cut at a threshold."""

from __future__ import annotations

import numpy as np

from verax.metrics.crosslingual.crosslingual_faithfulness import scores_of_words
from verax.types import FloatArray, Highlight, Instance

UNSCORED = "unscored_words"
Words = tuple[tuple[int, ...], ...]
"""Words of an input: for each part their numbers."""


def normalised(instance: Instance, highlight: Highlight) -> FloatArray | None:
    """The scores of all words of all parts in reading order, divided by their L2 norm: shape [words].

    Scores that are all zero stay zero. None if some word has no score (it was cut off).
    """
    scores = scores_of_words(instance, highlight)
    if not len(scores) or np.isnan(scores).any():
        return None
    largest = np.abs(scores).max()
    if largest == 0:
        return scores
    scaled = scores / largest  # so that squares neither overflow nor vanish
    return np.asarray(scaled / np.linalg.norm(scaled))


def binarised(instance: Instance, scores: FloatArray, threshold: float) -> Words:
    """The words whose score is at least the threshold.

    Args:
        scores: of all words in reading order, shape [words].
    """
    ends = np.cumsum([len(part.words) for part in instance.parts])[:-1]
    return tuple(tuple(np.flatnonzero(part >= threshold).tolist()) for part in np.split(scores, ends))
