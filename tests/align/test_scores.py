"""Precision, recall and AER by hand, and two directions made into one."""

from __future__ import annotations

import pytest

from verax.align.eflomal import symmetrise
from verax.align.scores import AlignmentScores, score_alignments
from verax.types import Links


def test_scores_by_hand() -> None:
    found: list[Links] = [((0, 0), (1, 1), (2, 3)), ((0, 1),)]
    gold: list[tuple[Links, Links]] = [(((0, 0), (1, 2)), ((1, 1),)), (((0, 0),), ())]
    # found: 4; sure: 3; of those found one is sure, one more possible
    scores = score_alignments(found, gold)
    assert scores == AlignmentScores(pairs=2, links=4, sure=3, right=2, surely_right=1)
    assert scores.precision == 2 / 4
    assert scores.recall == 1 / 3
    assert scores.f1 == pytest.approx(2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3))
    assert scores.aer == pytest.approx(1 - (1 + 2) / (4 + 3))


def test_a_corpus_is_counted_as_a_whole_and_not_averaged() -> None:
    gold: list[tuple[Links, Links]] = [(((0, 0),), ()), (tuple((i, i) for i in range(9)), ())]
    scores = score_alignments([((0, 0),), ()], gold)
    assert (scores.precision, scores.recall, scores.aer) == (1.0, 0.1, pytest.approx(1 - 2 / 11))


def test_finding_exactly_what_is_sure_is_without_error_whatever_else_is_possible() -> None:
    scores = score_alignments([((0, 0), (1, 0))], [(((0, 0), (1, 0)), ((2, 0), (0, 0)))])
    assert (scores.precision, scores.recall, scores.f1, scores.aer) == (1, 1, 1, 0)


@pytest.mark.parametrize(
    ("found", "gold", "expected"),
    [
        ((), (((0, 0),), ()), (None, 0, None, 1)),
        (((0, 0),), ((), ()), (0, None, None, 1)),
        (((0, 0),), ((), ((0, 0),)), (1, None, None, 0)),
        (((1, 1),), (((0, 0),), ()), (0, 0, 0, 1)),
        ((), ((), ()), (None, None, None, None)),
    ],
)
def test_shares_of_nothing_are_none(
    found: Links, gold: tuple[Links, Links], expected: tuple[float | None, ...]
) -> None:
    scores = score_alignments([found], [gold])
    assert (scores.precision, scores.recall, scores.f1, scores.aer) == expected


FORWARD = ((0, 0), (1, 1), (1, 2), (3, 3), (5, 5))
BACKWARD = ((0, 0), (1, 1), (2, 2), (3, 4), (4, 3), (5, 1))


def test_intersection_keeps_what_both_directions_have() -> None:
    assert symmetrise(FORWARD, BACKWARD, "intersection") == ((0, 0), (1, 1))


def test_growing_adds_neighbours_of_words_without_a_link_then_pairs_of_such_words() -> None:
    # (1, 2) touches (1, 1) and gives word 2 its first link, (2, 2) then touches it and gives word 2 of the other side
    # its own; so (3, 3) touches (2, 2), (3, 4) and (4, 3) touch (3, 3), and (5, 5) touches nothing that leads on but
    # both its words are free. (5, 1) touches nothing, and by then both its words have links.
    grown = ((0, 0), (1, 1), (1, 2), (2, 2), (3, 3), (3, 4), (4, 3), (5, 5))
    assert symmetrise(FORWARD, BACKWARD, "grow_diag_final_and") == grown


def test_a_neighbour_whose_words_both_have_links_is_not_added() -> None:
    both = ((0, 0), (1, 1))
    assert symmetrise((*both, (0, 1)), (*both, (1, 0)), "grow_diag_final_and") == both


def test_the_last_step_links_words_that_are_both_free_alone() -> None:
    assert symmetrise(((0, 0), (2, 4)), ((0, 0), (2, 6), (4, 4)), "grow_diag_final_and") == ((0, 0), (2, 4))
