"""Aggregation of scores over the dimensions of word embeddings."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from verax.types import FloatArray

Aggregation = Literal["sum", "mean", "l1", "l2"]


def over_dimensions(scores: FloatArray, aggregate: Aggregation) -> FloatArray:
    """One score per token: [tokens, ...] -> [tokens]; all other axes are aggregated together."""
    if scores.ndim == 1:
        return scores
    flat = scores.reshape(len(scores), math.prod(scores.shape[1:]))
    if aggregate == "sum":
        return np.asarray(flat.sum(1))
    if aggregate == "mean":
        return np.asarray(flat.mean(1))
    return np.asarray(np.linalg.norm(flat, ord=1 if aggregate == "l1" else 2, axis=1))
