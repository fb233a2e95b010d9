"""The words of an explanation, best first."""

from __future__ import annotations

import numpy as np

from verax.models.encoding import Encoded
from verax.types import FloatArray, Highlight, IntArray, Undefined


def word_scores(x: Encoded, highlight: Highlight) -> FloatArray:
    """The score of each word of x, shape [n_units]; Undefined unless the explanation scores every word."""
    if highlight.kind != "token":
        raise Undefined("needs_token_scores", f"this metric measures token scores, not {highlight.kind}")
    scores = dict(zip(highlight.units, highlight.scores, strict=True))
    missing = [unit for unit in x.units if unit not in scores]
    if missing:
        raise Undefined("unscored_words", f"{len(missing)} of {x.n_units} words have no score")
    return np.array([scores[unit] for unit in x.units])


def best_first(scores: FloatArray) -> IntArray:
    """Indices by signed score, descending; ties go to the lower index."""
    return np.argsort(-scores, kind="stable")
