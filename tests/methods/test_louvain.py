"""Spans by communities: planted blocks are found again, and every awkward graph has a defined result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.api import explain
from verax.engine.questions import QuestionGenerator
from verax.methods.pairs import Pairing, pair_attribution
from verax.methods.span.louvain import Louvain
from verax.methods.span.random_span import RandomSpan
from verax.methods.token.leave_one_out import LeaveOneOut
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.run.parameters import from_config
from verax.types import Attribution, Kind, Passes, Span, Undefined, UserError

MODEL = load_model(lambda texts: [[0.5, 0.5]] * len(texts), labels=["yes", "no"], version="1")
PREMISE, HYPOTHESIS = "a b c d e f", "u v w x"


@dataclass(frozen=True)
class Planted:
    """Scores that are given: `table[i][j]` for word i of the whole input and word j."""

    table: tuple[tuple[float, ...], ...]
    parts: Pairing = "between"
    directed: bool = False

    kind: ClassVar[Kind] = "token_interaction"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "a test"

    def passes(self, n: int) -> Passes:
        return Passes(0, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        yield from ()
        return pair_attribution(x, np.array(self.table), self.parts, directed=self.directed)


def blocks(strong: float = 1.0, weak: float = 0.05, sign: float = 1.0) -> tuple[tuple[float, ...], ...]:
    """Words 0-2 belong with 6-7 (u v), words 3-5 with 8-9 (w x)."""
    block = np.array([0, 0, 0, 1, 1, 1, 0, 0, 1, 1])
    return tuple(map(tuple, sign * np.where(block[:, None] == block[None, :], strong, weak)))


def spans(method: Louvain, *texts: str) -> Attribution:
    made = explain(MODEL, *texts, method=method).highlight
    return Attribution(made.units, np.array(made.scores), made.notes)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("seed", range(5))
def test_planted_blocks_come_back(sign: float, seed: int) -> None:
    made = spans(Louvain(Planted(blocks(sign=sign)), seed=seed), PREMISE, HYPOTHESIS)
    found = dict(zip(made.units, made.scores.tolist(), strict=True))
    assert found == {
        (Span(0, 0, 3), Span(1, 0, 2)): pytest.approx(sign),
        (Span(0, 3, 6), Span(1, 2, 4)): pytest.approx(sign),
    }
    assert made.notes["stability"] == 1.0


def test_a_community_in_pieces_gives_each_pair_of_its_runs() -> None:
    block = np.array([0, 1, 0, 1, 1, 0, 0, 1, 1, 0])  # a, c, f belong with u, x
    table = tuple(map(tuple, np.where(block[:, None] == block[None, :], 1.0, 0.01)))
    made = spans(Louvain(Planted(table)), PREMISE, HYPOTHESIS)
    mine = [(a, b) for a, b in made.units if a.start in (0, 2, 5)]
    assert mine == [(Span(0, i, i + 1), Span(1, j, j + 1)) for i in (0, 2, 5) for j in (0, 3)]


def test_mean_over_pairs_and_over_the_union_by_hand() -> None:
    """Two words and one: pairs of 0.6 and 0.8 one way, 1.0 and 0.8 the other; means 0.8 and 0.8, their sum 1.6."""
    table = ((0, 0, 0.6), (0, 0, 0.8), (1.0, 0.8, 0))
    pairs = spans(Louvain(Planted(table)), "a b", "c")
    union = spans(Louvain(Planted(table), normalise="union"), "a b", "c")
    assert pairs.units == union.units == ((Span(0, 0, 2), Span(1, 0, 1)),)
    assert pairs.scores.tolist() == [pytest.approx(0.8)]
    assert union.scores.tolist() == [pytest.approx(1.6 / 3)]


def test_signed_scores_are_kept_though_edges_have_none() -> None:
    made = spans(Louvain(Planted(((0, -2.0), (-2.0, 0)))), "a", "b")
    assert made.scores.tolist() == [-2.0]
    with pytest.raises(Undefined, match=r"no_edges.*positive"):
        spans(Louvain(Planted(((0, -2.0), (-2.0, 0))), weights="positive"), "a", "b")


def test_graphs_without_edges() -> None:
    with pytest.raises(Undefined, match="no_edges"):
        spans(Louvain(Planted(blocks(0.0, 0.0))), PREMISE, HYPOTHESIS)
    # one pair, however weak: its two words, and nothing else
    table = np.zeros((10, 10))
    table[4, 7] = table[7, 4] = 1e-30
    made = spans(Louvain(Planted(tuple(map(tuple, table)))), PREMISE, HYPOTHESIS)
    assert made.units == ((Span(0, 4, 5), Span(1, 1, 2)),)
    # one direction of one pair gains nothing by modularity: no two words belong together
    table[7, 4] = 0
    with pytest.raises(Undefined, match="no_span_pairs"):
        spans(Louvain(Planted(tuple(map(tuple, table)))), PREMISE, HYPOTHESIS)


def test_one_word_in_a_part() -> None:
    made = spans(Louvain(Planted(((0, 0, 1.0), (0, 0, 1.0), (1.0, 1.0, 0)))), "a b", "c")
    assert made.units == ((Span(0, 0, 2), Span(1, 0, 1)),)


def test_within_one_part() -> None:
    block = np.array([0, 0, 1, 1, 0, 1])
    table = tuple(map(tuple, np.where(block[:, None] == block[None, :], 1.0, 0.01)))
    made = spans(Louvain(Planted(table, parts="within")), PREMISE)
    assert made.units == ((Span(0, 0, 2), Span(0, 4, 5)), (Span(0, 2, 4), Span(0, 5, 6)))


def test_the_same_seed_gives_the_same_spans_whatever_is_run_beside() -> None:
    rng = np.random.default_rng(3)
    table = tuple(map(tuple, rng.random((10, 10))))
    first = [spans(Louvain(Planted(table), seed=seed), PREMISE, HYPOTHESIS) for seed in range(6)]
    np.random.default_rng().random(5)
    again = [spans(Louvain(Planted(table), seed=seed), PREMISE, HYPOTHESIS) for seed in range(6)]
    assert [one.units for one in first] == [one.units for one in again]
    assert len({one.units for one in first}) > 1
    assert 0 < first[0].notes["stability"] < 1  # type: ignore[operator]


def test_an_interaction_is_needed_and_named() -> None:
    with pytest.raises(UserError, match="over: needs an interaction between words, got LeaveOneOut"):
        Louvain(LeaveOneOut())
    with pytest.raises(UserError, match="louvain: over: needs an interaction"):
        from_config("methods", {"louvain": {"over": "saliency"}}, 0)
    with pytest.raises(UserError, match="resolution"):
        Louvain(resolution=0.0)
    named = from_config("methods", {"louvain": {"over": {"bivariate_shapley": {"budget": 300}}}}, 7)
    assert named.label == "louvain(over=bivariate_shapley(budget=300))"
    assert named.parameters["over"]["bivariate_shapley"]["budget"] == 300
    assert named.component.over.seed == 7


@given(
    st.integers(1, 9), st.integers(1, 9), st.integers(0, 99), st.integers(1, 6), st.sampled_from(["between", "within"])
)
def test_random_spans_cut_every_part(first: int, second: int, seed: int, longest: int, parts: Pairing) -> None:
    texts = " ".join("abcdefghi"[:first]), " ".join("rstuvwxyz"[:second])
    method = RandomSpan(longest=longest, parts=parts, seed=seed)
    if parts == "within" and first == second == 1:
        with pytest.raises(Undefined, match="no_pairs"):
            explain(MODEL, *texts, method=method)
        return
    made = explain(MODEL, *texts, method=method).highlight
    assert len(set(made.units)) == len(made.units)
    cut: dict[tuple[int, int], Span] = {}
    for a, b in made.units:
        assert (a.part == b.part) == (parts == "within")
        assert a < b
        for span in (a, b):
            assert span.end - span.start <= longest
            for word in range(span.start, span.end):
                assert cut.setdefault((span.part, word), span) == span  # a word lies in one span only
    if parts == "between":
        assert len(cut) == first + second


@pytest.mark.parametrize("seed", range(40))
def test_random_spans_within_a_short_part_are_never_none(seed: int) -> None:
    made = explain(MODEL, "a b c", method=RandomSpan(parts="within", seed=seed)).highlight
    assert made.units


def test_the_interaction_by_default_has_the_seed_of_the_run() -> None:
    """So that it shares the passes of Shapley values that are drawn by it; and no label tells one from the other."""
    bare, named = (
        from_config("methods", "louvain", 7),
        from_config("methods", {"louvain": {"over": "bivariate_shapley"}}, 7),
    )
    assert bare.component == named.component
    assert bare.component.over.seed == 7
    assert bare.label == named.label == from_config("methods", "louvain", 0).label == "louvain"
    own = from_config("methods", {"louvain": {"over": {"bivariate_shapley": {"seed": 3}}}}, 7)
    assert own.component.over.seed == 3
