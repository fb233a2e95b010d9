"""Simulatability on a data set: how well agents foresee the model's class, with explanations and without."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from verax.stats.inference import RESAMPLES, bca_of
from verax.stats.performance import counted, performance
from verax.stats.recorded import recorded
from verax.types import Estimate, FloatArray, IntArray, Score

METRIC = "simulatability"
_BLOCK = 4_000_000
"""Numbers in one block of resampling weights."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """What agents make of the explanations of one method.

    Args:
        method: its label in the run.
        sf: macro F1 of agents that see the explanations against the model's classes (Equation 13), mean over seeds.
        rsf: sf minus `without` (Equation 15).
        without: the same of agents that do not see them (SF_O, Equation 14).
        n: held-out instances.
        seeds: agents of each sort.
        over: what the intervals are over: resampled held-out instances of one seed, or of resampled seeds.
    """

    method: str
    sf: Estimate
    rsf: Estimate
    without: float
    n: int
    seeds: int
    over: Literal["instances", "seeds and instances"]


def simulated(card: Mapping[str, Any], scores: Sequence[Score]) -> dict[str, list[Simulated]]:
    """The methods of a run, in the order of its card, for each `simulatability` by its label.

    Methods that have no held-out instance are left out.
    """
    metrics = [entry["label"] for entry in recorded(card, "metrics") if entry.get("name") == METRIC]
    order = [entry["label"] for entry in recorded(card, "methods")]
    found: dict[str, list[Simulated]] = {}
    for metric in metrics:
        by_method: dict[str, list[Score]] = {method: [] for method in order}
        for score in scores:
            if score.metric == metric and score.value is not None and "model" in score.series:
                by_method.setdefault(score.method, []).append(score)
        rows = [simulated_by(method, held_out) for method, held_out in by_method.items() if held_out]
        if rows:
            found[metric] = rows
    return found


def simulated_by(method: str, scores: Sequence[Score], *, seed: int = 0, resamples: int = RESAMPLES) -> Simulated:
    """SF and RSF of one method from the scores of its held-out instances."""
    ordered = sorted(scores, key=lambda score: score.instance_id)
    model = np.array([score.series["model"][0] for score in ordered], np.int64)
    named = np.array([(score.series["with"], score.series["without"]) for score in ordered], np.int64)
    sf, rsf = _with_intervals(model, named, seed, resamples)
    seeds = named.shape[-1]
    over: Literal["instances", "seeds and instances"] = "instances" if seeds == 1 else "seeds and instances"
    return Simulated(method, sf, rsf, sf.value - rsf.value, len(ordered), seeds, over)


def _with_intervals(model: IntArray, named: IntArray, seed: int, resamples: int) -> list[Estimate]:
    """SF and RSF.

    A few seeds tell little of their own spread, and all of them are measured on the same instances: so both are drawn
    again, the seeds and, in common to all agents, the instances.

    Args:
        model: classes of the model, shape [n].
        named: classes that agents named with the explanation and without, shape [n, 2, seeds].
    """
    n, _, seeds = named.shape
    classes = int(max(model.max(), named.max())) + 1
    counts = counted(model, named.reshape(n, -1), classes)  # [n, 2 seeds, 3, classes]
    total, flat = counts.sum(0), counts.reshape(n, -1)
    rng = np.random.default_rng(seed)
    evenly = np.full((1, seeds), 1 / seeds)
    observed = _quantities(total[None], evenly)[0]
    if n < 2:
        return [Estimate(float(value)) for value in observed]
    drawn = []
    block = max(1, _BLOCK // n)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        weights = rng.multinomial(n, np.full(n, 1 / n), size=size).astype(np.float32)
        chosen = rng.multinomial(seeds, evenly[0], size=size) / seeds
        drawn.append(_quantities((weights @ flat).reshape(size, *total.shape), chosen))
    low, high = bca_of(observed, np.concatenate(drawn), _quantities(total - counts, evenly))
    known = np.isfinite(low) & np.isfinite(high)
    ends = [(float(a), float(b)) if sure else (None, None) for a, b, sure in zip(low, high, known, strict=True)]
    return [Estimate(float(value), *both) for value, both in zip(observed, ends, strict=True)]


def _quantities(sums: FloatArray, weights: FloatArray) -> FloatArray:
    """SF and RSF from counts: [rows, 2 seeds, 3, classes] and seeds by their weights [rows, seeds] -> [rows, 2]."""
    f1 = performance(sums, "macro_f1").reshape(len(sums), 2, -1)
    shown, without = np.moveaxis((f1 * weights[:, None]).sum(-1), -1, 0)
    return np.stack([shown, shown - without], axis=-1)
