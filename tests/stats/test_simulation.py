"""SF and RSF from the answers of agents, against scikit-learn and by what their intervals must cover."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.metrics import f1_score

from verax.stats.simulation import simulated_f1
from verax.types import Estimate

Classes = NDArray[np.int64]


def f1(model: Classes, shown: Classes, without: Classes, resamples: int = 200) -> tuple[Estimate, Estimate]:
    """SF and RSF; `shown` and `without` have shape [seeds, n]."""
    return simulated_f1(model, np.stack([shown.T, without.T], axis=1), resamples=resamples)


def guesses(rng: np.random.Generator, model: Classes, right: float, seeds: int) -> Classes:
    """Agents that are right with a probability, and else predict another class of three."""
    wrong = (model + rng.integers(1, 3, (seeds, len(model)))) % 3
    return np.where(rng.random((seeds, len(model))) < right, model, wrong)


def width(estimate: Estimate) -> float:
    assert estimate.interval is not None
    return estimate.interval[1] - estimate.interval[0]


@pytest.mark.parametrize("seeds", [1, 3])
def test_macro_f1_with_and_without_is_that_of_sklearn(seeds: int) -> None:
    rng = np.random.default_rng(seeds)
    model = rng.integers(0, 3, 41)
    shown, without = guesses(rng, model, 0.9, seeds), guesses(rng, model, 0.6, seeds)
    sf, rsf = f1(model, shown, without)
    expected = [np.mean([f1_score(model, one, average="macro") for one in group]) for group in (shown, without)]
    assert sf.value == pytest.approx(expected[0], abs=1e-12)
    assert rsf.value == pytest.approx(expected[0] - expected[1], abs=1e-12)
    for found in (sf, rsf):
        assert found.interval is not None
        assert found.interval[0] < found.value < found.interval[1]


def test_agents_alike_have_no_effect_and_perfect_ones_all_of_it() -> None:
    model = np.arange(30) % 3
    wrong = (model + 1) % 3
    assert f1(model, model[None], model[None]) == ((1.0, None, None), (0.0, None, None))
    sf, rsf = f1(model, model[None], wrong[None])
    assert (sf.value, rsf.value) == (1.0, 1.0)


def test_the_interval_covers_zero_where_there_is_no_effect_and_not_where_there_is() -> None:
    """Over 120 data sets of 60 instances, 3 seeds: 95 % of the intervals cover the truth, up to 5 points.

    Intervals over the three seeds alone cover it in three quarters of the cases.
    """
    rng = np.random.default_rng(0)
    covered = found = 0
    for _ in range(120):
        model = rng.integers(0, 3, 60)
        plain = guesses(rng, model, 0.6, 3)
        _, none = f1(model, guesses(rng, model, 0.6, 3), plain, 300)
        _, much = f1(model, guesses(rng, model, 0.95, 3), plain, 300)
        assert none.interval is not None
        assert much.interval is not None
        covered += none.low <= 0 <= none.high
        found += much.interval[0] > 0
    assert covered >= 0.9 * 120
    assert found == 120


def test_seeds_that_differ_widen_the_interval() -> None:
    rng = np.random.default_rng(3)
    model = rng.integers(0, 3, 200)
    plain = guesses(rng, model, 0.5, 3)
    even, _ = f1(model, guesses(rng, model, 0.7, 3), plain, 500)
    luck = np.concatenate([guesses(rng, model, right, 1) for right in (0.4, 0.7, 1.0)])
    uneven, _ = f1(model, luck, plain, 500)
    assert width(uneven) > 2 * width(even)


def test_one_instance_has_no_interval() -> None:
    assert f1(np.array([1]), np.array([[1]]), np.array([[0]]))[1] == (1.0, None, None)
