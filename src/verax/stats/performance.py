"""Performance of a classifier from counts, so that many resamples of a data set can be computed together."""

from __future__ import annotations

import numpy as np

from verax.types import FloatArray, IntArray, Performance


def counted(gold: IntArray, predicted: IntArray, classes: int) -> FloatArray:
    """Counts per instance, whose sums over instances determine the performance.

    Args:
        gold: class of each instance, shape [n].
        predicted: class predicted at each point, shape [n, points].
        classes: number of classes.

    Returns:
        For each class whether it is correct, predicted, gold: 0 or 1, shape [n, points, 3, classes].
    """
    named = np.arange(classes)
    is_gold = np.broadcast_to((gold[:, None] == named)[:, None, :], (*predicted.shape, classes))
    is_predicted = predicted[..., None] == named
    return np.stack([is_gold & is_predicted, is_predicted, is_gold], axis=2).astype(np.float32)


def performance(counts: FloatArray, metric: Performance) -> FloatArray:
    """Performance from sums of `counted`: [..., 3, classes] -> [...].

    As in scikit-learn: a class that is neither gold nor predicted does not count for macro F1, and Matthews's
    correlation is 0 where one side is constant.
    """
    right, guessed, gold = np.moveaxis(np.asarray(counts, np.float64), -2, 0)
    total = gold.sum(-1)
    if metric in {"accuracy", "micro_f1"}:  # the same number where every input has exactly one class
        return np.asarray(right.sum(-1) / total)
    if metric == "macro_f1":
        occurs = (guessed + gold) > 0
        f1 = np.divide(2 * right, guessed + gold, out=np.zeros_like(right), where=occurs)
        return np.asarray(f1.sum(-1) / occurs.sum(-1))
    agreed = right.sum(-1) * total - (guessed * gold).sum(-1)
    spread = (total**2 - (guessed**2).sum(-1)) * (total**2 - (gold**2).sum(-1))
    return np.asarray(np.divide(agreed, np.sqrt(spread), out=np.zeros_like(agreed), where=spread > 0))


def most_frequent(gold: IntArray) -> int:
    """The most frequent class; of several the first."""
    return int(np.bincount(gold).argmax())


def constant(gold: IntArray, label: int, metric: Performance) -> float:
    """The performance of always predicting one class."""
    classes = max(label, int(gold.max())) + 1
    return float(performance(counted(gold, np.full((len(gold), 1), label), classes).sum(0), metric)[0])
