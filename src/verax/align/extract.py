"""From a matrix of similarities to links: softmax both ways, mutual argmax, itermax."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.special import softmax

from verax.types import BoolArray, FloatArray, IntArray

Extract = Literal["softmax", "argmax", "itermax"]

ALPHA = 0.9
"""Factor of itermax for similarities where one of the two words already has a link."""


def softmax_links(similarity: FloatArray, threshold: float) -> BoolArray:
    """Links where the softmax over the row and that over the column both exceed a threshold; shape [rows, columns].

    Dou and Neubig 2021, Section 2.2.

    Args:
        similarity: dot products, shape [rows, columns], not empty.
        threshold: minimum probability, from 0 to 1.
    """
    return np.asarray((softmax(similarity, axis=1) > threshold) & (softmax(similarity, axis=0) > threshold))


def argmax_links(similarity: FloatArray) -> BoolArray:
    """Links where a row and a column are each the most similar to the other; the first of equals counts.

    Jalili Sabet et al. 2020, Section 3.2. Shapes as for `softmax_links`.
    """
    linked = np.zeros(similarity.shape, bool)
    best = similarity.argmax(1)
    rows = np.flatnonzero(similarity.argmax(0)[best] == np.arange(len(best)))
    linked[rows, best[rows]] = True
    return linked


def itermax_links(similarity: FloatArray) -> BoolArray:
    """Mutual argmax, then a second round, so that a word can get a second link.

    In the second round a similarity counts in full if both words have no link, `ALPHA` times if one has none, and not
    at all if both have one. As in the authors' code, there is no second round if a side has at most two words or is
    fully linked.

    Jalili Sabet et al. 2020, Section 3.2 and Algorithm 1. Shapes as for `softmax_links`; no similarity is negative.
    """
    linked = argmax_links(similarity)
    free_rows, free_columns = ~linked.any(1, keepdims=True), ~linked.any(0, keepdims=True)
    if min(similarity.shape) <= 2 or not free_rows.any() or not free_columns.any():
        return linked
    eligible = free_rows | free_columns
    weight = np.where(free_rows & free_columns, 1.0, ALPHA) * eligible
    return linked | (argmax_links(similarity * weight) & eligible)


def cosine(left: FloatArray, right: FloatArray) -> FloatArray:
    """Cosines moved to 0 to 1, as itermax needs them: [rows, dimensions], [columns, dimensions] -> [rows, columns]."""
    return np.asarray((_unit(left) @ _unit(right).T + 1) / 2)


def word_links(linked: BoolArray, row_word: IntArray, column_word: IntArray, shape: tuple[int, int]) -> IntArray:
    """Sorted pairs of words any of whose sub-words are linked, shape [links, 2].

    Args:
        linked: which sub-words are linked, shape [rows, columns].
        row_word, column_word: the word of each sub-word, shape [rows] and [columns].
        shape: numbers of words of both sides.
    """
    rows, columns = np.nonzero(linked)
    words = np.zeros(shape, bool)
    words[row_word[rows], column_word[columns]] = True
    return np.argwhere(words)


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))  # a zero vector is equally far from all others
