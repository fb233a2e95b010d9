"""MaSF: how much faster than comparing all pairs, and whether its p-values keep their level.

    python -m bench.masf --json
    python -m bench.masf --level-only
    python -m bench.masf --ratios           # the level at each masking ratio, on the shipped masked model

Speed: fit on 4,000 and score 1,000 inputs of 7 layers of 384 neurons, by binary search and by comparing every new value
with every old one, in turns; the results must be the same. Level: on data that is exchangeable by construction
(correlated features, 2,000 validation inputs), the share of p-values below 0.05 and the p-value of the data set, for
both variants. Ratios: 20 times, 300 inputs of the built-in corpus are drawn, 200 to learn from and 100 to test,
which are masked at random.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.console import Console

from verax.data.world import opinion
from verax.engine.ask import ask_all
from verax.engine.engine import Engine
from verax.engine.questions import HiddenStatistic, QuestionGenerator
from verax.metrics.faithfulness.in_distribution import InDistribution
from verax.metrics.faithfulness.recursive_masking import masked_at_random
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.run.providers.reference import Reference
from verax.stats import masf
from verax.stats.masf import InDistributionTest, Variant, simes
from verax.types import FloatArray

LAYERS, NEURONS = 7, 384
FITTED, SCORED = 4000, 1000
VALIDATION, FRESH = 2000, 500
WANTED = 25.0


def features(n: int, rng: np.random.Generator, shared: FloatArray) -> FloatArray:
    """Correlated features: neurons of all layers depend on 24 common causes; shape [n, layers, neurons]."""
    causes = rng.standard_normal((n, len(shared)))
    noise = rng.standard_normal((n, LAYERS * NEURONS))
    return np.asarray((causes @ shared + noise).reshape(n, LAYERS, NEURONS))


def loadings(rng: np.random.Generator) -> FloatArray:
    """How much each neuron depends on each cause: about half of its variance in all."""
    return np.asarray(rng.standard_normal((24, LAYERS * NEURONS)) / np.sqrt(24))


def halves(maxima: FloatArray, variant: Variant) -> tuple[FloatArray, FloatArray]:
    """What the test is fitted on, and what the last statistic is ranked among; maxima are rounded."""
    maxima = masf.rounded(maxima)
    half = len(maxima) // 2
    return (maxima, maxima) if variant == "paper" else (maxima[:half], maxima[half:])


class AllPairs:
    """The same test, every new value compared with every old one, a few inputs at a time so that they fit in memory."""

    def __init__(self, maxima: FloatArray, variant: Variant) -> None:
        self.variant: Variant = variant
        first, second = halves(maxima, variant)
        self.neurons = first
        self.layers = self._simes(first)
        self.inputs = self._fisher(second)

    def _two_sided(self, reference: FloatArray, values: FloatArray) -> FloatArray:
        n, smaller = len(reference), np.empty(values.shape)
        for start in range(0, len(values), 4):
            smaller[start : start + 4] = (reference[None] < values[start : start + 4, None]).sum(1)
        if self.variant == "paper":
            return np.minimum(smaller / n, 1 - smaller / n)
        return np.minimum((smaller + 1) / (n + 1), (n - smaller + 1) / (n + 1))

    def _simes(self, maxima: FloatArray) -> FloatArray:
        p = np.sort(self._two_sided(self.neurons, maxima), axis=-1)
        return np.asarray(np.round((p * (p.shape[-1] / np.arange(1, p.shape[-1] + 1))).min(-1), masf.DECIMALS))

    def _fisher(self, maxima: FloatArray) -> FloatArray:
        p = self._two_sided(self.layers, self._simes(maxima))
        return np.asarray(np.round(-2 * np.log(p + masf.TINY).sum(1), masf.DECIMALS))

    def p_values(self, maxima: FloatArray) -> FloatArray:
        """The same p-values."""
        maxima = masf.rounded(maxima)
        smaller, n = (self.inputs[None] < self._fisher(maxima)[:, None]).sum(1), len(self.inputs)
        return np.asarray(1 - smaller / n if self.variant == "paper" else (n - smaller + 1) / (n + 1))


def _work(fitted: FloatArray, scored: FloatArray, variant: Variant) -> FloatArray:
    first, second = halves(fitted, variant)
    test = InDistributionTest.fit(first, variant)
    if variant == "conformal":
        test = test.calibrated(test.statistics(second)[None])
    return test.p_values(test.statistics(scored)[:, None])[:, 0]


def _timed(call: Callable[[], FloatArray]) -> tuple[float, FloatArray]:
    start = time.perf_counter()
    found = call()
    return time.perf_counter() - start, found


def speed(variant: Variant, repeats: int) -> dict[str, Any]:
    """Both ways in turns."""
    rng = np.random.default_rng(0)
    shared = loadings(rng)
    fitted, scored = features(FITTED, rng, shared), features(SCORED, rng, shared)
    ours, theirs = [], []
    for _ in range(repeats):
        seconds, found = _timed(lambda: _work(fitted, scored, variant))
        ours.append(seconds)
        seconds, expected = _timed(lambda: AllPairs(fitted, variant).p_values(scored))
        theirs.append(seconds)
        if not np.allclose(found, expected, rtol=0, atol=1e-12):
            raise AssertionError("the two ways differ")
    ratio = statistics.median(theirs) / statistics.median(ours)
    return {
        "variant": variant,
        "binary_search_seconds": round(statistics.median(ours), 3),
        "all_pairs_seconds": round(statistics.median(theirs), 3),
        "times_faster": round(ratio, 1),
        "wanted": WANTED,
        "met": ratio >= WANTED,
    }


def level(variant: Variant, repeats: int) -> dict[str, Any]:
    """Fresh inputs of the same distribution: every rejection is a false one."""
    rejected, of_sets = [], []
    for repeat in range(repeats):
        rng = np.random.default_rng(repeat)
        shared = loadings(rng)
        p = _work(features(VALIDATION, rng, shared), features(FRESH, rng, shared), variant)
        rejected.append(float((p < 0.05).mean()))
        of_sets.append(simes(p))
    return {
        "variant": variant,
        "repeats": repeats,
        "share_below_0.05": round(float(np.mean(rejected)), 4),
        "lowest_share": round(min(rejected), 4),
        "highest_share": round(max(rejected), 4),
        "data_set_p_median": round(statistics.median(of_sets), 4),
        "data_sets_below_0.05": sum(p < 0.05 for p in of_sets),
    }


def level_at_ratios(repeats: int, steps: int = 10) -> list[dict[str, Any]]:
    """The share of p-values below 0.05 and of data sets rejected at each ratio; every rejection is a false one."""
    model, metric = load_model("world/opinion-masked"), InDistribution(masking="half", steps=steps)
    data = opinion.load("test", 1200)
    p_values = []
    for repeat in range(repeats):
        order = np.random.default_rng(repeat).permutation(len(data))
        known, new = (
            replace(data, instances=tuple(data.instances[i] for i in part)) for part in (order[:200], order[200:300])
        )
        with TemporaryDirectory() as cache:
            os.environ["XDG_CACHE_HOME"] = cache
            test = Reference.of(metric, model, known).learn(model, Engine(), Console(quiet=True))
        rows: dict[int, FloatArray] = {}

        def ask(x: Subject, seed: int = repeat, test: InDistributionTest = test) -> QuestionGenerator[FloatArray]:
            keep = masked_at_random(x.n_units, steps, x.rng(seed, "bench"))
            statistics: FloatArray = yield HiddenStatistic(x, keep, statistic=test.statistics)
            return statistics

        ask_all(((i, ask(Subject(x, model))) for i, x in enumerate(new.instances)), rows.__setitem__)
        p_values.append(test.p_values(np.stack(list(rows.values()))))
    return [
        {
            "ratio": i / steps,
            "share_below_0.05": round(float(np.mean([(p[:, i] < 0.05).mean() for p in p_values])), 4),
            "data_sets_below_0.05": sum(simes(p[:, i]) < 0.05 for p in p_values),
            "data_set_p_median": round(statistics.median(simes(p[:, i]) for p in p_values), 3),
        }
        for i in range(steps + 1)
    ]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--repeats", type=int, default=1, help="of the timing: all pairs take minutes")
    parser.add_argument("--level-repeats", type=int, default=20, help="of the simulation")
    parser.add_argument("--level-only", action="store_true")
    parser.add_argument("--ratios", action="store_true", help="only the level at each masking ratio")
    options = parser.parse_args()
    if options.ratios:
        for row in level_at_ratios(options.level_repeats):
            print(json.dumps(row), flush=True)
        return
    variants: tuple[Variant, ...] = ("conformal", "paper")
    result: dict[str, Any] = {"speed": [], "level": []}
    shown = sys.stderr if options.json else sys.stdout
    for variant in variants:
        result["level"].append(level(variant, options.level_repeats))
        print(_level_line(result["level"][-1]), file=shown, flush=True)
    for variant in () if options.level_only else variants:
        result["speed"].append(speed(variant, options.repeats))
        print(_speed_line(result["speed"][-1]), file=shown, flush=True)
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()


def _speed_line(row: dict[str, Any]) -> str:
    return (
        f"{row['variant']}: {row['times_faster']} times faster than all pairs ({row['binary_search_seconds']} s / "
        f"{row['all_pairs_seconds']} s), wanted {WANTED:g}, met: {row['met']}"
    )


def _level_line(row: dict[str, Any]) -> str:
    return (
        f"{row['variant']}: {row['share_below_0.05']:.1%} of p-values below 0.05 ({row['lowest_share']:.1%} to "
        f"{row['highest_share']:.1%} over {row['repeats']} data sets); p of the data set: median "
        f"{row['data_set_p_median']}, below 0.05 in {row['data_sets_below_0.05']} of {row['repeats']}"
    )


if __name__ == "__main__":
    main()
