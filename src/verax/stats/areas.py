"""Areas between performance curves: ACU and RACU (Madsen, Reddy and Chandar 2024, Equation 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from verax.stats.inference import RESAMPLES
from verax.stats.performance import counted, performance
from verax.stats.resampling import bootstrap_sums, with_interval
from verax.types import Estimate, FloatArray, IntArray, Performance

FLAT = 1e-12


def acu(random: FloatArray, curve: FloatArray) -> FloatArray:
    """Area between the random curve and another one over equal steps from 0 to 1: [..., points] -> [...]."""
    return np.asarray(np.trapezoid(random - curve, dx=1 / (curve.shape[-1] - 1), axis=-1))


def racu(random: FloatArray, curve: FloatArray) -> FloatArray:
    """ACU as a share of the area between the random curve and its end; NaN where there is no such area."""
    whole = acu(random, np.broadcast_to(random[..., -1:], random.shape))
    shape = np.broadcast_shapes(random.shape[:-1], curve.shape[:-1])
    known = np.broadcast_to(np.abs(whole) > FLAT, shape)
    return np.asarray(np.divide(acu(random, curve), whole, out=np.full(shape, np.nan), where=known))


class Areas(NamedTuple):
    """A performance curve and its areas; `racu` is None where masking at random costs nothing."""

    curve: tuple[Estimate, ...]
    acu: Estimate
    racu: Estimate | None


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

    Args:
        gold: classes, shape [instances].
        random, predicted: classes predicted while words are masked at random and by the measure, shape [instances,
            points].
        metric: how performance is measured.
        resamples: 0 for no intervals.
    """
    classes = int(max(gold.max(), random.max(), predicted.max())) + 1
    if metric in {"accuracy", "micro_f1"}:  # right or wrong is all that counts, however many classes there are
        classes, random, predicted = 1, random != gold[:, None], predicted != gold[:, None]
        gold = np.zeros_like(gold)
    counts = np.stack([counted(gold, which, classes) for which in (random, predicted)], axis=1)

    def quantities(sums: FloatArray) -> FloatArray:
        """Curve, ACU and RACU next to each other: [rows, 2, points, 3, classes] -> [rows, points + 2]."""
        both = performance(sums, metric)
        random_curve, curve = both[..., 0, :], both[..., 1, :]
        areas = [acu(random_curve, curve)[..., None], racu(random_curve, curve)[..., None]]
        return np.concatenate([curve, *areas], axis=-1)

    observed, low, high = bootstrap_sums([counts], quantities, seed=seed, resamples=resamples)
    values = [with_interval(*ends) for ends in zip(observed, low, high, strict=True)]
    return Areas(tuple(values[:-2]), values[-2], values[-1] if np.isfinite(observed[-1]) else None)
