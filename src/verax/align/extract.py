"""From a matrix of similarities to links: softmax both ways, mutual argmax, itermax."""

from __future__ import annotations

from typing import Literal

import numpy as np

from verax.types import BoolArray, FloatArray, IntArray

Extract = Literal["softmax", "argmax", "itermax"]

ALPHA = 0.9
"""Factor of itermax for similarities where one of the two words already has a link."""
ROUNDS = 2


def softmax_links(similarity: FloatArray, threshold: float) -> BoolArray:
    """Where both directions are more probable than the threshold: the softmax of each row, and that of each column.

    Dou and Neubig 2021, Section 2.2.

    Args:
        similarity: dot products, shape [rows, columns], neither empty.
        threshold: of the probability, from 0 to 1.

    Returns:
        Which row is linked to which column, shape [rows, columns].
    """
    return np.asarray((_softmax(similarity, 1) > threshold) & (_softmax(similarity, 0) > threshold))


def argmax_links(similarity: FloatArray) -> BoolArray:
    """Where a row and a column are each the most similar to the other; the first of equals counts.

    Jalili Sabet et al. 2020, Section 3.2. Shapes as for `softmax_links`.
    """
    linked = np.zeros(similarity.shape, bool)
    best = similarity.argmax(1)
    rows = np.flatnonzero(similarity.argmax(0)[best] == np.arange(len(best)))
    linked[rows, best[rows]] = True
    return linked


def itermax_links(similarity: FloatArray) -> BoolArray:
    """Mutual argmax, then once more for what it left over, so that a word can get a second link.

    In the second round a similarity counts in full if both are without a link, `ALPHA` times if one is, and not at all
    if none is. As in the code of its authors, there is no such round where a side has no more than two or is already
    linked throughout.

    Jalili Sabet et al. 2020, Section 3.2 and Algorithm 1. Shapes as for `softmax_links`; no similarity is negative.
    """
    linked = argmax_links(similarity)
    if min(similarity.shape) <= 2:
        return linked
    for _ in range(ROUNDS - 1):
        free_rows, free_columns = ~linked.any(1, keepdims=True), ~linked.any(0, keepdims=True)
        if not free_rows.any() or not free_columns.any():
            break
        eligible = free_rows | free_columns
        weight = np.where(free_rows & free_columns, 1.0, ALPHA) * eligible
        linked = linked | (argmax_links(similarity * weight) & eligible)
    return linked


def cosine(left: FloatArray, right: FloatArray) -> FloatArray:
    """Cosines moved to 0 to 1, as itermax needs them: [rows, dimensions], [columns, dimensions] -> [rows, columns]."""
    return np.asarray((_unit(left) @ _unit(right).T + 1) / 2)


def word_links(linked: BoolArray, row_word: IntArray, column_word: IntArray, shape: tuple[int, int]) -> IntArray:
    """Two words are linked when any of their sub-words are.

    Args:
        linked: which sub-words are, shape [rows, columns].
        row_word, column_word: the word of each, shape [rows] and [columns].
        shape: how many words each side has.

    Returns:
        Sorted pairs of words, shape [links, 2].
    """
    rows, columns = np.nonzero(linked)
    words = np.zeros(shape, bool)
    words[row_word[rows], column_word[columns]] = True
    return np.argwhere(words)


def _softmax(similarity: FloatArray, axis: int) -> FloatArray:
    powers = np.exp(similarity - similarity.max(axis, keepdims=True))
    return np.asarray(powers / powers.sum(axis, keepdims=True))


def _unit(vectors: FloatArray) -> FloatArray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))  # a zero vector is as far from all others
