"""The pairwise Shapley interaction index: against known coefficients, shapiq and exact arithmetic, and under noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import shapiq

from support.games import game_model, random_game, words
from verax.api import explain
from verax.methods.coalitions import all_coalitions
from verax.methods.shapley_interaction import draw_coalitions, kernel_index, weighted_least_squares
from verax.models.load import load_model
from verax.types import Target, UserError

PAIR = ("The small red boat sails across the quiet lake.", "nobody is watching the boat")


def values_of(values: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """The values of coalitions in a game: [2^n], [rows, n] -> [rows]."""
    return values[keep @ (1 << np.arange(keep.shape[1]))]


def test_pairwise_interaction_index_of_a_game_of_pairs() -> None:
    """Of a game that is a sum of pairs the index is the pair's own coefficient; and a word alone has none."""
    n = 6
    rng = np.random.default_rng(0)
    pull, bond = rng.normal(size=n) / 20, np.triu(rng.normal(size=(n, n)), 1) / 20
    bits = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    values = -2 + bits @ pull + ((bits @ bond) * bits).sum(1)
    fixed = {"target": Target("win"), "removal": "delete", "parts": "within"}
    made = explain(game_model(values), words(n), method={"shapley_interaction": fixed}).highlight
    for (a, b), score in zip(made.units, made.scores, strict=True):
        assert score == pytest.approx(bond[a.start, b.start], abs=1e-9)


def test_exact_index_of_a_game_with_interactions_of_every_order() -> None:
    """By the definition, summed over all coalitions without the two words."""
    n = 5
    values = random_game(n, seed=2)
    fixed = {"target": Target("win"), "removal": "delete", "parts": "within"}
    made = explain(game_model(values), words(n), method={"shapley_interaction": fixed}).highlight
    weights = [1 / 4, 1 / 12, 1 / 12, 1 / 4]  # s! (n - s - 2)! / (n - 1)!
    for (a, b), score in zip(made.units, made.scores, strict=True):
        i, j = 1 << a.start, 1 << b.start
        rest = [k for k in range(2**n) if not k & (i | j)]
        expected = sum(
            weights[k.bit_count()] * (values[k | i | j] - values[k | i] - values[k | j] + values[k]) for k in rest
        )
        assert score == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("budget", [60, 120, 200])
@pytest.mark.parametrize("seed", range(3))
def test_estimate_agrees_with_shapiq(budget: int, seed: int) -> None:
    """To 1e-5: shapiq solves normal equations, which are that inaccurate."""
    n = 8
    values = random_game(n, seed)
    theirs = shapiq.KernelSHAPIQ(n, max_order=2, index="SII", random_state=seed).approximate(
        budget, lambda keep: values_of(values, keep)
    )
    drawn = draw_coalitions(n, budget, seed)
    assert len(drawn.keep) == budget
    ours = kernel_index(drawn, values_of(values, drawn.keep))
    assert np.abs(ours - theirs.get_n_order_values(2)).max() < 1e-5


def test_estimate_from_all_coalitions_is_the_exact_index() -> None:
    """To 1e-6: the weight of the border is 1e8 in place of infinite."""
    n = 6
    values = random_game(n, seed=3)
    drawn = draw_coalitions(n, 2**n, 0)
    assert sorted(map(tuple, drawn.keep)) == sorted(map(tuple, all_coalitions(n)))
    exact = shapiq.ExactComputer(lambda keep: values_of(values, np.atleast_2d(keep)), n_players=n)("SII", order=2)
    ours = kernel_index(drawn, values_of(values, drawn.keep))
    assert np.abs(ours - exact.get_n_order_values(2)).max() < 1e-6


def solved_exactly(features: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The normal equations in rational numbers, by Gauss-Jordan elimination."""
    exact = [[Fraction(float(number)) for number in row] for row in np.column_stack([features, values])]
    scale = [Fraction(float(weight)) for weight in weights]
    p = features.shape[1]
    table = [
        [sum(w * row[i] * row[j] for w, row in zip(scale, exact, strict=True)) for j in range(p + 1)] for i in range(p)
    ]
    for i in range(p):
        pivot = next(k for k in range(i, p) if table[k][i])
        table[i], table[pivot] = table[pivot], table[i]
        table[i] = [entry / table[i][i] for entry in table[i]]
        for k in range(p):
            if k != i:
                table[k] = [a - table[k][i] * b for a, b in zip(table[k], table[i], strict=True)]
    return np.array([float(row[p]) for row in table])


@pytest.mark.parametrize("seed", range(5))
def test_regression_with_huge_weights_is_as_accurate_as_float64_allows(seed: int) -> None:
    """Within 1e-12 of exact arithmetic, although rows with the same features and weights near 1e8 differ in value."""
    rng = np.random.default_rng(seed)
    half = rng.integers(0, 2, (14, 8)).astype(float)
    features = np.concatenate([half, half, rng.integers(0, 2, (14, 8))])
    heavy = np.isin(np.arange(42), [0, 1, 2, 3, 4, 14, 15, 16, 17, 18])
    weights = np.where(heavy, 1e8, 1.0) * rng.uniform(0.5, 2, 42)
    values = rng.normal(size=42)
    expected = solved_exactly(features, values, weights)
    assert np.abs(weighted_least_squares(features, values, weights) - expected).max() < 1e-12


def test_underdetermined_regression_has_the_solution_of_least_norm() -> None:
    rng = np.random.default_rng(0)
    features = rng.integers(0, 2, (6, 9)).astype(float)
    values, weights = rng.normal(size=6), np.array([1e8, 1e8, 1.0, 1.0, 2.0, 3.0])
    expected = np.linalg.pinv(features) @ values
    assert weighted_least_squares(features, values, weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("budget", [30, 60, 200])
@pytest.mark.parametrize("seed", range(6))
def test_noise_in_the_values_is_not_amplified(budget: int, seed: int) -> None:
    """At most a hundredfold, also where there are fewer different coalitions than pairs."""
    drawn = draw_coalitions(10, budget, seed)
    values = values_of(random_game(10, seed), drawn.keep)
    noise = np.random.default_rng(seed).uniform(-1, 1, len(values))
    plain, noisy = kernel_index(drawn, values), kernel_index(drawn, values * (1 + 1e-12 * noise))
    assert np.abs(plain - noisy).max() < 1e-10


def test_estimated_interaction_index_keeps_its_budget() -> None:
    model = load_model("world/nli")
    made = explain(model, *PAIR, method={"shapley_interaction": {"budget": 150, "seed": 3}}).highlight
    again = explain(model, *PAIR, method={"shapley_interaction": {"budget": 150, "seed": 3}}).highlight
    other = explain(model, *PAIR, method={"shapley_interaction": {"budget": 150, "seed": 4}}).highlight
    assert made.cost.forward_asked <= 151
    assert made.scores == pytest.approx(again.scores)
    assert made.scores != pytest.approx(other.scores)


def test_the_interaction_index_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verax.run.checking.find_spec", lambda name: None)
    model = game_model(random_game(3, 0))
    with pytest.raises(UserError, match=r"needs shapiq: pip install 'verax\[interactions\]'"):
        explain(model, words(3), method="shapley_interaction")
