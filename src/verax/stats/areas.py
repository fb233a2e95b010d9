"""Areas between performance curves: ACU and RACU (Madsen, Reddy and Chandar 2024, Equation 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from verax.stats.intervals import RESAMPLES, bootstrap_sums, with_interval
from verax.stats.performance import counted, performance
from verax.types import Estimate, FloatArray, IntArray, Performance

FLAT = 1e-12


def acu(random: FloatArray, curve: FloatArray) -> FloatArray:
    """Area between the random curve and another one over equal steps from 0 to 1: [..., points] -> [...]."""
    return np.asarray(np.trapezoid(random - curve, dx=1 / (curve.shape[-1] - 1), axis=-1))


def racu(random: FloatArray, curve: FloatArray) -> FloatArray:
    """ACU as a share of the area between the random curve and its end; NaN unless that area is positive."""
    whole = area_above_end(random)
    shape = np.broadcast_shapes(random.shape[:-1], curve.shape[:-1])
    known = np.broadcast_to(whole > FLAT, shape)
    return np.asarray(np.divide(acu(random, curve), whole, out=np.full(shape, np.nan), where=known))


def area_above_end(curve: FloatArray) -> FloatArray:
    """Area between a curve and its last point: [..., points] -> [...]."""
    return acu(curve, np.broadcast_to(curve[..., -1:], curve.shape))


class Areas(NamedTuple):
    """A performance curve and its areas; `racu` is None unless masking at random costs performance.

    `random` is the area above the end of the random curve. Where its interval reaches 0, racu has no interval.
    """

    curve: tuple[Estimate, ...]
    acu: Estimate
    racu: Estimate | None
    random: Estimate


def curve_areas(
    gold: IntArray,
    random: IntArray,
    predicted: IntArray,
    metric: Performance,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Areas:
    """The performance curve of one measure and its areas, with BCa intervals over instances.

    An instance is resampled with all its maskings. They were drawn for each instance independently, so the variance of
    the draws is part of the intervals.

    Args:
        gold: classes, shape [instances].
        random, predicted: classes predicted while words are masked at random and by the measure, shape [instances,
            maskings, points] each; the curve is the mean over maskings.
        metric: how performance is measured.
        resamples: 0 for no intervals.
    """
    points = random.shape[-1]
    classes = int(max(gold.max(), random.max(), predicted.max())) + 1
    if metric in {"accuracy", "micro_f1"}:  # right or wrong is all that counts, however many classes there are
        classes, random, predicted = 1, random != gold[:, None, None], predicted != gold[:, None, None]
        gold = np.zeros_like(gold)
    counts = [counted(gold, which.reshape(len(gold), -1), classes) for which in (random, predicted)]

    def quantities(*sums: FloatArray) -> FloatArray:
        """Curve and areas next to each other: two of [rows, maskings * points, 3, classes] -> [rows, points + 3]."""
        random_curve, curve = (performance(one, metric).reshape(len(one), -1, points).mean(1) for one in sums)
        areas = [acu(random_curve, curve), racu(random_curve, curve), area_above_end(random_curve)]
        return np.concatenate([curve, np.stack(areas, axis=-1)], axis=-1)

    observed, low, high = bootstrap_sums(counts, quantities, seed=seed, resamples=resamples)
    *curve, area, relative, whole = (with_interval(*ends) for ends in zip(observed, low, high, strict=True))
    if whole.low is not None and whole.low <= FLAT:
        relative = Estimate(relative.value)
    return Areas(tuple(curve), area, relative if np.isfinite(relative.value) else None, whole)
