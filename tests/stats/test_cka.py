"""Linear CKA against its definition by HSIC, its invariances, and the accuracy of finding translations with it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, ortho_group

from verax.stats.cka import linear_cka, matched
from verax.types import FloatArray

SHAPES = st.tuples(st.integers(3, 12), st.integers(1, 9), st.integers(1, 9), st.integers(0, 2**32 - 1))


def drawn(shape: tuple[int, int, int, int]) -> tuple[FloatArray, FloatArray]:
    """Two representations with something in common, neither centred."""
    n, left, right, seed = shape
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, 2))
    sides = (shared @ rng.normal(size=(2, d)) + rng.normal(size=(n, d)) + rng.normal(size=d) for d in (left, right))
    a, b = sides
    return a, b


def hsic(k: FloatArray, m: FloatArray) -> float:
    """Its empirical estimator, as it is written: tr(K H M H) / (n - 1)^2."""
    n = len(k)
    h = np.eye(n) - np.ones((n, n)) / n
    return float(np.trace(k @ h @ m @ h)) / (n - 1) ** 2


@given(SHAPES)
def test_cka_is_hsic_over_the_root_of_both_own_hsics(shape: tuple[int, int, int, int]) -> None:
    a, b = drawn(shape)
    k, m = a @ a.T, b @ b.T
    assert linear_cka(a, b) == pytest.approx(hsic(k, m) / np.sqrt(hsic(k, k) * hsic(m, m)), abs=1e-10)


@given(SHAPES)
def test_of_centred_matrices_it_is_the_norm_of_their_product(shape: tuple[int, int, int, int]) -> None:
    a, b = (x - x.mean(0) for x in drawn(shape))
    expected = np.linalg.norm(b.T @ a) ** 2 / (np.linalg.norm(a.T @ a) * np.linalg.norm(b.T @ b))
    assert linear_cka(a, b) == pytest.approx(expected, abs=1e-10)


@given(SHAPES, st.floats(1e-3, 1e3), st.floats(-50, 50))
def test_turning_scaling_and_shifting_a_side_change_nothing(
    shape: tuple[int, int, int, int], scale: float, shift: float
) -> None:
    a, b = drawn(shape)
    d = b.shape[1]
    turn = ortho_group.rvs(d, random_state=shape[3]) if d > 1 else np.array([[-1.0]])
    assert linear_cka(a, scale * b @ turn + shift) == pytest.approx(linear_cka(a, b), abs=1e-9)
    assert linear_cka(b, a) == pytest.approx(linear_cka(a, b), abs=1e-12)
    assert linear_cka(b, scale * b @ turn) == pytest.approx(1.0, abs=1e-9)


def test_stretching_one_direction_does_change_it() -> None:
    a, _ = drawn((10, 3, 3, 0))
    assert linear_cka(a, a * [30.0, 1.0, 1.0]) < 0.95


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_cka_by_hand_at_any_size(size: float) -> None:
    """Centred (-1, 0, 1) and (-1, 2, -1): orthogonal. (-1, 0, 1) and (-1, 1, 0): correlation 1/2, squared."""
    a = np.array([[0.0], [1.0], [2.0]]) * size
    assert linear_cka(a, np.array([[0.0], [3.0], [0.0]])) == pytest.approx(0.0, abs=1e-15)
    assert linear_cka(a, np.array([[0.0], [2.0], [1.0]]) * size) == pytest.approx(0.25)


@pytest.mark.parametrize("size", [0.0, 0.1, -7e9])
def test_a_side_that_is_the_same_for_all_inputs_is_like_nothing(size: float) -> None:
    """What rounding leaves of it, when the mean is taken away, does not count."""
    a, row = drawn((7, 3, 3, 1))[0], size * np.random.default_rng(0).random(50)
    assert linear_cka(a, np.tile(row, (7, 1))) == 0.0
    assert linear_cka(np.tile(row[::-1], (7, 1)), np.tile(row, (7, 1))) == 0.0


def test_other_numbers_of_inputs_are_refused() -> None:
    with pytest.raises(ValueError, match="same inputs"):
        linear_cka(np.ones((4, 2)), np.ones((5, 2)))
    with pytest.raises(ValueError, match="in pairs"):
        matched(np.ones((40, 2)), np.ones((50, 2)))
    with pytest.raises(ValueError, match="15 pairs, batches of 8"):
        matched(np.ones((15, 2)), np.ones((15, 2)))
    with pytest.raises(ValueError, match="batches of 2"):
        matched(np.ones((15, 2)), np.ones((15, 2)), batch=2)


def test_identical_representations_are_always_found() -> None:
    x = np.random.default_rng(0).normal(size=(83, 12))
    found = matched(x, x)
    assert (found.accuracy.value, found.batches, found.chance) == (1.0, 10, 1 / 11)
    assert found.accuracy.low == pytest.approx(1 / (1 + 1.959964**2 / 10)), "Wilson: n / (n + z^2)"
    assert found.accuracy.high == 1.0
    assert [matched(x[:n], x[:n]).accuracy.interval is None for n in (47, 48)] == [True, False], "5 batches and 6"
    turned = x @ ortho_group.rvs(12, random_state=0) * 3 + 1
    assert matched(x, turned).accuracy.value == 1.0


@pytest.mark.parametrize("candidates", [1, 10])
def test_independent_representations_are_found_by_chance(candidates: int) -> None:
    rng = np.random.default_rng(5)
    source, target = rng.normal(size=(4000, 6)), rng.normal(size=(4000, 6))
    found = matched(source, target, candidates=candidates)
    low, high = binom.interval(0.999, 500, 1 / (candidates + 1))
    assert low <= found.accuracy.value * 500 <= high
    assert found.chance == 1 / (candidates + 1)


def test_noise_and_more_candidates_make_it_harder() -> None:
    rng = np.random.default_rng(1)
    source = rng.normal(size=(1600, 8))
    noise = rng.normal(size=source.shape)
    by_noise = [matched(source, source + amount * noise).accuracy.value for amount in (0.1, 1.5, 4.0)]
    assert by_noise[0] > by_noise[1] + 0.1 > by_noise[2] + 0.2
    by_candidates = [matched(source, source + 1.5 * noise, candidates=k).accuracy.value for k in (1, 10, 100)]
    assert by_candidates[0] > by_candidates[1] > by_candidates[2]


def test_a_tie_is_no_success() -> None:
    assert matched(np.random.default_rng(0).normal(size=(32, 4)), np.ones((32, 4))).accuracy.value == 0.0


def test_the_order_of_pairs_within_a_batch_matters_and_the_seed_decides() -> None:
    """Translations in another order are no translations."""
    rng = np.random.default_rng(2)
    source = rng.normal(size=(320, 16))
    assert matched(source, source[rng.permutation(320)]).accuracy.value < 0.5
    noisy = source + 1.5 * rng.normal(size=source.shape)
    assert matched(source, noisy, seed=3) == matched(source, noisy, seed=3)
    assert len({matched(source, noisy, seed=seed).accuracy.value for seed in range(5)}) > 1
