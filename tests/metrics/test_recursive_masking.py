"""Recursive masking against Algorithm 3 written out literally, against cases computed by hand, and on the engine."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import softmax

from verax.data.text import split_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import RandomDraws, as_generator
from verax.engine.questions import QuestionGenerator
from verax.methods.baselines import RandomScores
from verax.methods.beam import Beam
from verax.methods.occlusion import LeaveOneOut
from verax.metrics.faithfulness.recursive_masking import (
    RecursiveMasking,
    explained_again,
    masked_at_random,
    masked_by,
    newly_masked,
)
from verax.models.black_box import BlackBox
from verax.models.encoding import PerturbedInput
from verax.models.hf_classifier import HFClassifier
from verax.models.subject import Subject
from verax.types import Attribution, Highlight, Instance, Measured, Target, Undefined, UserError

PULL = {"a": 0.30, "b": 0.15, "c": 0.05, "x": -0.20}
GOLD = Target("gold")


def _answer(texts: list[tuple[str, ...]]) -> list[list[float]]:
    """P(yes) is 0.5 plus the pull of each word; `b` counts only where `a` is not."""
    rows = []
    for text in texts:
        words = " ".join(text).split()
        total = sum(PULL.get(word, 0.0) for word in words if not (word == "b" and "a" in words))
        rows.append([0.5 - total, 0.5 + total])
    return rows


MODEL = BlackBox(_answer, labels=("no", "yes"), name="toy", version="1", mask_text="_")


def _input(text: str, label: str | None = "yes") -> Subject:
    return Subject(Instance("1", (split_words(text),), label), MODEL)


def _end(generator: QuestionGenerator[Any], model: Any = MODEL) -> TaskResult[Any]:
    ended: list[TaskResult[Any]] = []

    def keep(outcome: TaskResult[Any]) -> tuple[()]:
        ended.append(outcome)
        return ()

    Engine().run([Task(generator, keep)])
    return ended[0]


def _explained(x: Subject, method: Any, model: Any = MODEL) -> Highlight:
    made: Attribution = _end(as_generator(method, x), model).value  # type: ignore[assignment]
    return Highlight("1", "m", "token", GOLD, made.units, tuple(made.scores.tolist()))


def _given(x: Subject, scores: list[float]) -> Highlight:
    return Highlight("1", "m", "token", GOLD, x.units, tuple(scores))


def _measure(x: Subject, highlight: Highlight, explain: Any = None, steps: int = 10, model: Any = MODEL) -> Measured:
    outcome = _end(RecursiveMasking(steps)(x, highlight, explain=explain), model)
    if outcome.error is not None:
        raise outcome.error
    value: Measured = outcome.value  # type: ignore[assignment]
    return value


def test_a_case_computed_by_hand() -> None:
    x = _input("c a b x")
    measured = _measure(x, _given(x, [2.0, 4.0, 3.0, 1.0]), steps=4)
    # a, b, c, x are masked in this order: 0.5 + (a + c + x), (b + c + x), (c + x), x, nothing
    assert measured.curve == pytest.approx((0.65, 0.5, 0.35, 0.3, 0.5), abs=1e-12)
    trapezoids = [0.15 / 2, (0.15 + 0.30) / 2, (0.30 + 0.35) / 2, (0.35 + 0.15) / 2]
    assert measured.value == pytest.approx(sum(trapezoids) / 4, abs=1e-12)
    assert dict(measured.series) == {
        "gold": (1.0,),
        "predicted": (1.0, 0.0, 0.0, 0.0, 0.0),
        "masked_at": (3.0, 1.0, 2.0, 4.0),  # the masks of every step: word by word, the step that masks it
        "maskings": (1.0,),
    }


def test_the_random_curve_is_the_mean_of_several_maskings() -> None:
    """Each masking is measured on its own, from the masks that are stored; the value is the area of their mean."""
    x = _input("c a b x q")
    measured = _measure(x, _given(x, [0.0] * 5), RandomDraws(0), steps=5)
    masked_at = np.array(measured.series["masked_at"]).reshape(5, 5)
    assert measured.series["maskings"] == (5.0,)
    assert all(sorted(order) == [1, 2, 3, 4, 5] for order in masked_at.tolist())
    assert len({tuple(order) for order in masked_at.tolist()}) > 1
    each = [_measure(x, _given(x, (-order).tolist()), None, steps=5) for order in masked_at]
    curve = np.mean([one.curve for one in each], axis=0)
    assert measured.curve == pytest.approx(tuple(curve), abs=1e-12)
    assert measured.value == pytest.approx(np.mean([one.value for one in each]), abs=1e-12)
    predicted = [label for one in each for label in one.series["predicted"]]
    assert list(measured.series["predicted"]) == predicted
    assert measured == _measure(x, _given(x, [0.0] * 5), RandomDraws(0), steps=5)


def test_random_masks_differ_between_seeds_and_models() -> None:
    """Seeds of a model must not share the noise of the baseline, or it would be in no interval over them."""
    other = BlackBox(_answer, labels=("no", "yes"), name="toy", version="2", mask_text="_")
    text = "a b c x " + " ".join(f"w{i}" for i in range(30))
    orders = set()
    for seed, model in ((0, MODEL), (1, MODEL), (0, other)):
        x = Subject(_input(text).instance, model)
        measured = _measure(x, _given(x, [0.0] * 34), RandomDraws(seed), steps=34, model=model)
        orders |= {tuple(row) for row in np.array(measured.series["masked_at"]).reshape(5, 34).tolist()}
    assert len(orders) == 15


def test_random_masks_are_uniform() -> None:
    """Every word is as likely as any other among the first half; 600 draws of 6 words, the 0.1 % level."""
    counts = np.zeros(6)
    for draw in range(600):
        counts += ~masked_at_random(6, 2, np.random.default_rng(draw))[1]
    assert stats.chisquare(counts).pvalue > 0.001


def test_what_is_left_is_explained_anew() -> None:
    """`b` does nothing beside `a`, so the first explanation puts it behind `c`; without `a` it comes first."""
    x = _input("a b c d")
    method = LeaveOneOut(GOLD)
    highlight = _explained(x, method)
    keep = _end(masked_by(x, highlight, partial(as_generator, method), 4)).value
    assert keep.tolist() == [
        [True, True, True, True],
        [False, True, True, True],
        [False, False, True, True],
        [False, False, False, True],
        [False, False, False, False],
    ]
    stands = _end(masked_by(x, highlight, None, 4)).value
    assert stands[2].tolist() == [False, True, False, True]


@given(n=st.integers(1, 60), steps=st.integers(1, 20))
def test_after_step_i_the_floor_of_i_n_over_steps_is_masked(n: int, steps: int) -> None:
    masked = np.cumsum(newly_masked(n, steps))
    assert masked.tolist() == [i * n // steps for i in range(1, steps + 1)]
    assert masked[-1] == n
    again = explained_again(n, steps)
    assert again == sorted(set(again), reverse=True)  # never twice for the same input
    assert all(1 < left < n for left in again)


@given(scores=st.lists(st.integers(-3, 3), min_size=1, max_size=14))
def test_it_masks_by_the_scores_and_what_is_masked_stays_masked(scores: list[int]) -> None:
    x = _input(" ".join(f"w{i}" for i in range(len(scores))))
    keep = _end(masked_by(x, _given(x, [float(score) for score in scores]), None, 10)).value
    assert keep[0].all()
    assert not keep[-1].any()
    for before, after in itertools.pairwise(keep):
        assert not (after & ~before).any()
        gone, left = np.flatnonzero(before & ~after), np.flatnonzero(after)
        assert all((scores[g], -g) > (scores[k], -k) for g in gone for k in left)


def test_with_fewer_words_than_steps_nothing_is_asked_twice_and_the_area_is_that_of_the_steps() -> None:
    x = _input("a c x")
    measured = _measure(x, _given(x, [3.0, 2.0, 1.0]))
    # i * 3 // 10 masked: none up to 30 %, one up to 60 %, two up to 90 %, three
    expected = [0.65] * 4 + [0.35] * 3 + [0.30] * 3 + [0.50]
    assert measured.curve == pytest.approx(expected, abs=1e-12)
    drops = 0.65 - np.array(expected)
    assert measured.value == pytest.approx(np.sum((drops[1:] + drops[:-1]) / 2) / 10, abs=1e-12)
    engine, x = Engine(), _input("a c x")
    engine.run([Task(RecursiveMasking()(x, _given(x, [3.0, 2.0, 1.0]), explain=None), lambda _: ())])
    assert engine.cost.forward == 4
    one = _input("a")
    assert _measure(one, _given(one, [1.0])).curve == pytest.approx([0.8] * 10 + [0.5], abs=1e-12)


def test_the_explanations_are_as_many_as_are_announced() -> None:
    class Counting:
        sizes: list[int]

        def __init__(self) -> None:
            self.sizes = []

        def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
            self.sizes.append(x.n_units)
            return RandomScores()(x)

    for n in (1, 2, 3, 9, 10, 11, 25):
        x = _input(" ".join("abcdefghijklmnopqrstuvwxyz"[:n]))
        progress_counter = Counting()
        _measure(x, _given(x, [0.0] * n), progress_counter)
        assert progress_counter.sizes == RecursiveMasking().explained_again(n) == explained_again(n, 10)


def test_random_draws_anew_at_each_step() -> None:
    x = _input(" ".join("abcdefghijklmnopqrst"))
    highlight = _explained(x, RandomScores())
    again = _end(masked_by(x, highlight, partial(as_generator, RandomScores()), 10)).value
    stands = _end(masked_by(x, highlight, None, 10)).value
    assert (again[1] == stands[1]).all()
    assert (again != stands).any()
    assert (again == _end(masked_by(x, highlight, partial(as_generator, RandomScores()), 10)).value).all()


def test_only_the_part_that_may_be_masked_is() -> None:
    instance = Instance("1", (split_words("a c"), split_words("b x")), "yes")
    x = Subject(instance, MODEL, (0,))
    measured = _measure(x, _explained(x, LeaveOneOut(GOLD)), partial(as_generator, LeaveOneOut(GOLD)), steps=2)
    # b counts once a is gone, and stays, as x does
    assert measured.curve == pytest.approx((0.65, 0.5, 0.45), abs=1e-12)
    with pytest.raises(Undefined, match="nothing_maskable"):
        Subject(instance, MODEL, (2,)).encoded()


def test_an_input_without_a_label_has_its_reason() -> None:
    for label, reason in ((None, "no_label"), ("maybe", "unknown_label")):
        x = _input("a b", label)
        with pytest.raises(Undefined, match=reason):
            _measure(x, _given(x, [1.0, 2.0]))


def test_a_step_that_is_none_is_refused() -> None:
    with pytest.raises(UserError, match="recursive_masking: steps: got 0, it must be at least 1"):
        RecursiveMasking(0)


@pytest.mark.parametrize("method", [LeaveOneOut(GOLD), LeaveOneOut(GOLD, absolute=True), RandomScores(3)])
def test_it_is_algorithm_3(method: Any, classifier: Callable[..., HFClassifier], instances: list[Instance]) -> None:
    """Against the paper's loop, one pass at a time, in float64; tolerance 1e-10."""
    model = classifier("bert", "float64")
    for instance in instances[:3]:
        x = Subject(replace(instance, label=model.labels[0]), model)
        state = x.state.copy()
        expected = []
        for step in range(11):
            if step:
                left = np.flatnonzero(state == 0)
                more = step * x.n_units // 10 - (step - 1) * x.n_units // 10
                view = x.without(state != 0, "mask")
                scores = _end(as_generator(method, view), model).value.scores  # type: ignore[union-attr]
                for _ in range(more):
                    best = int(np.argmax(scores))
                    state[left[best]] = 1
                    scores[best] = -np.inf
            expected.append(softmax(model.logits([PerturbedInput(x.encoding, state.copy())])[0])[0])
        found = _measure(x, _explained(x, method, model), partial(as_generator, method), model=model)
        assert found.curve == pytest.approx(expected, abs=1e-10)


def test_the_order_of_the_beam_is_the_order_of_masking(classifier: Callable[..., HFClassifier]) -> None:
    model = classifier("bert", "float64")
    x = Subject(Instance("1", (split_words("the old boat is on the lake"),), model.labels[0]), model)
    highlight = _explained(x, Beam(GOLD, width=3), model)
    keep = _end(masked_by(x, highlight, None, x.n_units), model).value
    order = [int(np.flatnonzero(before & ~after)[0]) for before, after in itertools.pairwise(keep)]
    assert order == np.argsort(-np.array(highlight.scores)).tolist()
