"""Links of a matrix of similarities as literal loops: what tests of aligners compare with."""

from __future__ import annotations

import math
from itertools import product

from verax.types import FloatArray


def softmax_by_loops(similarity: FloatArray, threshold: float) -> set[tuple[int, int]]:
    """Both probabilities of each cell, one by one."""
    rows, columns = similarity.shape
    found = set()
    for i, j in product(range(rows), range(columns)):
        there = math.exp(similarity[i, j]) / sum(math.exp(similarity[i, k]) for k in range(columns))
        back = math.exp(similarity[i, j]) / sum(math.exp(similarity[k, j]) for k in range(rows))
        if there > threshold and back > threshold:
            found.add((i, j))
    return found


def argmax_by_loops(similarity: list[list[float]]) -> set[tuple[int, int]]:
    """A cell that is the first largest one of its row and of its column."""
    rows, columns = len(similarity), len(similarity[0])
    found = set()
    for i, j in product(range(rows), range(columns)):
        row, column = similarity[i], [similarity[k][j] for k in range(rows)]
        if row.index(max(row)) == j and column.index(max(column)) == i:
            found.add((i, j))
    return found


def itermax_by_loops(similarity: list[list[float]]) -> set[tuple[int, int]]:
    """Two rounds; in the second, cells are worth 1, 0.9 or nothing by how many of their words have no link."""
    rows, columns = len(similarity), len(similarity[0])
    found = argmax_by_loops(similarity)
    if rows <= 2 or columns <= 2:
        return found
    linked_rows, linked_columns = {i for i, _ in found}, {j for _, j in found}
    if len(linked_rows) == rows or len(linked_columns) == columns:
        return found
    worth = {0: 1.0, 1: 0.9, 2: 0.0}
    weighed = [
        [similarity[i][j] * worth[(i in linked_rows) + (j in linked_columns)] for j in range(columns)]
        for i in range(rows)
    ]
    second = {(i, j) for i, j in argmax_by_loops(weighed) if not (i in linked_rows and j in linked_columns)}
    return found | second
