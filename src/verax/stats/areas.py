"""Recursive masking on a data set: performance curves, the areas between them (Equation 3), and their intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from verax.stats.inference import RESAMPLES, bca_of, mean_interval, simes
from verax.stats.performance import counted, majority, performance
from verax.stats.recorded import parameter, recorded
from verax.types import Estimate, FloatArray, IntArray, MaskingCurve, MaskingCurves, Performance, Score

NO_AREA = "no_area"
FLAT = 1e-12
_BLOCK = 4_000_000
"""Numbers in one block of resampling weights."""


def acu(random: FloatArray, curve: FloatArray) -> FloatArray:
    """Area between the random curve and another one over equal steps from 0 to 1: [..., points] -> [...]."""
    return np.asarray(np.trapezoid(random - curve, dx=1 / (curve.shape[-1] - 1), axis=-1))


def racu(random: FloatArray, curve: FloatArray) -> FloatArray:
    """The same as a share of the area between the random curve and its end; NaN where there is no such area."""
    whole = acu(random, np.broadcast_to(random[..., -1:], random.shape))
    shape = np.broadcast_shapes(random.shape[:-1], curve.shape[:-1])
    known = np.broadcast_to(np.abs(whole) > FLAT, shape)
    return np.asarray(np.divide(acu(random, curve), whole, out=np.full(shape, np.nan), where=known))


@dataclass(frozen=True)
class MaskedRun:
    """What recursive masking left behind in one run, for each measure.

    Args:
        curves: scores of `recursive_masking`.
        p_values: scores of `in_distribution`; empty if it was not run.
        metric: how performance is measured on the data.
        baseline: label of the random measure.
        signed: for each measure whether it tells for from against.
    """

    curves: Sequence[Score]
    p_values: Sequence[Score]
    metric: Performance
    baseline: str
    signed: Mapping[str, bool]


def masked_runs(card: Mapping[str, Any], scores: Sequence[Score]) -> dict[str, MaskedRun]:
    """The same from a run card and all scores of its run, for each `recursive_masking` by its label.

    Of several in-distribution tests the first one at the same steps counts.
    """
    metrics, methods = recorded(card, "metrics"), recorded(card, "methods")
    data = card.get("data")
    said: Any = data.get("metric") if isinstance(data, Mapping) else None
    metric: Performance = said if said in get_args(Performance) else "accuracy"
    found = {}
    for masked in (entry for entry in metrics if entry.get("name") == "recursive_masking"):
        steps = parameter(masked, "steps")
        tests = [
            entry for entry in metrics if entry.get("name") == "in_distribution" and parameter(entry, "steps") == steps
        ]
        tested = tests[0]["label"] if tests else None
        run = MaskedRun(
            curves=[score for score in scores if score.metric == masked["label"]],
            p_values=[score for score in scores if score.metric == tested],
            metric=metric,
            baseline=next((entry["label"] for entry in methods if entry.get("name") == "random"), "random"),
            signed={entry["label"]: bool(entry.get("signed", True)) for entry in methods},
        )
        if run.curves:
            found[masked["label"]] = run
    return found


def masking_curves(runs: Sequence[MaskedRun], *, seed: int = 0, resamples: int = RESAMPLES) -> MaskingCurves | None:
    """Curves and areas of one run, with intervals over resampled instances, or of several, with intervals over runs.

    The measures of several runs are those that all of them have. None if no run has a curve of the random measure.
    """
    made = {i: found for i, run in enumerate(runs) if (found := _one_run(run, seed, 0)) is not None}
    if len(made) > 1:
        return _over_seeds(list(made.values()), seed)
    return _one_run(runs[next(iter(made))], seed, resamples) if made else None


def _one_run(run: MaskedRun, seed: int, resamples: int) -> MaskingCurves | None:
    by_method: dict[str, dict[str, Score]] = {}
    for score in run.curves:
        by_method.setdefault(score.method, {})[score.instance_id] = score
    random = by_method.get(run.baseline, {})
    known = {method: [i for i in scores if _both(scores, random, i)] for method, scores in by_method.items()}
    if not known.get(run.baseline):
        return None
    p_values = _p_values(run.p_values)
    curves = []
    for method, scores in by_method.items():
        chosen = known[method]
        if not chosen:
            continue
        gold = np.array([int(random[i].series["gold"][0]) for i in chosen])
        both = [_predicted(which, chosen) for which in (random, scores)]
        skipped = len(scores.keys() | random.keys()) - len(chosen)
        facts = (method, run.metric, run.signed.get(method, True), skipped, p_values.get(method))
        curves.append(_curve(facts, gold, *both, seed=seed, resamples=resamples))
    golds = np.array([int(random[i].series["gold"][0]) for i in known[run.baseline]])
    return MaskingCurves(run.baseline, majority(golds, int(golds.max()) + 1, run.metric), tuple(curves))


def _both(scores: Mapping[str, Score], random: Mapping[str, Score], instance: str) -> bool:
    return all(instance in rows and "predicted" in rows[instance].series for rows in (scores, random))


def _predicted(scores: Mapping[str, Score], chosen: Sequence[str]) -> IntArray:
    return np.array([scores[i].series["predicted"] for i in chosen]).astype(np.int64)


def _p_values(scores: Sequence[Score]) -> dict[str, tuple[float, ...]]:
    """For each measure the p-value of the data set at each masking ratio."""
    by_method: dict[str, list[tuple[float, ...]]] = {}
    for score in scores:
        if score.curve is not None:
            by_method.setdefault(score.method, []).append(score.curve)
    return {method: tuple(simes(column) for column in np.array(rows).T) for method, rows in by_method.items()}


def _curve(
    facts: tuple[str, Performance, bool, int, tuple[float, ...] | None],
    gold: IntArray,
    random: IntArray,
    predicted: IntArray,
    *,
    seed: int,
    resamples: int,
) -> MaskingCurve:
    """One measure; `random` and `predicted` have shape [instances, points]."""
    method, metric, is_signed, skipped, p_values = facts
    classes = int(max(gold.max(), random.max(), predicted.max())) + 1
    if metric in {"accuracy", "micro_f1"}:  # right or wrong is all that counts, however many classes there are
        classes, random, predicted = 1, random != gold[:, None], predicted != gold[:, None]
        gold = np.zeros_like(gold)
    counts = np.stack([counted(gold, which, classes) for which in (random, predicted)], axis=1)

    def quantities(sums: FloatArray) -> FloatArray:
        """Curve, ACU and RACU side by side: [..., 2, points, 3, classes] -> [..., points + 2]."""
        both = performance(sums, metric)
        random_curve, curve = both[..., 0, :], both[..., 1, :]
        return np.concatenate(
            [curve, acu(random_curve, curve)[..., None], racu(random_curve, curve)[..., None]], axis=-1
        )

    found = quantities(counts.sum(0))
    low, high = _over_instances(counts, quantities, seed, resamples)
    values = [Estimate(float(v), *_ends(a, b)) for v, a, b in zip(found, low, high, strict=True)]
    has_area = bool(np.isfinite(found[-1]))
    return MaskingCurve(
        method=method,
        metric=metric,
        curve=tuple(values[:-2]),
        acu=values[-2],
        racu=values[-1] if has_area else None,
        reason=None if has_area else NO_AREA,
        signed=is_signed,
        n=len(gold),
        skipped=skipped,
        over="instances",
        p_values=p_values,
    )


def _ends(low: float, high: float) -> tuple[float | None, float | None]:
    return (float(low), float(high)) if np.isfinite([low, high]).all() else (None, None)


def _over_instances(
    counts: FloatArray, quantities: Callable[[FloatArray], FloatArray], seed: int, resamples: int
) -> tuple[FloatArray, FloatArray]:
    """BCa intervals of all quantities, on the same resampled instances; NaN where there can be none."""
    n = len(counts)
    total = counts.sum(0)
    observed = quantities(total)
    none = np.full(len(observed), np.nan)
    if n < 2 or not resamples:
        return none, none
    flat = counts.reshape(n, -1)
    rng = np.random.default_rng(seed)
    block = max(1, _BLOCK // n)
    drawn = []
    for start in range(0, resamples, block):
        weights = rng.multinomial(n, np.full(n, 1 / n), size=min(block, resamples - start)).astype(np.float32)
        drawn.append(quantities((weights @ flat).reshape(-1, *total.shape)))
    left_out = quantities(total - counts)
    return bca_of(observed, np.concatenate(drawn), left_out)


def _over_seeds(made: Sequence[MaskingCurves], seed: int) -> MaskingCurves:
    """Means over runs, and intervals of them."""
    shared = [curve.method for curve in made[0].curves if all(_find(run, curve.method) for run in made)]
    curves = []
    for method in shared:
        rows = [row for run in made if (row := _find(run, method)) is not None]
        points = [mean_interval([row.curve[i].value for row in rows], seed=seed) for i in range(len(rows[0].curve))]
        areas = [row.racu.value for row in rows if row.racu is not None]
        tested = [row.p_values for row in rows if row.p_values is not None]
        curves.append(
            MaskingCurve(
                method=method,
                metric=rows[0].metric,
                curve=tuple(points),
                acu=mean_interval([row.acu.value for row in rows], seed=seed),
                racu=mean_interval(areas, seed=seed) if len(areas) == len(rows) else None,
                reason=None if len(areas) == len(rows) else NO_AREA,
                signed=rows[0].signed,
                n=min(row.n for row in rows),
                skipped=max(row.skipped for row in rows),
                over="seeds",
                # the worst of the seeds: where one of them leaves the distribution, the mean is not valid either
                p_values=tuple(np.min(tested, axis=0).tolist()) if tested else None,
            )
        )
    return MaskingCurves(made[0].baseline, float(np.mean([run.majority for run in made])), tuple(curves), len(made))


def _find(run: MaskingCurves, method: str) -> MaskingCurve | None:
    return next((curve for curve in run.curves if curve.method == method), None)
