"""Words of an explanation, ranked by score."""

from __future__ import annotations

import numpy as np

from verax.models.subject import Subject
from verax.types import FloatArray, Highlight, IntArray, Undefined


def word_scores(x: Subject, highlight: Highlight) -> FloatArray:
    """The score of each word of x, shape [n_units].

    A word in several units (pairs, spans) has the largest of their scores; words outside all units come last, tied.
    Raises Undefined if an explanation by words does not score every word.
    """
    best: dict[tuple[int, int], float] = {}
    for unit, score in zip(highlight.units, highlight.scores, strict=True):
        for span in unit:
            for word in range(span.start, span.end):
                best[span.part, word] = max(score, best.get((span.part, word), -np.inf))
    words = x.words
    missing = sum(word not in best for word in words)
    if missing and (highlight.kind == "token" or not best):
        raise Undefined("unscored_words", f"{missing} of {x.n_units} words have no score")
    last = min(best.values(), default=0.0) - 1.0
    return np.array([best.get(word, last) for word in words])


def needs_tokens(highlight: Highlight) -> None:
    """Raise Undefined for an explanation that scores anything but words."""
    if highlight.kind != "token":
        raise Undefined("needs_token_scores", f"this metric measures token scores, not {highlight.kind}")


def best_first(scores: FloatArray) -> IntArray:
    """Indices by signed score, descending; ties go to the lower index."""
    return np.argsort(-scores, kind="stable")
