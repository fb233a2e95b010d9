"""LIME against the regression written out, and where a linear model is the whole truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from games import play, random_game
from verax.methods.coalitions import all_coalitions
from verax.methods.token.lime import Lime
from verax.types import UserError


def ridge_by_hand(values: np.ndarray, width: float, strength: float) -> np.ndarray:
    """The normal equations of weighted ridge regression with a free intercept, over all coalitions."""
    rows = all_coalitions(len(values).bit_length() - 1).astype(float)
    cosine = rows.sum(1) / np.sqrt(np.maximum(rows.sum(1), 1) * rows.shape[1])
    weights = np.exp(-((1 - cosine) ** 2) / (2 * width**2))
    rows = np.column_stack([rows, np.ones(len(rows))])
    penalty = np.diag([strength] * (rows.shape[1] - 1) + [0.0])
    return np.linalg.solve(rows.T @ (weights[:, None] * rows) + penalty, rows.T @ (weights * values))[:-1]


@pytest.mark.parametrize(("width", "strength"), [(0.25, 1.0), (0.5, 0.1), (10.0, 1e-6)])
def test_few_words_are_answered_by_all_coalitions(width: float, strength: float) -> None:
    """2^6 <= 64 samples: no sampling is left in it (1e-9)."""
    values = random_game(6, 0)
    mine = play(values, "lime", samples=64, width=width, strength=strength)
    assert np.abs(mine - ridge_by_hand(values, width, strength)).max() <= 1e-9
    assert (mine == play(values, "lime", samples=64, width=width, strength=strength, seed=5)).all()


@pytest.mark.parametrize("regression", ["ridge", "lasso"])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=10)
def test_a_linear_game_gives_back_its_coefficients(regression: str, seed: int) -> None:
    """With next to no penalty, from samples alone: 1e-4."""
    weights = np.random.default_rng(seed).uniform(-0.1, 0.1, 9)
    values = -1 + all_coalitions(9) @ weights
    scores = play(values, "lime", samples=60, regression=regression, strength=1e-8, seed=seed)
    assert np.abs(scores - weights).max() <= 1e-4


def test_lasso_leaves_out_what_does_not_matter() -> None:
    weights = np.array([0.4, 0, 0, -0.3, 0, 0, 0, 0])
    values = -1 + all_coalitions(8) @ weights
    scores = play(values, "lime", samples=100, regression="lasso")
    assert (scores[weights == 0] == 0).all()
    assert scores[0] > 0 > scores[3]


def test_samples_are_paired_and_their_number_is_kept() -> None:
    """An odd number of samples too; the same seed gives the same bits, another seed others."""
    values = random_game(9, 1)
    once, again = (play(values, "lime", samples=31, seed=2) for _ in range(2))
    assert (once == again).all()
    assert (once != play(values, "lime", samples=31, seed=3)).any()
    assert Lime(samples=31).passes(9).forward == 32


def test_more_samples_come_nearer_to_the_limit() -> None:
    """Mean squared distance to the regression over all coalitions, 12 seeds: eight times the samples, below a third."""
    values = random_game(9, 4)
    limit = ridge_by_hand(values, 0.25, 1e-6)

    def error(samples: int) -> float:
        drawn = [play(values, "lime", samples=samples, strength=1e-6, seed=seed) for seed in range(12)]
        return float(((np.array(drawn) - limit) ** 2).mean())

    assert error(320) <= error(40) / 3


@pytest.mark.parametrize(("field", "value"), [("samples", 0), ("width", 0.0), ("strength", -1.0)])
def test_bad_parameters(field: str, value: float) -> None:
    with pytest.raises(UserError, match="strength: got 0, for lasso"):
        Lime(regression="lasso", strength=0)
    with pytest.raises(UserError, match=f"lime: {field}: got {value}"):
        Lime(**{field: value})  # type: ignore[arg-type]
