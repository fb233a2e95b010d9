"""From a score for each dimension of each token to a score for each word."""

from __future__ import annotations

import numpy as np

from verax.models.subject import Subject
from verax.stats.aggregation import Aggregation, over_dimensions
from verax.types import FloatArray, IntArray, Undefined

NOISE = 1e-5
"""A sum smaller than this share of its terms is considered rounding noise, in any precision."""


def over_subwords(scores: FloatArray, token_unit: IntArray, x: Subject) -> FloatArray:
    """Drop special tokens and sum the sub-words of each word: [tokens] -> [n_units]."""
    own = token_unit >= 0
    totals = np.bincount(token_unit[own], weights=scores[own], minlength=x.encoding.n_units)
    return np.asarray(totals[x.alive])


def over_subword_pairs(scores: FloatArray, token_unit: IntArray, x: Subject) -> FloatArray:
    """Drop special tokens and average over the sub-words of both words: [tokens, tokens] -> [n_units, n_units]."""
    member = (token_unit[None, :] == x.alive[:, None]).astype(np.float64)  # [n_units, tokens]
    share = member / np.maximum(member.sum(1, keepdims=True), 1)
    return np.asarray(share @ scores @ share.T)


def to_words(
    scores: FloatArray, token_unit: IntArray, x: Subject, *, aggregate: Aggregation, absolute: bool
) -> FloatArray:
    """From a score for each dimension of each token to one for each word: [tokens, dimensions] -> [n_units].

    `absolute` takes |.| of each sub-word before they are summed.
    """
    tokens = over_dimensions(scores, aggregate)
    return over_subwords(np.abs(tokens) if absolute else tokens, token_unit, x)


def check_signal(gradient: FloatArray, aggregate: Aggregation) -> None:
    """Raise Undefined if the dimensions of a gradient cancel out.

    The gradient at an embedding that goes straight into a layer norm sums to zero over its dimensions: the signed sum
    or mean is rounding noise, and so is any ranking of words based on it.
    """
    if aggregate not in {"sum", "mean"}:
        return
    if np.abs(gradient.sum(1)).max() <= NOISE * np.abs(gradient).sum(1).max():
        raise Undefined("no_signal", f"the gradient sums to zero over dimensions; aggregate: l2 or l1, not {aggregate}")
