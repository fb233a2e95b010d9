"""Means, paired tests, letters and two columns compared, on tables small enough to check by hand."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verax.stats import bca, compare_columns, compare_methods, groups, holm, paired_test, pairwise
from verax.stats.joint import Compared, PairedMeans, mean_of, mean_over_groups
from verax.types import FloatArray

NAN = np.nan


def compared(
    table: Mapping[str, Sequence[float]],
    baselines: Mapping[str, str] | str = "random",
    *,
    higher: bool = True,
    seed: int = 0,
) -> dict[str, Compared]:
    """Columns by method; NaN where there is no value."""
    names = list(table)
    against = dict.fromkeys(names, baselines) if isinstance(baselines, str) else baselines
    places = [names.index(against[name]) if against.get(name) in names else None for name in names]
    values = np.array([table[name] for name in names], float).T.reshape(-1, len(names))
    return dict(zip(names, compare_methods(values, places, higher_is_better=higher, seed=seed), strict=True))


def p_matrix(methods: int, different: Sequence[tuple[int, int]]) -> FloatArray:
    p = np.full((methods, methods), 0.9)
    for i, j in different:
        p[i, j] = p[j, i] = 1e-6
    return p


def test_a_table_by_hand() -> None:
    rows = compared({"loo": [0.5, NAN, 0.7, 0.9, 0.6], "random": [0.1, 0.2, NAN, 0.3, 0.2], "none": [NAN] * 5})
    loo, rand, none = rows["loo"], rows["random"], rows["none"]
    assert loo.mean is not None
    assert loo.mean.value == pytest.approx(2.7 / 4)
    assert loo.mean.interval == bca(np.array([0.5, 0.7, 0.9, 0.6]))
    assert loo.n == 4
    assert loo.baseline_mean == pytest.approx((0.1 + 0.3 + 0.2) / 3)  # over the three that both have
    assert (loo.p, loo.p_holm) == (0.25, 0.25)  # three differences of one sign: 2 of 8 flips are as extreme
    assert (rand.n, rand.p, rand.p_holm) == (4, None, None)
    assert rand.mean is not None
    assert rand.baseline_mean == rand.mean.value == pytest.approx(0.2)
    assert none == Compared(None, 0, None, None, None, "")


def test_p_is_that_of_the_paired_test_and_holm_counts_the_methods() -> None:
    rng = np.random.default_rng(0)
    table = {"random": rng.normal(size=40), "x": rng.normal(0.4, 1, 40), "y": rng.normal(0.3, 1, 40)}
    found = compared(table, seed=7)
    p = [paired_test(table[method], table["random"], seed=7) for method in ("x", "y")]
    assert [found["x"].p, found["y"].p] == p
    assert [found["x"].p_holm, found["y"].p_holm] == holm(p)
    alone = compared({name: table[name] for name in ("random", "x")}, seed=7)["x"]
    assert alone.p == alone.p_holm == p[0]


def test_without_a_baseline_nothing_is_tested() -> None:
    row = compared({"a": [0.1, 0.2, 0.3]})["a"]
    assert (row.baseline_mean, row.p, row.p_holm, row.group) == (None, None, None, "a")
    own = compared({"a": [0.1, 0.2, 0.3]}, "a")["a"]
    assert own.mean is not None
    assert (own.baseline_mean, own.p) == (own.mean.value, None)
    assert compare_methods(np.empty((0, 0)), [], higher_is_better=True) == []


def test_one_value_has_no_interval() -> None:
    assert compared({"a": [0.5]})["a"].mean == (0.5, None, None)


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, 20))
def test_the_order_of_instances_does_not_matter(shuffle: random.Random, n: int) -> None:
    rng = np.random.default_rng(n)
    values = np.where(rng.random((n, 3)) < 0.2, NAN, rng.normal(size=(n, 3)))
    expected = compare_methods(values, [0, 0, 0], higher_is_better=True)
    order = list(range(n))
    shuffle.shuffle(order)
    assert compare_methods(values[order], [0, 0, 0], higher_is_better=True) == expected
    assert all(row.p is None or 0.0 <= row.p <= (row.p_holm or 0.0) <= 1.0 for row in expected)


@pytest.mark.parametrize(("higher", "expected"), [(True, ["b", "a", "a"]), (False, ["a", "b", "b"])])
def test_tied_methods_share_a_letter_and_the_best_get_the_first(higher: bool, expected: list[str]) -> None:
    noise = np.random.default_rng(2).normal(size=(100, 3))
    rows = compared({"apart": noise[:, 0], "tied": 3 + noise[:, 1], "as well": 3 + noise[:, 2]}, higher=higher)
    assert [row.group for row in rows.values()] == expected


def test_a_chain_that_is_not_transitive() -> None:
    assert groups(p_matrix(3, [(0, 2)]), [0, 1, 2]) == ["a", "ab", "b"]
    assert groups(p_matrix(3, [(0, 2)]), [2, 1, 0]) == ["b", "ab", "a"]
    assert groups(p_matrix(4, [(0, 2), (0, 3), (1, 3)]), [0, 1, 2, 3]) == ["a", "ab", "bc", "c"]


def test_all_alike_all_different_and_none() -> None:
    every_pair = [(i, j) for i in range(4) for j in range(i)]
    assert groups(p_matrix(4, []), [0, 1, 2, 3]) == ["a"] * 4
    assert groups(p_matrix(4, every_pair), [3, 2, 1, 0]) == ["d", "c", "b", "a"]
    assert groups(p_matrix(2, []), []) == ["", ""]


def test_letters_are_given_after_holms_correction() -> None:
    p = np.full((3, 3), 0.03)
    assert groups(p, [0, 1, 2]) == ["a", "a", "a"]  # 3 * 0.03 > 0.05
    assert groups(p, [0, 1]) == ["a", "b", ""]
    p[0, 1] = p[1, 0] = np.nan  # a test that cannot be done separates nothing and does not count
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
def test_letters_are_the_maximal_cliques_of_methods_that_are_alike(case: tuple[int, set[tuple[int, int]]]) -> None:
    n, different = case
    different = {(i, j) for i, j in different if i != j}
    letters = groups(p_matrix(n, sorted(different)), range(n))
    graph = nx.empty_graph(n)
    graph.add_edges_from((i, j) for i in range(n) for j in range(i) if not {(i, j), (j, i)} & different)
    cliques = {frozenset(clique) for clique in nx.find_cliques(graph)}
    members = {letter: frozenset(i for i in range(n) if letter in letters[i]) for letter in set("".join(letters))}
    assert set(members.values()) == cliques
    assert len(members) == len(cliques)


def test_each_method_is_tested_against_its_own_baseline() -> None:
    rng = np.random.default_rng(3)
    names = ("random", "x", "random_span", "spans")
    table = {name: rng.normal(0.1 * i, 1, 30) for i, name in enumerate(names)}
    against = {"random": "random", "x": "random", "random_span": "random_span", "spans": "random_span"}
    found = compared(table, against)
    expected = {name: paired_test(table[name], table[against[name]]) for name in ("x", "spans")}
    assert {name: found[name].p for name in expected} == expected
    assert [found[name].p_holm for name in expected] == holm(list(expected.values()))
    assert (found["random_span"].p, found["random"].p) == (None, None)
    assert found["spans"].baseline_mean == pytest.approx(table["random_span"].mean())
    assert found["x"].baseline_mean == pytest.approx(table["random"].mean())


def test_many_methods_can_still_be_distinguished() -> None:
    # 40 methods make 780 pairs: the smallest p of 9,999 flips, 0.0001, would not pass Holm's correction.
    rng = np.random.default_rng(0)
    p = pairwise(np.arange(40.0) + rng.normal(0, 0.1, size=(40, 40)))
    assert (p == p.T)[~np.eye(40, dtype=bool)].all()
    assert len(set(groups(p, range(40)))) == 40


def test_two_columns_over_the_instances_that_both_have() -> None:
    first = np.array([[0.9, 1.0], [0.8, 1.0], [0.7, 1.0], [NAN, 1.0], [0.6, 1.0]])
    second = np.array([[0.1, 1.0], [0.2, 1.0], [NAN, 1.0], [0.3, 1.0], [0.3, 1.0]])
    m, low = compare_columns(first, second)
    assert (m.n, m.first, m.second) == (3, pytest.approx(2.3 / 3), pytest.approx(0.6 / 3))
    assert (m.p, m.p_holm) == (0.25, 0.5)
    assert low == PairedMeans(1.0, 1.0, 5, 1.0, 1.0)


def test_two_columns_are_tested_as_pairs() -> None:
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(30, 1)), rng.normal(0.4, 1, (30, 1))
    (row,) = compare_columns(a, b, seed=3)
    assert row.p == row.p_holm == paired_test(a[:, 0], b[:, 0], seed=3)


def test_columns_that_share_no_instance() -> None:
    (row,) = compare_columns(np.array([[1.0], [NAN]]), np.array([[NAN], [2.0]]))
    assert row == PairedMeans(None, None, 0, None, None)


def test_translations_of_one_input_count_once() -> None:
    values = np.array([[1.0, NAN], [2.0, 4.0], [6.0, NAN], [9.0, 9.0]])
    means, inputs = mean_over_groups(values, ["a-en", "a-de", "b-en", "alone"], {"a-en": "a", "a-de": "a", "b-en": "b"})
    assert inputs == ["a", "b", "alone"]
    np.testing.assert_array_equal(means, [[1.5, 4.0], [6.0, NAN], [9.0, 9.0]])
    same, ids = mean_over_groups(values, list("wxyz"), {})
    assert same is values
    assert ids == list("wxyz")


def test_the_mean_does_not_depend_on_the_order() -> None:
    values = np.array([1e16, 1.0, -1e16, NAN])
    assert mean_of(values) == mean_of(values[::-1]) == 1 / 3
    assert mean_of(np.array([NAN])) is None
