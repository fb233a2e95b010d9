"""From a score for each dimension of each token to a score for each word."""

from __future__ import annotations

from typing import Literal

import numpy as np

from verax.models.encoding import Encoded
from verax.types import FloatArray, IntArray

Aggregation = Literal["sum", "mean", "l1", "l2"]


def over_dimensions(scores: FloatArray, how: Aggregation) -> FloatArray:
    """Aggregate over the dimensions of the word embedding: [tokens, dimensions] -> [tokens]."""
    if how == "sum":
        return np.asarray(scores.sum(1))
    if how == "mean":
        return np.asarray(scores.mean(1))
    return np.asarray(np.linalg.norm(scores, ord=1 if how == "l1" else 2, axis=1))


def over_subwords(scores: FloatArray, token_unit: IntArray, x: Encoded) -> FloatArray:
    """Drop special tokens and sum the sub-words of each word: [tokens] -> [n_units]."""
    own = token_unit >= 0
    totals = np.bincount(token_unit[own], weights=scores[own], minlength=len(x.encoding.units))
    return np.asarray(totals[x.alive])
