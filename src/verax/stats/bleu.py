"""BLEU of a corpus from the counts of its sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from verax.types import FloatArray

ORDERS = 4
"""Sequences of one to four words are counted."""
_COUNTS = {"correct": ORDERS, "total": ORDERS, "lengths": 2}
"""What is counted in a sentence, by the names that `bleu` keeps it under, and how many numbers each is."""


def counts_of(series: Mapping[str, Sequence[float]]) -> list[float] | None:
    """The ten counts of a sentence in the order in which `corpus_bleu` sums them; None if some are missing."""
    series_counts = [series.get(name, ()) for name in _COUNTS]
    if [len(numbers) for numbers in series_counts] != list(_COUNTS.values()):
        return None
    return [value for numbers in series_counts for value in numbers]


def corpus_bleu(sums: FloatArray) -> FloatArray:
    """BLEU from 0 to 100 as sacrebleu gives it by default: an order without any match counts as half of the one before.

    Args:
        sums: over all sentences: matching sequences of each order, all sequences of each order, words of the
            hypotheses, words of the references; shape [..., 10].

    Returns:
        Shape [...].
    """
    correct, total = sums[..., :ORDERS], sums[..., ORDERS : 2 * ORDERS]
    own, reference = sums[..., -2], sums[..., -1]
    halved = np.cumsum(correct == 0, axis=-1)
    precision = np.where(correct > 0, correct, 0.5**halved) / np.maximum(total, 1)
    with np.errstate(divide="ignore"):
        means = np.exp(np.log(np.where(total > 0, precision, 0.0)).mean(axis=-1))
    brevity = np.exp(np.minimum(0.0, 1 - reference / np.maximum(own, 1)))
    return np.asarray(np.where(correct.any(axis=-1), 100 * brevity * means, 0.0))
