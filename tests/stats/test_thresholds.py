"""The threshold with the best F1 against brute force, and shares from counts by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verax.stats.thresholds import best_threshold, overlap, overlap_at

scored = st.lists(
    st.tuples(st.booleans(), st.one_of(st.sampled_from([-0.5, 0.0, 0.25, 0.5, 1.0]), st.floats(-1, 1))),
    min_size=1,
    max_size=40,
).filter(lambda words: any(gold for gold, _ in words))


def f1_by_hand(gold: np.ndarray, found: np.ndarray) -> float:
    right, wrong, missed = (gold & found).sum(), (~gold & found).sum(), (gold & ~found).sum()
    return float(2 * right / (2 * right + wrong + missed))


@settings(max_examples=100, deadline=None)
@given(scored)
def test_no_threshold_has_a_better_f1_and_none_that_finds_less_is_as_good(words: list[tuple[bool, float]]) -> None:
    gold, scores = np.array([gold for gold, _ in words]), np.array([score for _, score in words])
    by_hand = {cut: f1_by_hand(gold, scores >= cut) for cut in set(scores.tolist())}
    best = max(by_hand.values())
    threshold = best_threshold(gold, scores)
    assert f1_by_hand(gold, scores >= threshold) == best
    last = scores[scores >= threshold].min()
    assert all(value < best for cut, value in by_hand.items() if cut > last)


@settings(max_examples=100, deadline=None)
@given(scored, st.floats(-1, 1))
def test_shares_at_a_threshold(words: list[tuple[bool, float]], threshold: float) -> None:
    gold, scores = np.array([gold for gold, _ in words]), np.array([score for _, score in words])
    found = scores >= threshold
    got = overlap_at(gold, scores, threshold)
    assert got.recall == pytest.approx((gold & found).sum() / gold.sum())
    assert got.f1 == pytest.approx(f1_by_hand(gold, found))
    assert (got.precision is None) == (not found.any())
    if found.any():
        assert got.precision == pytest.approx((gold & found).sum() / found.sum())


def test_equal_scores_are_never_cut_apart() -> None:
    gold, scores = np.array([True, False, False, False]), np.array([0.5, 0.5, 0.5, 0.1])
    assert best_threshold(gold, scores) == pytest.approx(0.3)  # halfway to the next
    assert overlap_at(gold, scores, 0.3) == (1 / 3, 1.0, 0.5)


def test_the_threshold_is_a_score_where_none_lies_below_or_between() -> None:
    assert best_threshold(np.array([True, True]), np.array([0.25, 0.5])) == 0.25
    next_up = np.nextafter(0.5, 1)
    assert best_threshold(np.array([False, True]), np.array([0.5, next_up])) == next_up


def test_a_share_of_nothing_is_none() -> None:
    assert overlap(0, 0, 3) == (None, 0.0, 0.0)
    assert overlap(0, 2, 0) == (0.0, None, 0.0)
    assert overlap(0, 0, 0) == (None, None, None)


def test_nothing_gold_has_no_best_threshold() -> None:
    with pytest.raises(ValueError, match="no gold item"):
        best_threshold(np.zeros(3, bool), np.arange(3.0))
