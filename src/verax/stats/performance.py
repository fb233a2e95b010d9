"""How well a classifier does on a data set, from counts: of the data set itself and of many resamples of it at once."""

from __future__ import annotations

import numpy as np

from verax.types import FloatArray, IntArray, Performance


def counted(gold: IntArray, predicted: IntArray, classes: int) -> FloatArray:
    """What performance is made of, one row an instance, so that sums over instances are all that is needed.

    Args:
        gold: class of each instance, shape [n].
        predicted: class predicted at each point, shape [n, points].
        classes: how many there are.

    Returns:
        For each class 1 where it was right, where it was predicted, where it is gold: shape [n, points, 3, classes].
    """
    named = np.arange(classes)
    is_gold = np.broadcast_to((gold[:, None] == named)[:, None, :], (*predicted.shape, classes))
    is_predicted = predicted[..., None] == named
    return np.stack([is_gold & is_predicted, is_predicted, is_gold], axis=2).astype(np.float32)


def performance(counts: FloatArray, metric: Performance) -> FloatArray:
    """The performance that sums of `counted` stand for: [..., 3, classes] -> [...].

    As in scikit-learn: a class that is neither gold nor predicted does not count for macro F1, and Matthews's
    correlation is 0 where one side is constant.
    """
    right, guessed, gold = np.moveaxis(np.asarray(counts, np.float64), -2, 0)
    total = gold.sum(-1)
    if metric in {"accuracy", "micro_f1"}:  # the same number where every input has exactly one class
        return np.asarray(right.sum(-1) / total)
    if metric == "macro_f1":
        there = (guessed + gold) > 0
        f1 = np.divide(2 * right, guessed + gold, out=np.zeros_like(right), where=there)
        return np.asarray(f1.sum(-1) / there.sum(-1))
    agreed = right.sum(-1) * total - (guessed * gold).sum(-1)
    spread = (total**2 - (guessed**2).sum(-1)) * (total**2 - (gold**2).sum(-1))
    return np.asarray(np.divide(agreed, np.sqrt(spread), out=np.zeros_like(agreed), where=spread > 0))


def majority(gold: IntArray, classes: int, metric: Performance) -> float:
    """The performance of always naming the most frequent class."""
    most = np.bincount(gold, minlength=classes).argmax()
    return float(performance(counted(gold, np.full((len(gold), 1), most), classes).sum(0), metric)[0])
