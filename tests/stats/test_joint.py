"""The joint test against a literal enumeration, its level over simulated data, and what follows from it."""

from __future__ import annotations

import itertools
import tracemalloc
import warnings

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import f1_score

from verax.stats import joint
from verax.stats.joint import (
    ALPHA,
    JointTest,
    joint_differences,
    joint_test,
    mean_of,
    mean_over_groups,
    swap_test,
)
from verax.stats.performance import counted, performance
from verax.types import FloatArray, IntArray

NAN = np.nan


def literal(values: FloatArray) -> dict[tuple[int, int], float]:
    """Step-down max-T as its definition says: every flip, every pair, one after the other."""
    n, methods = values.shape
    differences = {}
    for pair in itertools.combinations(range(methods), 2):
        d = values[:, pair[0]] - values[:, pair[1]]
        differences[pair] = np.where(np.isnan(d), 0.0, d)

    def studentised(signs: tuple[int, ...], pair: tuple[int, int]) -> float:
        d = differences[pair]
        spread = float(np.sqrt((d**2).sum()))
        return abs(float(np.dot(signs, d))) / spread if spread else 0.0

    observed = {pair: studentised((1,) * n, pair) for pair in differences}
    ordered = sorted(observed, key=lambda pair: -observed[pair])
    flips = list(itertools.product([-1, 1], repeat=n))
    p, highest = {}, 0.0
    for place, pair in enumerate(ordered):
        largest = [max(studentised(signs, other) for other in ordered[place:]) for signs in flips]
        highest = max(highest, float(np.mean([value >= observed[pair] - 1e-9 for value in largest])))
        p[pair] = highest
    return p


def given_p(methods: int, different: list[tuple[int, int]], inputs: int = 100) -> JointTest:
    """A test in which the lower index is better and some pairs are significantly different."""
    p, difference = np.full((methods, methods), 0.9), np.zeros((methods, methods))
    for i, j in different:
        p[i, j] = p[j, i] = 1e-6
        difference[min(i, j), max(i, j)], difference[max(i, j), min(i, j)] = 1.0, -1.0
    np.fill_diagonal(p, NAN)
    return JointTest(p, difference, np.full((methods, methods), inputs), inputs)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_p_values_are_those_of_the_definition(seed: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(0.6 * np.arange(4), 1.0, size=(7, 4))
    values[rng.random(values.shape) < missing] = NAN
    found = joint_test(values)
    for (i, j), p in literal(values).items():
        shared = int((~np.isnan(values[:, i] - values[:, j])).sum())
        assert found.shared[i, j] == shared
        if shared < 2:
            assert np.isnan(found.p[i, j])
        else:
            assert found.p[i, j] == found.p[j, i] == pytest.approx(p, abs=1e-12)
            assert found.difference[i, j] == pytest.approx(np.nanmean(values[:, i] - values[:, j]), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("tolerance", [0.0, 0.3])
def test_incomplete_methods_are_tested_as_each_pair_alone(seed: int, tolerance: float) -> None:
    """All signs are flipped: sums of methods that are subtracted give the p-values of sums of differences."""
    rng = np.random.default_rng(seed)
    values = 1e3 + rng.normal(0.6 * np.arange(6), 1.0, size=(12, 6))
    values[rng.random(values.shape) < 0.2] = NAN
    left, right = np.triu_indices(6, k=1)
    means, p = joint_differences(values[:, left] - values[:, right], tolerance=tolerance)
    found = joint_test(values, tolerance=tolerance)
    np.testing.assert_array_equal(found.p[left, right], p)
    np.testing.assert_allclose(found.difference[left, right], means, atol=1e-12)


def test_methods_that_differ_on_one_input_by_very_little_are_not_told_apart_by_rounding() -> None:
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=(12, 1)), 3, axis=1)
    values[:, 2] += 5 + rng.normal(size=12)
    values[3, 0] += 1e-9  # every flip reaches it
    values[[0, 1, 7], [0, 1, 1]] = NAN
    assert joint_test(values).p[0, 1] == 1.0


def test_two_methods_are_the_exact_paired_test() -> None:
    rng = np.random.default_rng(1)
    for n in range(2, 9):
        a, b = rng.normal(0.5, 1, n), rng.normal(size=n)
        oracle = stats.permutation_test(
            (a, b), lambda x, y: np.mean(x - y), permutation_type="samples", n_resamples=np.inf, vectorized=False
        )
        assert joint_test(np.stack([a, b], axis=1)).p[0, 1] == pytest.approx(oracle.pvalue, abs=1e-12)


def test_drawn_flips_agree_with_all_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(3).normal([0.0, 0.5, 0.9], 1.0, size=(13, 3))
    exact = joint_test(values).p
    monkeypatch.setattr(joint, "FLIPS", 4000)
    drawn = joint_test(values, seed=4).p
    assert (drawn != exact)[0, 1]
    # five standard errors of a share over 3,999 draws
    error = 5 * np.sqrt(exact * (1 - exact) / 4000) + 1 / 4000
    assert (np.abs(drawn - exact)[~np.eye(3, dtype=bool)] <= error[~np.eye(3, dtype=bool)]).all()


@pytest.mark.parametrize(("n", "methods"), [(6, 2), (6, 5), (12, 5), (12, 25), (30, 5), (200, 2)])
def test_without_differences_something_is_significant_in_five_of_a_hundred_data_sets(
    n: int, methods: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The family-wise level over 400 data sets of equal methods, up to 3 standard errors.

    Inputs differ in difficulty, methods in spread, and tails are heavy.
    """
    monkeypatch.setattr(joint, "FLIPS", 500)
    rng = np.random.default_rng(1000 * n + methods)
    hits = 0
    for i in range(400):
        noise = rng.standard_t(3, size=(n, methods)) * rng.uniform(0.5, 2.0, methods)
        hits += joint_test(noise + 3 * rng.normal(size=(n, 1)), seed=i).any_difference
    assert hits / 400 <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / 400) ** 0.5


@pytest.mark.parametrize(("n", "effect", "least"), [(12, 2.0, 0.82), (30, 1.0, 0.68), (100, 0.5, 0.62)])
def test_a_method_that_is_better_is_found(n: int, effect: float, least: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Power: one of five methods is better by so many standard deviations of a method.

    Over 200 data sets it was found in 94, 83 and 79 %; over the 60 of this test at most 3 standard errors less.
    """
    monkeypatch.setattr(joint, "FLIPS", 1000)
    rng = np.random.default_rng(n)
    found = 0
    for i in range(60):
        values = rng.normal(size=(n, 5))
        values[:, 0] += effect
        found += joint_test(values, seed=i).beats(0, 1)
    assert found / 60 >= least


def test_the_level_holds_among_equal_methods_next_to_a_better_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Step-down: once the better method is found, the others are not declared different too often."""
    monkeypatch.setattr(joint, "FLIPS", 1000)
    rng = np.random.default_rng(0)
    false, found = 0, 0
    for i in range(300):
        values = rng.normal(size=(20, 5))
        values[:, 0] += 3.0
        test = joint_test(values, seed=i)
        found += all(test.beats(0, other) for other in range(1, 5))
        false += any(test.differ(i, j) for i, j in itertools.combinations(range(1, 5), 2))
    assert found > 290
    assert false / 300 <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / 300) ** 0.5


def test_many_methods_can_still_be_distinguished() -> None:
    values = np.arange(40.0) + np.random.default_rng(0).normal(0, 0.1, size=(40, 40))
    test = joint_test(values)
    assert len(set(test.letters(range(40)[::-1]))) == 40
    assert test.best() == {39}


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(2, 20))
def test_the_order_of_inputs_does_not_matter(shuffle: object, n: int) -> None:
    rng = np.random.default_rng(n)
    values = np.where(rng.random((n, 3)) < 0.2, NAN, rng.normal(size=(n, 3)))
    order = rng.permutation(n)
    np.testing.assert_array_equal(joint_test(values).p, joint_test(values[order]).p)


def test_rounding_noise_is_a_tie() -> None:
    values = np.random.default_rng(0).random((50, 1)) + np.array([0.0, 6.9e-18, 3.3e-9, 0.5])
    noisy, exact = joint_test(values), joint_test(values, tolerance=1e-6)
    assert noisy.differ(0, 2)
    assert exact.p[0, 2] == 1.0
    assert exact.difference[0, 2] == exact.difference[2, 0] == 0.0
    assert exact.beats(3, 0)
    assert exact.best() == {3}


@pytest.mark.parametrize("higher", [True, False])
def test_a_mean_difference_below_noise_beats_in_neither_direction(higher: bool) -> None:
    values = np.zeros((1000, 2))
    values[:20, 1] = 2e-5
    test = joint_test(values, higher_is_better=higher, tolerance=1e-6)
    assert (test.difference[0, 1], test.p[0, 1]) == (0.0, 1.0)
    assert not test.beats(0, 1)
    assert not test.beats(1, 0)


def test_missing_methods_and_inputs() -> None:
    values = np.array([[1.0, NAN, NAN], [2.0, 3.0, NAN]])
    test = joint_test(values)
    assert np.isnan(test.p).all()  # no pair shares two inputs
    assert test.inputs == 2
    assert test.shared.tolist() == [[2, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert test.best() == frozenset()
    assert joint_test(np.empty((0, 0))).p.shape == (0, 0)
    assert np.isnan(joint_test(np.empty((0, 2))).p).all()


def test_a_method_with_few_of_the_inputs_is_tested_but_never_best() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(60, 3))
    values[:, 0] += 5.0
    values[25:, 0] = NAN
    values[:, 1] += 2.0
    test = joint_test(values)
    assert test.beats(0, 1)
    assert test.best() == frozenset()
    assert test.best(among=[1, 2]) == {1}


@pytest.mark.parametrize(("inputs", "methods", "values_of_few"), [(8, 4, 4), (12, 25, 6), (40, 25, 8)])
def test_a_method_that_nothing_could_beat_is_neither_best_nor_like_random(
    inputs: int, methods: int, values_of_few: int
) -> None:
    """Method 1 is beaten by method 0 on each of its inputs, but they are too few for any difference to show."""
    values = np.random.default_rng(3).normal(size=(inputs, methods)) / 100
    values[:, 0] += 9.0
    values[values_of_few:, 1] = NAN
    values[:values_of_few, 1] += np.array([8.0, 0.0])[np.arange(values_of_few) % 2]
    test = joint_test(values)
    assert test.beats(0, 2)
    assert not test.differ(0, 1)
    assert test.best() == {0}
    assert test.against(1, 2).p is not None
    assert not test.against(1, 2).like_random
    assert test.against(3, 2).like_random, "methods with all inputs could differ"
    assert [test.undecided(1, 2), test.undecided(2, 1), test.undecided(3, 2), test.undecided(1, None)] == [
        True, True, False, False
    ]  # fmt: skip
    assert test.of([1, 2]).against(0, 1) == test.against(1, 2)


def test_random_and_what_it_beats_are_never_best() -> None:
    test = given_p(4, [(0, 2), (1, 2), (0, 3)])
    assert test.best() == {0, 1}
    assert test.best(baselines=[0]) == {1}
    assert given_p(3, [(0, 1), (0, 2)]).best(baselines=[0]) == frozenset()


def test_nothing_is_marked_where_nothing_differs() -> None:
    test = given_p(5, [])
    assert test.best() == frozenset()
    assert test.letters(range(5)) == [""] * 5


@pytest.mark.parametrize(("methods", "needed"), [(2, 6), (3, 7), (25, 14)])
def test_too_few_inputs_name_the_number_that_would_do(methods: int, needed: int) -> None:
    equal = np.ones((needed, methods))
    assert joint_test(equal).too_few is None
    few = joint_test(equal[1:])
    assert few.too_few == few.of([0, 1]).too_few == (methods, needed - 1, needed)
    assert few.against(0, 1) == (1.0, False, False, False), "not even like random"
    # inputs that no two methods share compare nothing
    apart = np.full((40, methods), NAN)
    apart[np.arange(40), np.arange(40) % methods] = 1.0
    assert joint_test(apart).too_few == (methods, 0, needed)
    # with as many, a pair reaches the level after the strictest correction: 2^(1 - n) times the number of pairs
    assert (
        2.0 ** (1 - needed) * methods * (methods - 1) / 2 <= ALPHA < 2.0 ** (2 - needed) * methods * (methods - 1) / 2
    )


def test_one_difference_is_enough_to_rank() -> None:
    values = np.random.default_rng(0).normal(size=(12, 25))
    assert joint_test(values).too_few == (25, 12, 14)
    values[:, 0] = 9.0 + np.arange(12) / 1000
    assert joint_test(values).too_few is None


def test_a_chain_that_is_not_transitive() -> None:
    assert given_p(3, [(0, 2)]).letters([0, 1, 2]) == ["a", "ab", "b"]
    assert given_p(3, [(0, 2)]).letters([2, 1, 0]) == ["b", "ab", "a"]
    assert given_p(4, [(0, 2), (0, 3), (1, 3)]).letters([0, 1, 2, 3]) == ["a", "ab", "bc", "c"]


def test_more_than_an_alphabet() -> None:
    n = 60
    letters = given_p(n, [(i, j) for i in range(n) for j in range(i)]).letters(range(n))
    assert letters[:27] == [*"abcdefghijklmnopqrstuvwxyzA"]
    assert len(set(letters)) == n
    assert all(len(letter) == 1 and letter.isalpha() for letter in letters)


@settings(max_examples=100, deadline=None)
@given(
    st.integers(2, 8).flatmap(
        lambda n: st.tuples(st.just(n), st.sets(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), min_size=1))
    )
)
def test_letters_are_the_maximal_cliques_of_methods_that_do_not_differ(case: tuple[int, set[tuple[int, int]]]) -> None:
    n, drawn = case
    different = sorted({(i, j) for i, j in drawn if i != j} or {(0, 1)})
    letters = given_p(n, different).letters(range(n))
    graph = nx.empty_graph(n)
    graph.add_edges_from((i, j) for i in range(n) for j in range(i) if not {(i, j), (j, i)} & set(different))
    cliques = {frozenset(clique) for clique in nx.find_cliques(graph)}
    members = {letter: frozenset(i for i in range(n) if letter in letters[i]) for letter in set("".join(letters))}
    assert set(members.values()) == cliques
    assert len(members) == len(cliques)


def test_differences_are_tested_jointly() -> None:
    rng = np.random.default_rng(5)
    differences = rng.normal([0.0, 0.9, 0.1], 1.0, size=(12, 3))
    differences[2, 1] = NAN
    differences[1:, 2] = NAN
    means, found = joint_differences(differences)
    alone = joint_differences(differences[:, [1]])[1]
    np.testing.assert_allclose(means, np.nanmean(differences, axis=0))
    assert np.isnan(found[2])
    assert found[1] >= alone[0]
    kept = differences[~np.isnan(differences[:, 1]), 1]
    # the missing input flips nothing, so that each flip of the others counts twice
    assert alone[0] == pytest.approx(joint_differences(kept[:, None])[1][0], abs=1e-12)
    # a mean below rounding noise is a tie, even if it is made of few larger differences of one sign
    small = np.zeros((1000, 2))
    small[:20, 0], small[:, 1] = 2e-5, 1e-9
    means, found = joint_differences(small, tolerance=np.array([1e-6, 1e-6]))
    assert (means.tolist(), found.tolist()) == ([0.0, 0.0], [1.0, 1.0])
    assert joint_differences(small)[1][0] < ALPHA


def f1_features(gold: IntArray, predicted: IntArray) -> FloatArray:
    return counted(gold, predicted, 3).reshape(len(gold), predicted.shape[1], -1).astype(np.float64)


def macro_f1(sums: FloatArray) -> FloatArray:
    return performance(sums.reshape(len(sums), 3, 3), "macro_f1")


def test_swapping_predictions_is_the_permutation_test_of_f1() -> None:
    rng = np.random.default_rng(7)
    gold = rng.integers(0, 3, 8)
    predicted = np.stack([gold, rng.integers(0, 3, 8)], axis=1)
    found = swap_test(f1_features(gold, predicted), macro_f1)
    observed = f1_score(gold, predicted[:, 0], average="macro") - f1_score(gold, predicted[:, 1], average="macro")
    assert found.difference[0, 1] == pytest.approx(observed)
    swapped = []
    for flips in itertools.product([False, True], repeat=8):
        a = np.where(flips, predicted[:, 1], predicted[:, 0])
        b = np.where(flips, predicted[:, 0], predicted[:, 1])
        swapped.append(abs(f1_score(gold, a, average="macro") - f1_score(gold, b, average="macro")))
    assert found.p[0, 1] == pytest.approx(np.mean(np.array(swapped) >= observed - 1e-9))


def test_swapping_values_is_the_test_of_means() -> None:
    values = np.random.default_rng(8).normal([0.0, 0.4, 1.0], 1.0, size=(9, 3))
    swapped = swap_test(values[:, :, None], lambda sums: np.asarray(sums[:, 0] / 9))
    np.testing.assert_allclose(swapped.p, joint_test(values).p, atol=1e-12)
    assert swapped.beats(2, 0) == joint_test(values).beats(2, 0)


def test_memory_does_not_grow_with_the_inputs() -> None:
    values = np.random.default_rng(0).normal(size=(20_000, 3))
    tracemalloc.start()
    joint_test(values)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6  # all flips at once would take 1.6 GB as float64


def test_nothing_warns() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in ([1e-160, 3e-160], [0.0, 1e100], [1.0, float(np.nextafter(1.0, 2.0))], [NAN, 1.0], [NAN, NAN]):
            joint_test(np.array([x] * 7).T)
            joint_test(np.array([x] * 7))
        joint_differences(np.full((20, 2), NAN))


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
