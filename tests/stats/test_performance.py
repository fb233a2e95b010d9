"""The performance of a classifier from counts, against scikit-learn."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

from verax.stats.performance import constant, counted, most_frequent, performance
from verax.types import IntArray, Performance

METRICS: tuple[Performance, ...] = get_args(Performance)
SKLEARN: dict[Performance, Callable[[IntArray, IntArray], float]] = {
    "accuracy": accuracy_score,
    "macro_f1": lambda gold, predicted: f1_score(gold, predicted, average="macro", zero_division=0.0),
    "micro_f1": lambda gold, predicted: f1_score(gold, predicted, average="micro", zero_division=0.0),
    "matthews": matthews_corrcoef,
}
CLASSES = 5
answers = st.integers(1, 30).flatmap(
    lambda n: st.tuples(*(arrays(np.int64, n, elements=st.integers(0, CLASSES - 1)) for _ in range(2)))
)


def _expected(gold: IntArray, predicted: IntArray, metric: Performance) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of one class alone scikit-learn gives the number, and a warning
        return float(SKLEARN[metric](gold, predicted))


def _found(gold: IntArray, predicted: IntArray, metric: Performance, classes: int = CLASSES) -> float:
    return float(performance(counted(gold, predicted[:, None], classes).sum(0), metric)[0])


def test_there_is_an_oracle_for_every_metric() -> None:
    assert set(SKLEARN) == set(METRICS)


@pytest.mark.parametrize("metric", METRICS)
@given(both=answers)
@settings(max_examples=60, deadline=None)
def test_every_metric_is_scikit_learns(metric: Performance, both: tuple[IntArray, IntArray]) -> None:
    """Classes that never occur, or one class only, are among the draws; the tolerance is rounding."""
    assert _found(*both, metric) == pytest.approx(_expected(*both, metric), abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_one_class_only(metric: Performance) -> None:
    ones = np.ones(7, np.int64)
    mixed = np.array([1, 1, 0, 1, 2, 1, 1])
    for gold, predicted in ((ones, ones), (ones, mixed), (mixed, ones), (ones, 0 * ones)):
        assert _found(gold, predicted, metric) == pytest.approx(_expected(gold, predicted, metric), abs=1e-12)


def test_a_case_by_hand() -> None:
    gold, predicted = np.array([0, 0, 0, 1]), np.array([0, 0, 1, 1])
    assert _found(gold, predicted, "accuracy") == 0.75
    assert _found(gold, predicted, "micro_f1") == 0.75
    assert _found(gold, predicted, "macro_f1") == pytest.approx((4 / 5 + 2 / 3) / 2)  # F1 of 0: 2*2/(2+3), of 1: 2/3
    assert _found(gold, predicted, "matthews") == pytest.approx((2 * 1 - 0 * 1) / np.sqrt(3 * 1 * 2 * 2))


@pytest.mark.parametrize("metric", METRICS)
def test_many_resamples_and_points_at_once_are_each_one_by_itself(metric: Performance) -> None:
    rng = np.random.default_rng(3)
    gold, predicted = rng.integers(0, 4, 40), rng.integers(0, 4, (40, 6))
    counts = counted(gold, predicted, 4)
    assert counts.shape == (40, 6, 3, 4)
    drawn = rng.integers(0, 40, (9, 40))
    sums = np.stack([counts[rows].sum(0) for rows in drawn])
    found = performance(sums, metric)
    assert found.shape == (9, 6)
    expected = [[_expected(gold[rows], predicted[rows, point], metric) for point in range(6)] for rows in drawn]
    assert found == pytest.approx(np.array(expected), abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_a_classifier_that_always_predicts_one_class(metric: Performance) -> None:
    gold = np.array([2, 2, 2, 0, 1, 1])
    assert most_frequent(gold) == 2
    for label in range(5):
        assert constant(gold, label, metric) == pytest.approx(_expected(gold, np.full(6, label), metric), abs=1e-12)
    assert most_frequent(np.array([1, 0, 1, 0])) == 0
