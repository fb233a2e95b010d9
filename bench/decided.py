"""Runs until decided, simulated: how often they decide falsely, when they stop, and what stopping does to a page.

    python -m bench.decided            # 400 runs of each kind, at most 1,000 inputs each

Scores are drawn for methods on inputs of different difficulty; the baseline is the first method. A null run has equal
methods, and any difference that it finds is a false decision. Looks are those of `verax run --until-decided`.
"""

from __future__ import annotations

import argparse
from bisect import bisect_left
from collections.abc import Callable

import numpy as np

from verax.run.until_decided import look_sizes
from verax.stats.intervals import bca_of_means
from verax.stats.joint import ALPHA, joint_test
from verax.types import FloatArray

SHAPES = ("normal", "heavy tails", "binary", "unequal spread")
EFFECTS = (0.125, 0.25, 0.5, 1.0)


def scores(rng: np.random.Generator, shape: str, methods: int, most: int, effect: float = 0.0) -> FloatArray:
    """Scores of a run, shape [inputs, methods]; differences from the baseline have a mean of `effect` deviations."""
    difficulty = rng.normal(0.0, 2.0, (most, 1))
    if shape == "binary":
        return (rng.random((most, methods)) < rng.random((most, 1))).astype(np.float64)
    noise = {
        "normal": lambda: rng.normal(0.0, 1.0, (most, methods)),
        "heavy tails": lambda: rng.standard_t(2.5, (most, methods)),
        "unequal spread": lambda: rng.normal(0.0, 1.0, (most, methods)) * np.exp(rng.normal(0.0, 0.7, (most, 1))),
    }[shape]()
    values = difficulty + noise
    values[:, 1:] += effect * np.sqrt(2.0)  # the deviation of a difference of two methods
    return np.asarray(values)


def false_decisions(runs: int, most: int) -> None:
    """Share of null runs that find a difference at any of their looks."""
    print(f"\nfalse decisions in {runs} null runs of at most {most} inputs (level {ALPHA:.0%})")
    print(f"{'':16}{'2 methods':>12}{'5 methods':>12}{'15 methods':>12}")
    for shape in SHAPES:
        shares = []
        for methods in (2, 5, 15):
            rng = np.random.default_rng([methods, SHAPES.index(shape)])
            # decisions are not taken back, so a run that found a difference at any look has it at the last one
            found = [joint_test(scores(rng, shape, methods, most), sequential=True) for _ in range(runs)]
            shares.append(sum(test.any_difference for test in found) / runs)
        print(f"{shape:16}" + "".join(f"{share:>12.1%}" for share in shares), flush=True)


def stopping_times(runs: int, most: int) -> None:
    """Inputs after which every method is decided against the baseline, and what the page of such a run shows."""
    print(f"\ninputs until every method is better than random, {runs} runs of at most {most} inputs, normal scores")
    heads = ("decided", "median", "90 %", "fixed", "intervals", "mean / true")
    print(f"{'methods  effect':16}" + "".join(f"{head:>12}" for head in heads))
    for methods in (2, 5, 15):
        for effect in EFFECTS:
            rng = np.random.default_rng([methods, round(1000 * effect)])
            stops, covered, ratios = [], [], []
            for _ in range(runs):
                values = scores(rng, "normal", methods, most, effect)
                stop = _stop(values)
                stops.append(stop or most)
                if stop is not None:
                    gap, true = values[:stop, 1] - values[:stop, 0], effect * np.sqrt(2.0)
                    ratios.append(gap.mean() / true)
                    (ends,) = bca_of_means(gap[:, None], resamples=999)
                    covered.append(ends is not None and ends[0] <= true <= ends[1])
            fixed = _fixed(rng, methods, most, effect)
            row = [f"{len(ratios) / runs:.0%}", f"{np.median(stops):.0f}", f"{np.quantile(stops, 0.9):.0f}"]
            row += ["-" if fixed is None else f"{fixed}"]
            row += [f"{np.mean(covered):.1%}", f"{np.mean(ratios):.2f}"] if ratios else ["-", "-"]
            print(f"{methods:>7}  {effect:<7}" + "".join(f"{cell:>12}" for cell in row), flush=True)
    print("fixed: inputs with which the joint test of a fixed number of them finds all in half of the runs")
    print("intervals: 95 % intervals of a difference at the stop that contain the true one; mean: at the stop")


def _stop(values: FloatArray) -> int | None:
    return _first_look(len(values), lambda n: _all_better(values[:n], sequential=True))


def _fixed(rng: np.random.Generator, methods: int, most: int, effect: float) -> int | None:
    drawn = [scores(rng, "normal", methods, most, effect) for _ in range(60)]
    return _first_look(most, lambda n: 2 * sum(_all_better(one[:n], sequential=False) for one in drawn) >= len(drawn))


def _first_look(most: int, holds: Callable[[int], bool]) -> int | None:
    """The first look at which something holds that holds from then on, by bisection: decisions are not taken back."""
    looks = list(look_sizes(most))
    place = bisect_left(looks, True, key=holds)
    return looks[place] if place < len(looks) else None


def _all_better(values: FloatArray, *, sequential: bool) -> bool:
    test = joint_test(values, sequential=sequential)
    return all(test.beats(method, 0) for method in range(1, values.shape[1]))


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--most", type=int, default=1000)
    given = parser.parse_args()
    false_decisions(given.runs, given.most)
    stopping_times(given.runs // 4, given.most)


if __name__ == "__main__":
    main()
