"""Where to cut scores so that what lies above agrees best with a yes-or-no standard, and how well it agrees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from verax.types import BoolArray, FloatArray


class Overlap(NamedTuple):
    """How well what was found agrees with what is gold; None where it is a share of nothing."""

    precision: float | None
    recall: float | None
    f1: float | None


def overlap(right: int, found: int, gold: int) -> Overlap:
    """Precision, recall and F1 from counts: what is both found and gold, what is found, what is gold."""
    return Overlap(
        right / found if found else None,
        right / gold if gold else None,
        2 * right / (found + gold) if found + gold else None,
    )


def overlap_at(gold: BoolArray, scores: FloatArray, threshold: float) -> Overlap:
    """The same where everything is found whose score is at least a threshold.

    Args:
        gold: shape [n].
        scores: shape [n].
    """
    found = scores >= threshold
    return overlap(int((found & gold).sum()), int(found.sum()), int(gold.sum()))


def best_threshold(gold: BoolArray, scores: FloatArray) -> float:
    """The threshold with the best F1; of several that are best, the one that finds least.

    F1 can only change where the threshold passes a score, so a cut below each distinct score is tried, and no number is
    better. It lies halfway between the last score that is found and the next, so that rounding moves neither.

    Args:
        gold: shape [n]; at least one is true.
        scores: shape [n], finite.
    """
    if not gold.any():
        raise ValueError("no gold item: no threshold is better than another")
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    # equal scores are found together: only the last of them is a place to cut
    cuts = np.flatnonzero(np.append(descending[:-1] != descending[1:], True))
    right = np.cumsum(gold[order])[cuts]
    best = cuts[np.argmax(2 * right / (cuts + 1 + gold.sum()))]
    last = float(descending[best])
    if best + 1 == len(descending):
        return last
    following = float(descending[best + 1])
    halfway = following + (last - following) / 2
    return halfway if following < halfway else last
