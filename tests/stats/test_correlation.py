"""Correlations against scipy, and the cases that have none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from verax.stats.correlation import kendall, pearson, spread


def test_coefficients_are_those_of_scipy() -> None:
    first, second = np.random.default_rng(0).normal(size=(2, 9))
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    expected = stats.pearsonr(first, second)
    assert pearson(pairs, "languages") == pytest.approx((expected.statistic, expected.pvalue, 9, None))
    expected_tau = stats.kendalltau(first, second)
    assert kendall(pairs, "methods") == pytest.approx((expected_tau.statistic, expected_tau.pvalue, 9, None))


@pytest.mark.parametrize("coefficient", [pearson, kendall])
def test_too_few_or_constant_numbers_have_a_reason_instead(coefficient: object) -> None:
    assert callable(coefficient)
    assert coefficient([(0.1, 1.0), (0.2, 0.5)], "languages") == (None, None, 2, "fewer than 3 languages to correlate")
    constant = [(0.1, 1.0), (0.2, 1.0), (0.3, 1.0)]
    assert coefficient(constant, "methods") == (None, None, 3, "all methods have the same value")


def test_spread_divides_by_n_minus_1_and_one_number_has_no_deviation() -> None:
    assert spread([0.5]) == (0.5, None, 1)
    assert spread([1.0, 2.0, 4.0]) == pytest.approx((7 / 3, np.std([1, 2, 4], ddof=1), 3))
