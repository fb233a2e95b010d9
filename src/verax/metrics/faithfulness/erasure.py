"""Erasure curves: the predicted class while the top words of an explanation are deleted, or alone are left."""

from __future__ import annotations

from typing import Literal

import numpy as np

from verax.engine.asks import Asking, Outputs, resolve
from verax.metrics.ranking import best_first, word_scores
from verax.models.encoding import Encoded
from verax.types import FloatArray, Highlight, Measured, Removal, Target, UserError

BINS = (0.01, 0.05, 0.10, 0.20, 0.50)
Average = Literal["deyoung", "mean"]


def check_bins(metric: str, bins: tuple[float, ...]) -> None:
    """Refuse bins that are no shares of the words."""
    if not bins or not all(0 < share <= 1 for share in bins):
        raise UserError(f"{metric}: bins: got {list(bins)}; they must be shares of the words, above 0 and at most 1")


def aopc(
    x: Encoded,
    highlight: Highlight,
    *,
    top: Literal["removed", "kept"],
    bins: tuple[float, ...],
    removal: Removal,
    average: Average,
) -> Asking[Measured]:
    """Area over the perturbation curve (DeYoung et al. 2020, Section 4.2).

    For each bin p the top max(1, round(p * n)) words of all parts in one ranking are removed, or all others are, and
    the drop in probability of the class predicted for the full input is taken. The drops are summed and divided by
    the number of bins plus one (`deyoung`: the empty bin counts, with a drop of 0) or by the number of bins (`mean`).
    """
    readout = yield from resolve(Target("prediction", "probability"), x)
    order = best_first(word_scores(x, highlight))
    in_top = np.zeros((len(bins), x.n_units), bool)
    for row, share in zip(in_top, bins, strict=True):
        row[order[: max(1, round(share * x.n_units))]] = True
    logits: FloatArray = yield Outputs(x, in_top if top == "kept" else ~in_top, removal, and_full=True)
    values = readout(logits)
    drops = values[-1] - values[:-1]
    divisor = len(bins) + 1 if average == "deyoung" else len(bins)
    return Measured(float(drops.sum()) / divisor, tuple(drops.tolist()))
