"""The sequential test against its definition, exact enumeration, and simulated runs that stop when they are decided."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from verax.run.until_decided import look_sizes
from verax.stats import sequential
from verax.stats.joint import ALPHA, joint_differences, joint_test
from verax.stats.sequential import EFFECTS, log_capital, sequential_p
from verax.types import FloatArray

RUNS = 400
MOST = 400
"""Simulated runs, and the largest number of inputs of each."""


def literal_capital(column: list[float], side: int) -> list[float]:
    """Capital after each input, bet by bet."""
    purses = [1.0] * len(EFFECTS)
    squares, seen, after = 0.0, 0, []
    for d in column:
        if d:
            squares, seen = squares + d * d, seen + 1
            scaled = d / math.sqrt(squares / seen)
            purses = [
                purse * (1.0 + side * math.tanh(effect * scaled)) for purse, effect in zip(purses, EFFECTS, strict=True)
            ]
        after.append(sum(purses) / len(purses))
    return after


def literal_p(differences: FloatArray) -> list[float]:
    """Holm's procedure over the inverse of the largest capital on either side, halved between the sides."""
    raw = []
    for column in differences.T.tolist():
        up, down = (max([1e-300, *literal_capital(column, side)]) for side in (1, -1))
        agrees = sum(column) > 0 if up >= down else sum(column) < 0
        raw.append(min(1.0, 2.0 / max(up, down)) if agrees else 1.0)
    adjusted, highest = [0.0] * len(raw), 0.0
    for place, test in enumerate(sorted(range(len(raw)), key=lambda i: raw[i])):
        highest = max(highest, min(1.0, raw[test] * (len(raw) - place)))
        adjusted[test] = highest
    return adjusted


def drawn(rng: np.random.Generator, shape: str, methods: int, effect: float = 0.0) -> FloatArray:
    """Scores of methods on inputs of different difficulty; the first method is worse by `effect` deviations."""
    difficulty = rng.normal(0.0, 2.0, (MOST, 1))
    match shape:
        case "heavy tails":
            noise = rng.standard_t(2.5, (MOST, methods))
        case "binary":
            easy = rng.random((MOST, 1))
            return (rng.random((MOST, methods)) < easy).astype(float)
        case _:
            noise = rng.normal(0.0, 1.0, (MOST, methods)) * np.exp(rng.normal(0.0, 0.7, (MOST, 1)))
    values = difficulty + noise
    values[:, 0] -= effect
    return values


@pytest.mark.parametrize("seed", range(3))
def test_p_values_are_those_of_the_definition(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(seed)
    differences = rng.normal([0.0, 0.4, 0.9, -1.5], 1.0, (30, 4))
    differences[rng.random(differences.shape) < 0.2] = 0.0
    assert sequential_p(differences) == pytest.approx(literal_p(differences), rel=1e-9)
    monkeypatch.setattr(sequential, "_BLOCK", 30)  # one test at a time
    assert sequential_p(differences) == pytest.approx(literal_p(differences), rel=1e-9)


def test_no_bet_has_an_advantage() -> None:
    """Over all signs that differences of given sizes can have, capital stays 1 on average, after every input."""
    sizes = np.array([0.3, 2.0, 0.0, 1.0, 40.0, 0.1, 1.0, 3.0])
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=len(sizes))))
    capital = np.exp(log_capital((signs * sizes).T))  # [2, inputs, patterns]
    assert capital.mean(axis=2) == pytest.approx(np.ones((2, len(sizes))), rel=1e-12)


@pytest.mark.parametrize("methods", [2, 4])
def test_the_level_holds_over_all_signs(methods: int) -> None:
    """Of all sign flips of given scores, at most a share of `a` has a p-value up to `a`, at whichever `a`."""
    rng = np.random.default_rng(methods)
    values = rng.standard_t(3, (13, methods))
    left, right = np.triu_indices(methods, k=1)
    flips = np.array(list(itertools.product([-1.0, 1.0], repeat=12)))
    differences = (values[:, left] - values[:, right])[None] * np.pad(flips, ((0, 0), (1, 0)), constant_values=1.0)[
        :, :, None
    ]
    largest = log_capital(differences.transpose(1, 0, 2).reshape(13, -1)).max(axis=(0, 1)).reshape(len(flips), -1)
    smallest = np.sort(np.minimum(1.0, 2.0 * len(left) * np.exp(-largest.max(axis=1))))
    level = np.arange(1, len(flips) + 1) / len(flips)
    assert smallest[0] < ALPHA, "something is significant, so the assertion below can fail"
    assert np.all(smallest >= np.minimum(level, 1.0) - 1e-12)


@pytest.mark.parametrize("shape", ["heavy tails", "binary", "unequal spread"])
def test_at_most_one_null_run_in_twenty_is_decided(shape: str) -> None:
    """A decision anywhere on the way counts: the p-value at the last input is that of the best moment so far."""
    rng = np.random.default_rng(2026)
    decided = sum(joint_test(drawn(rng, shape, 4), sequential=True).any_difference for _ in range(RUNS))
    assert decided <= ALPHA * RUNS


def test_looking_again_and_again_at_a_fixed_test_decides_too_often() -> None:
    """What the sequential test is for: the same looks at the statistic of the joint test find what is not there."""
    rng = np.random.default_rng(2026)
    values = np.stack([drawn(rng, "unequal spread", 2) for _ in range(RUNS)], axis=1)  # [inputs, runs, methods]
    differences = values[:, :, 0] - values[:, :, 1]
    statistic = np.abs(np.cumsum(differences, axis=0)) / np.sqrt(np.cumsum(differences**2, axis=0))
    looks = np.array(list(look_sizes(MOST))) - 1
    assert (statistic[-1] > 1.96).mean() < 1.5 * ALPHA, "one look is fine"
    assert (statistic[looks] > 1.96).any(axis=0).mean() > 3 * ALPHA


@pytest.mark.parametrize(("effect", "most"), [(2.0, 48), (1.0, 100)])
def test_runs_with_a_difference_stop_early(effect: float, most: int) -> None:
    rng = np.random.default_rng(7)
    stops = []
    for _ in range(20):
        values = drawn(rng, "unequal spread", 4, effect)
        looks = (look for look in look_sizes(MOST) if not _open(values[:look]))
        stops.append(next(looks, MOST))
    assert np.median(stops) <= most


def _open(values: FloatArray) -> bool:
    """Whether some method is not yet known to be better than the first."""
    test = joint_test(values, sequential=True)
    return not all(test.beats(i, 0) for i in range(1, values.shape[1]))


def test_more_inputs_take_no_decision_back() -> None:
    rng = np.random.default_rng(3)
    values = np.concatenate([drawn(rng, "unequal spread", 3, 1.0), drawn(rng, "unequal spread", 3)])
    earlier = joint_test(values[:MOST], sequential=True)
    assert earlier.beats(1, 0)
    assert earlier.beats(2, 0)
    assert (joint_test(values, sequential=True).p <= earlier.p)[[1, 2], 0].all()


def test_a_difference_that_turned_round_is_not_significant() -> None:
    column = np.concatenate([np.full(30, 1.0), np.full(60, -1.0)])[:, None]
    assert sequential_p(column[:30])[0] < 1e-6
    means, p = joint_differences(column[:60], sequential=True)
    assert (means[0], p[0]) == (0.0, 1.0)
    test = joint_test(np.hstack([column, np.zeros_like(column)]), sequential=True)
    assert test.difference[0, 1] < 0
    assert not test.any_difference


def test_inputs_without_a_value_bet_nothing() -> None:
    values = drawn(np.random.default_rng(5), "unequal spread", 2, 1.0)[:60]
    gaps = np.insert(values, [0, 10, 60], np.nan, axis=0)
    assert joint_test(gaps, sequential=True).p[0, 1] == pytest.approx(joint_test(values, sequential=True).p[0, 1])
    assert joint_test(gaps, sequential=True).shared[0, 1] == 60


def test_too_few_inputs_and_none_at_all() -> None:
    assert joint_test(np.arange(8.0).reshape(4, 2), sequential=True).too_few is not None
    assert sequential_p(np.zeros((0, 3))).tolist() == [1.0, 1.0, 1.0]
    assert sequential_p(np.zeros((5, 0))).shape == (0,)
    assert sequential_p(np.zeros((5, 2))).tolist() == [1.0, 1.0]


def test_extreme_sizes_neither_overflow_nor_count_more_than_a_sign() -> None:
    column = np.full((40, 1), 1.0)
    column[20] = -1e300
    with np.errstate(over="raise", invalid="raise"):
        assert 0.0 <= sequential_p(column / 1e200)[0] <= 1.0
    assert sequential_p(np.full((5000, 1), 1e-3))[0] < 1e-100


def test_looks_grow_by_a_quarter_and_end_at_the_maximum() -> None:
    assert list(look_sizes(10)) == [10]
    assert list(look_sizes(150)) == [16, 32, 48, 64, 80, 100, 125, 150]
    assert list(look_sizes(250, 150)) == [150, 188, 235, 250]
    assert list(look_sizes(100, 100)) == [100]
