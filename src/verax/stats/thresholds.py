"""The threshold at which scores agree best with a binary gold standard, and how well they agree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from verax.types import BoolArray, FloatArray


class Overlap(NamedTuple):
    """Agreement of selected items with gold items; None where the denominator is 0."""

    precision: float | None
    recall: float | None
    f1: float | None


def overlap(correct: int, selected: int, gold: int) -> Overlap:
    """Precision, recall and F1 from the numbers of correct, selected and gold items."""
    return Overlap(
        correct / selected if selected else None,
        correct / gold if gold else None,
        2 * correct / (selected + gold) if selected + gold else None,
    )


def overlap_at(gold: BoolArray, scores: FloatArray, threshold: float) -> Overlap:
    """Overlap of gold items and items whose score is at least a threshold.

    Args:
        gold: shape [n].
        scores: shape [n].
    """
    selected = scores >= threshold
    return overlap(int((selected & gold).sum()), int(selected.sum()), int(gold.sum()))


def best_threshold(gold: BoolArray, scores: FloatArray) -> float:
    """The threshold with the best F1; of several equally good ones, the one that selects least.

    F1 can only change where the threshold passes a score, so a cut below each distinct score is tried. It
    lies halfway between the last selected score and the next, so that rounding moves neither.

    Args:
        gold: shape [n]; at least one is true.
        scores: shape [n], finite.
    """
    if not gold.any():
        raise ValueError("no gold item: no threshold is better than another")
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    # equal scores are selected together: only the last of them is a place to cut
    cuts = np.flatnonzero(np.append(descending[:-1] != descending[1:], True))
    correct = np.cumsum(gold[order])[cuts]
    best = cuts[np.argmax(2 * correct / (cuts + 1 + gold.sum()))]
    last = float(descending[best])
    if best + 1 == len(descending):
        return last
    following = float(descending[best + 1])
    halfway = following + (last - following) / 2
    return halfway if following < halfway else last
