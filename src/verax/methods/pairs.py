"""Pairs of words: which pairs an interaction scores, and its scores as an explanation."""

from __future__ import annotations

from typing import Literal

import numpy as np

from verax.models.subject import Subject
from verax.types import Attribution, FloatArray, IntArray, Note, Undefined

Pairing = Literal["between", "within"]
"""`between` pairs each word of the first part with each of the second; `within` pairs words of the same part."""


def word_pairs(x: Subject, parts: Pairing) -> IntArray:
    """Pairs of words of x by number, in reading order: shape [pairs, 2]."""
    part = np.array([unit[0].part for unit in x.units])
    first, second = np.triu_indices(len(part), k=1)
    if parts == "between":
        count = len(x.instance.parts)
        if count != 2:
            raise Undefined("needs_two_parts", f"the input has {count}; parts: within pairs the words of the same part")
        chosen = part[first] != part[second]
    else:
        chosen = part[first] == part[second]
    if not chosen.any():
        where = "a part has no word left" if parts == "between" else "no part has two words"
        raise Undefined("no_pairs", where)
    return np.stack([first[chosen], second[chosen]], axis=1)


def pair_attribution(
    x: Subject, scores: FloatArray, parts: Pairing, *, directed: bool = False, **notes: Note
) -> Attribution:
    """Result of an interaction: a score for each pair of words.

    Args:
        scores: shape [n_units, n_units]; entry [i, j] is the score of the direction from i to j.
        directed: score both directions as two units; otherwise the mean of the two.
    """
    pairs = word_pairs(x, parts)
    i, j = pairs.T
    if directed:
        i, j = np.concatenate([i, j]), np.concatenate([j, i])
        values = scores[i, j]
    else:
        values = (scores[i, j] + scores[j, i]) / 2
    words = x.units
    units = tuple((words[a][0], words[b][0]) for a, b in zip(i.tolist(), j.tolist(), strict=True))
    return Attribution(units, np.asarray(values, np.float64), {**x.encoding.notes, **notes})
