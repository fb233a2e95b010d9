"""Shapley values against shap, shapiq and the axioms; sampling against the exact values, over seeds."""

from __future__ import annotations

import itertools
import warnings
from math import factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from support.games import game_model, play, random_game, words
from verax.api import explain
from verax.methods.coalitions import all_coalitions, growing, kernel_coalitions, permutations
from verax.methods.games import Enumerated
from verax.methods.shapley import ExactShapley, KernelShap, ShapleySampling
from verax.types import Target, Undefined, UserError

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # libraries that are only asked for their opinion warn at import
    import shap
    import shapiq

ALL = (("exact_shapley", {}), ("kernel_shap", {}), ("shapley_sampling", {"permutations": 1000}))
SAMPLED = (("kernel_shap", {"budget": 40}), ("shapley_sampling", {"permutations": 6}))


def by_definition(values: np.ndarray) -> np.ndarray:
    """What each word adds, averaged over all n! orders, one by one."""
    n = len(values).bit_length() - 1
    totals = np.zeros(n)
    for order in itertools.permutations(range(n)):
        coalition = 0
        for word in order:
            totals[word] += values[coalition | 1 << word] - values[coalition]
            coalition |= 1 << word
    return totals / factorial(n)


def test_exact_is_the_definition() -> None:
    """All 720 orders of six words: 1e-12."""
    values = random_game(6, 1)
    assert np.abs(Enumerated(values).shapley() - by_definition(values)).max() <= 1e-12
    for method, parameters in ALL:
        assert np.abs(play(values, method, **parameters) - by_definition(values)).max() <= 1e-12, method


def test_exact_is_shaps() -> None:
    """shap's exact and kernel explainers (the latter at full budget), and shapiq's exact computer: 1e-10."""
    n = 7
    values = random_game(n, 2)

    def game(rows: np.ndarray) -> np.ndarray:
        return values[(np.asarray(rows) > 0.5).astype(int) @ (1 << np.arange(n))]

    full, empty = np.ones((1, n)), np.zeros((1, n))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exact = shap.explainers.Exact(game, shap.maskers.Independent(empty))(full).values[0]
        kernel = shap.KernelExplainer(game, empty).shap_values(full, nsamples=2**n, silent=True, l1_reg=False)[0]
        theirs = shapiq.ExactComputer(game, n_players=n)("SV").get_n_order_values(1)
    for method, parameters in ALL:
        mine = play(values, method, **parameters)
        for name, other in {"exact": exact, "kernel": kernel, "shapiq": theirs}.items():
            assert np.abs(mine - other).max() <= 1e-10, (method, name)


@pytest.mark.parametrize(("method", "parameters"), [*ALL, *SAMPLED])
@given(seed=st.integers(0, 10**6))
@settings(max_examples=15)
def test_efficiency(method: str, parameters: dict[str, object], seed: int) -> None:
    """Whatever is sampled, the scores sum to f(all) - f(none)."""
    values = random_game(7, seed)
    assert play(values, method, **parameters).sum() == pytest.approx(values[-1] - values[0], abs=1e-10)


@pytest.mark.parametrize(("method", "parameters"), [*ALL, SAMPLED[1]])
@given(seed=st.integers(0, 10**6), player=st.integers(0, 6))
@settings(max_examples=15)
def test_null_player(method: str, parameters: dict[str, object], seed: int, player: int) -> None:
    """A word that never changes anything gets 0 (a regression on samples promises it only at full budget)."""
    values = random_game(7, seed)
    values = values[np.arange(2**7) & ~(1 << player)]
    assert abs(play(values, method, **parameters)[player]) <= 1e-10


@pytest.mark.parametrize(("method", "parameters"), ALL)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=15)
def test_symmetry(method: str, parameters: dict[str, object], seed: int) -> None:
    """Two words that do the same everywhere get the same."""
    values, numbers = random_game(6, seed), np.arange(2**6)
    swapped = (numbers & ~3) | ((numbers & 1) << 1) | ((numbers >> 1) & 1)
    scores = play((values + values[swapped]) / 2, method, **parameters)
    assert scores[0] == pytest.approx(scores[1], abs=1e-10)


@pytest.mark.parametrize(("method", "parameters"), [*ALL, *SAMPLED])
@given(seed=st.integers(0, 10**6), weight=st.floats(0.1, 0.9))
@settings(max_examples=15)
def test_linearity(method: str, parameters: dict[str, object], seed: int, weight: float) -> None:
    """A mixture of games gets the mixture of scores: samples depend on the text and the seed alone."""
    a, b = random_game(7, seed), random_game(7, seed + 1)
    mixed = play(weight * a + (1 - weight) * b, method, **parameters)
    apart = weight * play(a, method, **parameters) + (1 - weight) * play(b, method, **parameters)
    assert np.abs(mixed - apart).max() <= 1e-9


@pytest.mark.parametrize(
    ("method", "parameters"), [("kernel_shap", {"budget": 64}), ("shapley_sampling", {"permutations": 7})]
)
def test_sampling_is_unbiased(method: str, parameters: dict[str, object]) -> None:
    """Over 30 seeds, no word's mean error is further from 0 than chance allows (z-test, level 0.001 over all words)."""
    n = 8
    for game in (3, 4):
        values = random_game(n, game)
        sampled = np.array([play(values, method, seed=seed, **parameters) for seed in range(30)])
        errors = sampled - Enumerated(values).shapley()
        z = errors.mean(0) / (errors.std(0, ddof=1) / np.sqrt(len(errors)))
        assert np.abs(z).max() <= stats.norm.isf(0.001 / (2 * 2 * n)), z


@pytest.mark.parametrize(("method", "parameter"), [("kernel_shap", "budget"), ("shapley_sampling", "permutations")])
def test_the_error_falls_with_the_budget(method: str, parameter: str) -> None:
    """Four times the work, less than half the mean squared error (over 12 seeds; it should be a quarter)."""
    values = random_game(9, 5)
    exact = Enumerated(values).shapley()

    def error(amount: int) -> float:
        drawn = [play(values, method, seed=seed, **{parameter: amount}) for seed in range(12)]
        return float(((np.array(drawn) - exact) ** 2).mean())

    small = 40 if parameter == "budget" else 5
    assert error(4 * small) <= error(small) / 2


def test_pairs_make_pairwise_games_exact() -> None:
    """Where words interact two by two at most, an order and its reverse give the exact values; so do paired rows."""
    n, rng = 8, np.random.default_rng(0)
    bits = all_coalitions(n).astype(float)
    values = bits @ rng.normal(size=n) + np.einsum("si,ij,sj->s", bits, rng.normal(size=(n, n)), bits)
    values = -2 + values / np.abs(values).max()
    exact = Enumerated(values).shapley()
    assert np.abs(play(values, "shapley_sampling", permutations=2) - exact).max() <= 1e-12
    assert np.abs(play(values, "kernel_shap", budget=60) - exact).max() <= 1e-12


@given(n=st.integers(3, 20), budget=st.integers(4, 300), seed=st.integers(0, 99))
def test_coalitions_of_the_kernel(n: int, budget: int, seed: int) -> None:
    """Within the budget, in pairs, none twice, neither all words nor none, and weights that sum to the kernel's."""
    drawn = kernel_coalitions(n, min(budget, 2**n - 2), np.random.default_rng(seed))
    assert len(drawn.keep) <= budget
    sizes = drawn.keep.sum(1)
    assert sizes.min() >= 1
    assert sizes.max() <= n - 1
    rows = {row.tobytes() for row in drawn.keep}
    assert len(rows) == len(drawn.keep)
    assert {(~row).tobytes() for row in drawn.keep} == rows
    assert (drawn.weights > 0).all()
    assert drawn.weights.sum() == pytest.approx(sum((n - 1) / (s * (n - s)) for s in range(1, n)), rel=1e-9)
    if 2**n - 2 <= budget:
        assert len(rows) == 2**n - 2


def test_orders_and_what_grows_in_them() -> None:
    orders = permutations(5, 7, np.random.default_rng(0))
    assert orders.shape == (7, 5)
    assert (np.sort(orders, axis=1) == np.arange(5)).all()
    assert (orders[1] == orders[0][::-1]).all()
    grown = growing(np.array([2, 0, 1]))
    assert grown.astype(int).tolist() == [[0, 0, 0], [0, 0, 1], [1, 0, 1], [1, 1, 1]]


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_short_inputs_are_exact_and_cost_no_more_than_they_must(n: int) -> None:
    values = random_game(n, n)
    for method in (KernelShap(Target("win"), removal="delete"), ShapleySampling(Target("win"), removal="delete")):
        made = explain(game_model(values), words(n), method=method).highlight
        assert np.abs(np.array(made.scores) - Enumerated(values).shapley()).max() <= 1e-12
        assert made.cost.forward <= 2**n == method.passes(n).forward


def test_a_generous_budget_goes_beyond_the_limit_of_exact_shapley() -> None:
    """2^15 coalitions are more than exact_shapley takes, but who asks for them gets them."""
    values = -1 - all_coalitions(15) @ np.arange(1, 16) / 200
    scores = play(values, "kernel_shap", budget=2**15)
    assert np.abs(scores + np.arange(1, 16) / 200).max() <= 1e-12
    with pytest.raises(Undefined, match=r"too_many_words: 15 words; exact_shapley takes up to 14"):
        explain(game_model(values), words(15), method=ExactShapley(Target("win"), "delete"))


def test_bad_parameters() -> None:
    with pytest.raises(UserError, match="budget: got 3"):
        KernelShap(budget=3)
    with pytest.raises(UserError, match="permutations: got 0"):
        ShapleySampling(permutations=0)
