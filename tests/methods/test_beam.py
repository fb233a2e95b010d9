"""Beam search against every order there is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.games import game_model, play, random_game, words
from verax.api import explain
from verax.methods.beam import Beam
from verax.types import Target, UserError


def total_drop(values: np.ndarray, order: tuple[int, ...]) -> float:
    """Sum over steps of f(all) - f(what is left), the last step (nothing left) aside: it is the same for all orders."""
    left, total = len(values) - 1, 0.0
    for word in order[:-1]:
        left &= ~(1 << word)
        total += values[-1] - values[left]
    return float(total)


def order_of(scores: np.ndarray) -> tuple[int, ...]:
    assert sorted(scores) == list(range(1, len(scores) + 1)), "ranks: the word that goes first gets n"
    return tuple(np.argsort(-scores).tolist())


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_a_wide_beam_finds_the_best_order(seed: int) -> None:
    """No set of removed words is dropped (width 10 = C(5, 2)): the best of all 120 orders."""
    values = random_game(5, seed)
    best = max(total_drop(values, order) for order in itertools.permutations(range(5)))
    assert total_drop(values, order_of(play(values, "beam", width=10))) == pytest.approx(best, abs=1e-12)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=20)
def test_a_beam_of_one_is_greedy(seed: int) -> None:
    values, order, left = random_game(6, seed), [], 63
    while left:
        word = min((w for w in range(6) if left >> w & 1), key=lambda w: values[left & ~(1 << w)])
        order.append(word)
        left &= ~(1 << word)
    assert order_of(play(values, "beam", width=1)) == tuple(order)


def test_a_wider_beam_is_no_worse_and_counts_its_passes() -> None:
    """Over 20 games of eight words, in the mean; and it never asks for more than it says."""
    narrow, wide = [], []
    for seed in range(20):
        values = random_game(8, seed)
        for width, found in ((1, narrow), (10, wide)):
            method = Beam(Target("win"), width, "delete")
            made = explain(game_model(values), words(8), method=method).highlight
            order = order_of(np.array(made.scores))
            found.append(total_drop(values, order))
            assert made.notes["cumulative_drop"] == pytest.approx(found[-1], abs=1e-12)
            assert made.cost.forward <= method.passes(8).forward
    assert np.mean(wide) > np.mean(narrow)


def test_ties_go_to_the_first_word() -> None:
    assert order_of(play(np.full(2**4, -1.0), "beam")) == (0, 1, 2, 3)


def test_one_word_needs_no_search() -> None:
    assert play(np.array([-1.0, -2.0]), "beam").tolist() == [1.0]


def test_bad_parameters() -> None:
    with pytest.raises(UserError, match="width: got 0"):
        Beam(width=0)
