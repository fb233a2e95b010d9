"""Spans by communities: planted blocks are found again, and every awkward graph has a defined result."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verax.api import explain
from verax.engine.questions import QuestionGenerator
from verax.methods.baselines import RandomSpan
from verax.methods.louvain import Louvain, consensus
from verax.methods.occlusion import LeaveOneOut
from verax.methods.pairs import Pairing, pair_attribution
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
    first = [spans(Louvain(Planted(table), partitions=1, seed=seed), PREMISE, HYPOTHESIS) for seed in range(6)]
    np.random.default_rng().random(5)
    again = [spans(Louvain(Planted(table), partitions=1, seed=seed), PREMISE, HYPOTHESIS) for seed in range(6)]
    assert [one.units for one in first] == [one.units for one in again]
    assert len({one.units for one in first}) > 1
    assert 0 < first[0].notes["stability"] < 1  # type: ignore[operator]


@dataclass(frozen=True)
class Noisy:
    """Random scores, the same for all seeds, plus noise that depends on the seed."""

    noise: float
    directed: bool = False
    seed: int = 0

    kind: ClassVar[Kind] = "token_interaction"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "a test"

    def passes(self, n: int) -> Passes:
        return Passes(10, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        yield from ()
        shape = (x.n_units, x.n_units)
        drawn = x.rng(0, "signal").random(shape) ** 4 + self.noise * x.rng(self.seed, "noise").normal(size=shape)
        return pair_attribution(x, drawn, "between", directed=self.directed)


def top_words_overlap(noise: float, draws: int, partitions: int) -> float:
    """Mean share of the words in the top span pair that two explanations by other seeds have in common."""
    shares = []
    for number in range(12):
        tops = []
        for seed in (0, 1, 2):
            method = Louvain(Noisy(noise, seed=seed), draws=draws, partitions=partitions, stability=0, seed=seed)
            made = spans(method, f"{PREMISE} g h i {number}", f"{HYPOTHESIS} y z")
            best = made.units[int(np.argmax(made.scores))]
            tops.append({(span.part, word) for span in best for word in range(span.start, span.end)})
        shares += [len(a & b) / len(a | b) for a, b in combinations(tops, 2)]
    return float(np.mean(shares))


def test_a_consensus_over_draws_and_partitions_depends_less_on_the_seed() -> None:
    assert top_words_overlap(0.2, 3, 20) > top_words_overlap(0.2, 1, 1) + 0.2
    table = tuple(map(tuple, np.random.default_rng(3).random((10, 10))))
    alone, together = (
        {spans(Louvain(Planted(table), partitions=n, seed=seed), PREMISE, HYPOTHESIS).units for seed in range(6)}
        for n in (1, 20)
    )
    assert len(together) == 1 < len(alone)


def test_draws_are_averaged_and_paid_for() -> None:
    method = Louvain(Noisy(0.5), draws=3, partitions=1, stability=0)
    assert method.passes(10) == Passes(30, 0)
    assert Louvain(Planted(blocks()), draws=3).passes(10) == Passes(0, 0)
    made = spans(method, "a", "b")
    single = [spans(Louvain(Noisy(0.5, seed=100_003 * k), draws=1, stability=0), "a", "b") for k in range(3)]
    assert made.scores == pytest.approx(np.mean([one.scores for one in single], axis=0))


@pytest.mark.parametrize(
    ("partitions", "together"),
    [
        ([[0, 0, 1, 1]], [0, 0, 1, 1]),
        ([[5, 5, 2, 2], [1, 1, 1, 0], [0, 1, 2, 2]], [0, 0, 1, 1]),  # each pair in two of three
        ([[0, 1, 2, 3]] * 2 + [[0, 0, 0, 0]], [0, 1, 2, 3]),
        ([[0, 1], [0, 0]], [0, 0]),  # one half is enough
        ([[7]], [0]),
    ],
)
def test_words_belong_together_that_do_in_most_partitions(partitions: list[list[int]], together: list[int]) -> None:
    assert consensus(np.array(partitions)).tolist() == together


def test_budgets_by_other_seeds_are_noted() -> None:
    """As many as `stability`; where every seed gives the same spans they are those of the explanation."""
    made = spans(Louvain(Planted(blocks()), stability=3), PREMISE, HYPOTHESIS)
    assert made.notes["budgets"] == "5,10;5,10;5,10"
    assert "budgets" not in spans(Louvain(Planted(blocks()), stability=0), PREMISE, HYPOTHESIS).notes
    noisy = spans(Louvain(Noisy(0.3), stability=8), PREMISE, HYPOTHESIS)
    assert len(set(str(noisy.notes["budgets"]).split(";"))) > 1


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


def test_matched_random_spans_keep_number_lengths_and_words_but_not_places() -> None:
    """Over seeds every word of a part is equally likely to be in the span of three that belongs to two."""
    like = Louvain(Planted(blocks()), stability=0)
    hits = np.zeros(6)
    for seed in range(300):
        made = explain(MODEL, PREMISE, HYPOTHESIS, method=RandomSpan(like, seed=seed)).highlight
        assert [tuple((s.part, s.end - s.start) for s in pair) for pair in made.units] == [((0, 3), (1, 2))] * 2
        assert len({word for pair in made.units for s in pair for word in range(s.start, s.end)}) == 6
        assert all(0 <= score < 1 for score in made.scores)
        hits[made.units[0][0].start : made.units[0][0].end] += 1
    assert np.abs(hits / 300 - 0.5).max() < 0.1  # five standard errors
    with pytest.raises(UserError, match="like: needs a method that gives span pairs, got LeaveOneOut"):
        RandomSpan(LeaveOneOut())


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4)), min_size=1, max_size=6), st.integers(0, 99))
def test_overlapping_spans_move_together(spans: list[tuple[int, int]], seed: int) -> None:
    """Given spans of any kind: lengths and the number of words stay, and all lie inside the part."""

    @dataclass(frozen=True)
    class Given:
        kind: ClassVar[Kind] = "span_interaction"
        version: ClassVar[int] = 1
        reference: ClassVar[str] = "a test"

        def passes(self, n: int) -> Passes:
            return Passes(0, 0)

        def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
            yield from ()
            units = tuple(dict.fromkeys((Span(0, a, min(a + n, 10)), Span(1, 0, 1)) for a, n in spans))
            return Attribution(units, np.arange(len(units)) * 1.0)

    def covered(units: tuple[tuple[Span, ...], ...]) -> set[int]:
        return {word for first, _ in units for word in range(first.start, first.end)}

    texts = "a b c d e f g h i j", "u"
    own, random = (
        explain(MODEL, *texts, method=method).highlight for method in (Given(), RandomSpan(Given(), seed=seed))
    )
    assert [first.end - first.start for first, _ in random.units] == [first.end - first.start for first, _ in own.units]
    assert len(covered(random.units)) == len(covered(own.units))
    assert covered(random.units) <= set(range(10))


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
