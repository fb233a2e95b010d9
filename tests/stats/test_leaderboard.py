"""Leaderboards, letters and comparisons on tables small enough to check by hand."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verax.stats import bca, compare, groups, holm, paired_test, pairwise, summarise
from verax.types import FloatArray, Score, Summary


def scored(metric: str, table: Mapping[str, Sequence[float | None]]) -> list[Score]:
    return [
        Score(f"i{i}", method, metric, value, None if value is not None else "empty")
        for method, column in table.items()
        for i, value in enumerate(column)
    ]


def by_method(rows: Sequence[Summary], metric: str) -> dict[str, Summary]:
    return {row.method: row for row in rows if row.metric == metric}


def p_matrix(methods: int, different: Sequence[tuple[int, int]]) -> FloatArray:
    p = np.full((methods, methods), 0.9)
    for i, j in different:
        p[i, j] = p[j, i] = 1e-6
    return p


def test_a_table_by_hand() -> None:
    scores = scored(
        "aopc", {"loo": [0.5, None, 0.7, 0.9, 0.6], "random": [0.1, 0.2, None, 0.3, 0.2], "none": [None] * 5}
    )
    loo, rand, none = summarise(scores, {"aopc": True})
    assert (loo.method, rand.method, none.method) == ("loo", "random", "none")
    assert loo.mean == pytest.approx(2.7 / 4)
    assert (loo.n, loo.skipped) == (4, 1)
    assert loo.random == pytest.approx((0.1 + 0.3 + 0.2) / 3)  # over i0, i3 and i4, which both have
    assert loo.p == 0.25  # three differences of one sign: 2 of 8 flips are as extreme
    assert loo.p_holm == 0.25
    assert (loo.low, loo.high) == bca(np.array([0.5, 0.7, 0.9, 0.6]))
    assert (rand.n, rand.skipped, rand.p, rand.p_holm) == (4, 1, None, None)
    assert rand.random == rand.mean == pytest.approx(0.2)
    assert none == Summary("none", "aopc", None, None, None, 0, 5, None, None, None, True, "")


def test_p_is_that_of_the_paired_test_and_holm_counts_the_methods_of_its_metric() -> None:
    rng = np.random.default_rng(0)
    a = {"random": rng.normal(size=40), "x": rng.normal(0.4, 1, 40), "y": rng.normal(0.3, 1, 40)}
    b = {"random": rng.normal(size=40), "x": rng.normal(size=40)}
    rows = summarise(scored("a", a) + scored("b", b), {"a": True, "b": False}, seed=7)
    p = [paired_test(a[method], a["random"], seed=7) for method in ("x", "y")]
    found = by_method(rows, "a")
    assert [found["x"].p, found["y"].p] == p
    assert [found["x"].p_holm, found["y"].p_holm] == holm(p)
    alone = by_method(rows, "b")["x"]
    assert alone.p == alone.p_holm == paired_test(b["x"], b["random"], seed=7)
    assert [row.higher_is_better for row in rows] == [True, True, True, False, False]


def test_the_order_of_rows() -> None:
    scores = scored("late", {"b": [1.0], "a": [1.0]}) + scored("early", {"c": [1.0], "b": [1.0]})
    names = [(row.metric, row.method) for row in summarise(scores, {"late": True, "early": True})]
    assert names == [("late", "b"), ("late", "a"), ("early", "b"), ("early", "c")]
    names = [
        (row.metric, row.method) for row in summarise(scores, {"late": True, "early": True}, order=["c", "a", "z"])
    ]
    assert names == [("late", "a"), ("late", "b"), ("early", "c"), ("early", "b")]


def test_a_run_without_the_baseline() -> None:
    (row,) = summarise(scored("m", {"a": [0.1, 0.2, 0.3]}), {"m": True})
    assert (row.random, row.p, row.p_holm, row.group) == (None, None, None, "a")
    (row,) = summarise(scored("m", {"a": [0.1, 0.2, 0.3]}), {"m": True}, baseline="a")
    assert row.random == row.mean
    assert summarise([], {}) == []


def test_one_value_has_no_interval() -> None:
    (row,) = summarise(scored("m", {"a": [0.5]}), {"m": True})
    assert (row.mean, row.low, row.high, row.n) == (0.5, None, None, 1)


def test_two_scores_for_one_explanation_are_refused() -> None:
    with pytest.raises(ValueError, match="two scores for instance 'i0'"):
        summarise(scored("m", {"a": [0.5]}) * 2, {"m": True})


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, 20))
def test_permuting_the_scores_changes_nothing(shuffle: random.Random, n: int) -> None:
    rng = np.random.default_rng(n)
    table = {
        name: [None if rng.random() < 0.2 else float(v) for v in rng.normal(size=n)] for name in ("random", "a", "b")
    }
    scores = scored("m", table)
    order = list(table)
    expected = summarise(scores, {"m": True}, order=order)
    shuffle.shuffle(scores)
    assert summarise(scores, {"m": True}, order=order) == expected
    assert all(row.p is None or 0.0 <= row.p <= (row.p_holm or 0.0) <= 1.0 for row in expected)


@pytest.mark.parametrize(("higher_is_better", "expected"), [(True, ["b", "a", "a"]), (False, ["a", "b", "b"])])
def test_tied_methods_share_a_letter_and_the_best_get_the_first(higher_is_better: bool, expected: list[str]) -> None:
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(100, 3))
    table = {"apart": noise[:, 0], "tied": 3 + noise[:, 1], "as well": 3 + noise[:, 2]}
    rows = summarise(scored("m", table), {"m": higher_is_better})
    assert [row.group for row in rows] == expected


def test_a_chain_that_is_not_transitive() -> None:
    assert groups(p_matrix(3, [(0, 2)]), [0, 1, 2]) == ["a", "ab", "b"]
    assert groups(p_matrix(3, [(0, 2)]), [2, 1, 0]) == ["b", "ab", "a"]
    assert groups(p_matrix(4, [(0, 2), (0, 3), (1, 3)]), [0, 1, 2, 3]) == ["a", "ab", "bc", "c"]


def test_all_alike_all_different_and_nobody() -> None:
    everyone = [(i, j) for i in range(4) for j in range(i)]
    assert groups(p_matrix(4, []), [0, 1, 2, 3]) == ["a"] * 4
    assert groups(p_matrix(4, everyone), [3, 2, 1, 0]) == ["d", "c", "b", "a"]
    assert groups(p_matrix(2, []), []) == ["", ""]


def test_letters_are_given_after_holms_correction() -> None:
    p = np.full((3, 3), 0.03)
    assert groups(p, [0, 1, 2]) == ["a", "a", "a"]  # 3 * 0.03 > 0.05
    assert groups(p, [0, 1]) == ["a", "b", ""]
    p[0, 1] = p[1, 0] = np.nan  # a test that can't be done tells nobody apart and does not count
    assert groups(p, [0, 1, 2]) == ["a", "a", "a"]
    p[0, 2] = p[2, 0] = 0.02
    assert groups(p, [0, 1, 2]) == ["a", "a", "b"]


def test_more_than_an_alphabet() -> None:
    n = 60
    letters = groups(p_matrix(n, [(i, j) for i in range(n) for j in range(i)]), range(n))
    assert letters[:27] == [*"abcdefghijklmnopqrstuvwxyzA"]
    assert len(set(letters)) == n
    assert all(len(letter) == 1 and letter.isalpha() for letter in letters)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(1, 8).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))))
    )
)
def test_letters_are_the_maximal_cliques_of_the_methods_alike(case: tuple[int, set[tuple[int, int]]]) -> None:
    n, different = case
    different = {(i, j) for i, j in different if i != j}
    letters = groups(p_matrix(n, sorted(different)), range(n))
    graph = nx.empty_graph(n)
    graph.add_edges_from((i, j) for i in range(n) for j in range(i) if not {(i, j), (j, i)} & different)
    cliques = {frozenset(clique) for clique in nx.find_cliques(graph)}
    members = {letter: frozenset(i for i in range(n) if letter in letters[i]) for letter in set("".join(letters))}
    assert set(members.values()) == cliques
    assert len(members) == len(cliques)


def test_each_method_is_tested_against_the_random_explanation_of_its_own_kind() -> None:
    rng = np.random.default_rng(3)
    names = ("random", "x", "random_span", "spans", "loose")
    table = {name: rng.normal(0.1 * i, 1, 30) for i, name in enumerate(names)}
    against = {"random": "random", "x": "random", "random_span": "random_span", "spans": "random_span"}
    found = by_method(summarise(scored("m", table), {"m": True}, baseline=against), "m")
    partners = {**against, "loose": "random"}  # one that is not named
    expected = {name: paired_test(table[name], table[partners[name]]) for name in ("x", "spans", "loose")}
    assert {name: found[name].p for name in expected} == expected
    assert [found[name].p_holm for name in expected] == holm(list(expected.values()))
    assert (found["random_span"].p, found["random"].p) == (None, None)
    assert found["spans"].random == pytest.approx(table["random_span"].mean())
    assert found["x"].random == pytest.approx(table["random"].mean())


def test_a_baseline_without_scores_under_a_metric_gives_no_test() -> None:
    rows = summarise(scored("m", {"spans": [1.0, 2.0, 3.0]}), {"m": True}, baseline={"spans": "random_span"})
    assert [(row.p, row.random) for row in rows] == [(None, None)]


def test_many_methods_can_still_be_told_apart() -> None:
    # 40 methods make 780 pairs: the least p of 9,999 flips, 0.0001, would not pass Holm's correction.
    rng = np.random.default_rng(0)
    p = pairwise(np.arange(40.0) + rng.normal(0, 0.1, size=(40, 40)))
    assert (p == p.T)[~np.eye(40, dtype=bool)].all()
    assert len(set(groups(p, range(40)))) == 40


def test_two_runs_side_by_side() -> None:
    a = scored("m", {"x": [0.9, 0.8, 0.7, None, 0.6], "only a": [1.0] * 5}) + scored("low", {"x": [1.0] * 5})
    b = scored("low", {"x": [1.0] * 5}) + scored("m", {"x": [0.1, 0.2, None, 0.3, 0.3], "only b": [1.0] * 5})
    first, second = compare(a, b, {"m": True, "low": False})
    assert (first.method, first.metric, first.n, first.higher_is_better) == ("x", "m", 3, True)
    assert first.mean_a == pytest.approx(2.3 / 3)
    assert first.mean_b == pytest.approx(0.6 / 3)
    assert (first.p, first.p_holm) == (0.25, 0.5)
    assert (second.metric, second.n, second.mean_a, second.p, second.p_holm) == ("low", 5, 1.0, 1.0, 1.0)


def test_instances_are_matched_by_id() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=30), rng.normal(0.4, 1, 30)
    backwards = scored("m", {"x": b})[::-1]
    (row,) = compare(scored("m", {"x": a}), backwards, {"m": True}, seed=3)
    assert row.p == row.p_holm == paired_test(a, b, seed=3)


def test_runs_that_share_no_instance_or_no_row() -> None:
    other = [Score("elsewhere", "x", "m", 1.0)]
    (row,) = compare(scored("m", {"x": [1.0, 2.0]}), other, {"m": True})
    assert (row.n, row.mean_a, row.mean_b, row.p, row.p_holm) == (0, None, None, None, None)
    assert compare(scored("m", {"x": [1.0]}), scored("m", {"y": [1.0]}), {"m": True}) == []
