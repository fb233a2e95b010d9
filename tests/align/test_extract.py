"""From similarities to links: against literal loops, and what must hold for any matrix."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from support.align_loops import argmax_by_loops, itermax_by_loops, softmax_by_loops
from verax.align.extract import argmax_links, cosine, itermax_links, softmax_links, word_links
from verax.types import BoolArray, FloatArray

# values from a small set, so that ties and zeros are met
MATRICES = arrays(
    np.float64,
    array_shapes(min_dims=2, max_dims=2, max_side=7),
    elements=st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1)),
)
THRESHOLDS = st.sampled_from([0.0, 1e-3, 0.1, 0.4])


def cells(linked: BoolArray) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in np.argwhere(linked)}


@given(MATRICES, THRESHOLDS)
def test_softmax_is_that_of_the_loops(similarity: FloatArray, threshold: float) -> None:
    similarity = 9 * similarity
    powers = np.exp(similarity)
    both = (powers / powers.sum(1, keepdims=True), powers / powers.sum(0))
    unsure = {cell for one in both for cell in cells(np.isclose(one, threshold, rtol=1e-9, atol=0))}  # by rounding
    assert cells(softmax_links(similarity, threshold)) - unsure == softmax_by_loops(similarity, threshold) - unsure


@given(MATRICES)
def test_argmax_and_itermax_are_those_of_the_loops(similarity: FloatArray) -> None:
    assert cells(argmax_links(similarity)) == argmax_by_loops(similarity.tolist())
    assert cells(itermax_links(similarity)) == itermax_by_loops(similarity.tolist())


@given(MATRICES, THRESHOLDS)
def test_swapping_the_sides_transposes_the_links(similarity: FloatArray, threshold: float) -> None:
    assert (softmax_links(similarity.T, threshold) == softmax_links(similarity, threshold).T).all()
    assert (argmax_links(similarity.T) == argmax_links(similarity).T).all()
    assert (itermax_links(similarity.T) == itermax_links(similarity).T).all()


@given(MATRICES)
def test_argmax_is_part_of_itermax_and_links_a_word_once(similarity: FloatArray) -> None:
    argmax, itermax = argmax_links(similarity), itermax_links(similarity)
    assert not (argmax & ~itermax).any()
    assert argmax.any()
    assert argmax.sum(0).max() <= 1
    assert argmax.sum(1).max() <= 1


def test_itermax_by_hand() -> None:
    similarity = np.array([[0.9, 0.1, 0.8], [0.2, 0.7, 0.1], [0.8, 0.1, 0.3], [0.1, 0.2, 0.6]])
    # mutual: (0, 0), (1, 1). Then column 2 is free and so are rows 2 and 3: (0, 2) is worth 0.72, (3, 2) stays 0.6, so
    # column 2 takes row 0; of what row 2 has, (2, 0) is worth 0.72, and column 0 takes it
    assert cells(argmax_links(similarity)) == {(0, 0), (1, 1)}
    assert cells(itermax_links(similarity)) == {(0, 0), (1, 1), (0, 2), (2, 0)}


def test_itermax_never_links_two_that_both_have_a_link_even_if_nothing_else_is_similar() -> None:
    similarity = np.zeros((4, 4))
    similarity[0, 1] = similarity[1, 0] = 1.0
    assert cells(itermax_links(similarity)) == {(0, 1), (1, 0)}


def test_a_threshold_of_softmax_holds_in_both_directions() -> None:
    similarity = np.array([[5.0, 5.0], [5.0, 0.0]])  # row 1 is sure of column 0, but column 0 is of two minds
    assert cells(softmax_links(similarity, 0.6)) == set()
    assert cells(softmax_links(similarity, 0.4)) == {(0, 0), (0, 1), (1, 0)}
    assert cells(softmax_links(np.array([[1000.0, 0.0], [0.0, 1000.0]]), 1e-3)) == {(0, 0), (1, 1)}


def test_cosines_lie_between_0_and_1() -> None:
    one, other = np.array([[2.0, 0.0], [0.0, 0.0]]), np.array([[5.0, 0.0], [0.0, 3.0], [-1.0, 0.0]])
    assert cosine(one, other) == pytest.approx(np.array([[1.0, 0.5, 0.0], [0.5, 0.5, 0.5]]))


def test_words_are_linked_when_any_of_their_pieces_are() -> None:
    linked = np.zeros((4, 3), bool)
    linked[0, 2] = linked[1, 2] = linked[3, 0] = True
    found = word_links(linked, np.array([0, 0, 1, 2]), np.array([0, 1, 1]), (4, 2))
    assert found.tolist() == [[0, 1], [2, 0]]
    assert word_links(np.zeros((1, 1), bool), np.array([0]), np.array([0]), (1, 1)).shape == (0, 2)
