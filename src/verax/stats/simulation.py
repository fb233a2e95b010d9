"""Simulatability on a data set: macro F1 of agents that predict the model's classes, with and without explanations."""

from __future__ import annotations

import numpy as np

from verax.stats.intervals import RESAMPLES, bootstrap_sums, with_interval
from verax.stats.performance import counted, performance
from verax.types import Estimate, FloatArray, IntArray


def simulated_f1(
    model: IntArray, agents: IntArray, *, seed: int = 0, resamples: int = RESAMPLES
) -> tuple[Estimate, Estimate]:
    """SF, the F1 of agents that see explanations, and RSF, SF minus that of agents that do not, means over seeds.

    A few seeds say little about their own spread, and all of them are measured on the same instances: so both are
    resampled, the seeds and, in common to all agents, the instances.

    Args:
        model: classes of the model, shape [n].
        agents: classes that agents predict with the explanation and without, shape [n, 2, seeds].
    """
    n, _, seeds = agents.shape
    classes = int(max(model.max(), agents.max())) + 1
    counts = counted(model, agents.reshape(n, -1), classes)  # [n, 2 seeds, 3, classes]
    evenly = np.full((1, seeds), 1 / seeds)

    def resampled_seeds(rng: np.random.Generator, size: int) -> FloatArray:
        return np.asarray(rng.multinomial(seeds, evenly[0], size=size) / seeds)

    observed, low, high = bootstrap_sums(
        [counts], _quantities, seed=seed, resamples=resamples, also=resampled_seeds, observed_also=evenly
    )
    sf, rsf = (with_interval(*ends) for ends in zip(observed, low, high, strict=True))
    return sf, rsf


def _quantities(sums: FloatArray, weights: FloatArray) -> FloatArray:
    """SF and RSF from counts: [rows, 2 seeds, 3, classes] and weights of the seeds [rows, seeds] -> [rows, 2]."""
    f1 = performance(sums, "macro_f1").reshape(len(sums), 2, -1)
    with_explanation, without = np.moveaxis((f1 * weights[:, None]).sum(-1), -1, 0)
    return np.stack([with_explanation, with_explanation - without], axis=-1)
