"""Metrics against hand-computed cases, sklearn and scipy."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy
from sklearn.metrics import average_precision_score

from verax.data.text import split_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import as_generator
from verax.metrics.agreement import Agreement, Plausibility
from verax.metrics.complexity import Complexity
from verax.metrics.faithfulness.erasure import Comprehensiveness, Sufficiency
from verax.metrics.faithfulness.recursive_masking import masked_by
from verax.metrics.ranking import best_first
from verax.models.black_box import BlackBox
from verax.models.subject import Subject
from verax.types import Highlight, Human, Instance, Measured, Target, Undefined, UserError

WORDS = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
PULL = {"a": 0.30, "b": 0.10, "c": 0.05, "x": -0.20}


def probability(texts: list[tuple[str, ...]]) -> Any:
    """Each word pulls towards `yes` by its own amount; 0.4 without any."""
    yes = [0.4 + sum(PULL.get(word, 0) for part in parts for word in part.split()) for parts in texts]
    return [[p, 1 - p] for p in yes]


MODEL = BlackBox(probability, labels=("yes", "no"), name="sum", version="1")


def measure(metric: Any, scores: list[float], *texts: str, **fields: Any) -> Measured:
    instance = Instance("x", tuple(map(split_words, texts)), **fields)
    x = Subject(instance, MODEL)
    highlight = Highlight("x", "given", "token", Target(), x.units, tuple(scores))
    ended: list[TaskResult[Measured]] = []
    Engine().run([Task(as_generator(metric, x, highlight), lambda outcome: ended.append(outcome) or ())])
    if ended[0].error is not None:
        raise ended[0].error
    assert ended[0].value is not None
    return ended[0].value


def test_comprehensiveness_by_hand() -> None:
    """Ten words in two parts; 1, 5 and 10 % are one word, 20 % two, 50 % five. Predicted class: yes, 0.85."""
    value, curve, *_ = measure(Comprehensiveness(), [10, 9, 8, 7, 6, 5, 4, 3, 2, 1], "a b c d e", "f g h i j")
    assert curve == pytest.approx((0.30, 0.30, 0.30, 0.40, 0.45))
    assert value == pytest.approx(1.75 / 6)
    assert measure(Comprehensiveness(average="mean"), list(range(10, 0, -1)), "a b c d e", "f g h i j").value == (
        pytest.approx(1.75 / 5)
    )


def test_sufficiency_by_hand() -> None:
    value, curve, *_ = measure(Sufficiency(), [10, 9, 8, 7, 6, 5, 4, 3, 2, 1], "a b c d e", "f g h i j")
    assert curve == pytest.approx((0.15, 0.15, 0.15, 0.05, 0.0))
    assert value == pytest.approx(0.50 / 6)


def test_the_class_is_fixed_on_the_full_input() -> None:
    """Without `a` and `b` the model would say no; it is still the probability of yes that is looked at."""
    value, curve, *_ = measure(Comprehensiveness(bins=(1.0,)), [2, 1], "a b")
    assert curve == pytest.approx((0.4,))
    assert value == pytest.approx(0.2)


def test_a_part_may_become_empty() -> None:
    assert measure(Comprehensiveness(bins=(0.5,)), [2, 1], "a", "d").curve == pytest.approx((0.3,))


@given(st.lists(st.sampled_from([0.0, 1.0, 2.0, -1.0]), min_size=1, max_size=12))
def test_ranking_is_signed_and_stable(scores: list[float]) -> None:
    order = best_first(np.array(scores)).tolist()
    assert order == sorted(range(len(scores)), key=lambda i: (-scores[i], i))


@pytest.mark.parametrize("metric", [Comprehensiveness, Sufficiency])
@pytest.mark.parametrize("bins", [(), (0.0,), (1.5,), (0.1, -0.2)])
def test_bins_are_shares(metric: Any, bins: tuple[float, ...]) -> None:
    with pytest.raises(UserError, match="bins"):
        metric(bins=bins)


WORDS_FIRST = pytest.mark.parametrize("metric", [Agreement(), Plausibility()], ids=["agreement", "plausibility"])


@WORDS_FIRST
@given(data=st.data())
def test_words_that_people_marked_are_found_by_sklearns_average_precision(metric: Any, data: st.DataObject) -> None:
    n = data.draw(st.integers(2, 10))
    gold = data.draw(st.lists(st.booleans(), min_size=n, max_size=n).filter(any))
    scores = data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=n, max_size=n))
    cut = data.draw(st.integers(1, n - 1))
    marked = tuple(i for i in range(cut) if gold[i]), tuple(i - cut for i in range(cut, n) if gold[i])
    texts = " ".join(WORDS[:cut]), " ".join(WORDS[cut:n])
    value = measure(metric, scores, *texts, human=Human(words=marked)).value
    assert value == pytest.approx(average_precision_score(gold, scores), abs=1e-12)


@WORDS_FIRST
def test_words_that_people_marked_by_hand(metric: Any) -> None:
    """Gold words at ranks 1 and 3: (1/1 + 2/3) / 2."""
    value = measure(metric, [4, 3, 2, 1], "a b c d", human=Human(words=((0, 2),))).value
    assert value == pytest.approx((1 + 2 / 3) / 2)
    perfect = measure(metric, [2, 1, 2, 1], "a b c d", human=Human(words=((0, 2),))).value
    assert perfect == pytest.approx(1.0)


@WORDS_FIRST
@pytest.mark.parametrize("human", [None, Human(), Human(words=((),)), Human(explanations=("because",))])
def test_no_gold_is_a_reason(metric: Any, human: Human | None) -> None:
    with pytest.raises(Undefined, match="no_gold"):
        measure(metric, [1, 2], "a b", human=human)


def test_plausibility_of_pairs_is_agreement_of_their_words() -> None:
    """Largest score of a pair that holds the word: a 3, b 3, c 2, d 2; the gold word c ties with d, behind two."""
    marked = Human(words=((), (0,)))
    x = Subject(Instance("x", (split_words("a b"), split_words("c d")), human=marked), MODEL)
    a, b, c, d = (unit[0] for unit in x.units)
    pairs = Highlight("x", "m", "token_interaction", Target(), ((a, c), (a, b), (c, d)), (1.0, 3.0, 2.0))
    values = [metric(x, pairs).value for metric in (Agreement(), Plausibility())]
    assert values == [pytest.approx(1 / 4)] * 2


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=10).filter(lambda s: sum(map(abs, s)) > 1e-6))
def test_complexity_is_scipys_entropy(scores: list[float]) -> None:
    value = measure(Complexity(), scores, " ".join(WORDS[: len(scores)])).value
    assert value == pytest.approx(float(entropy(np.abs(scores))), abs=1e-12)
    assert -1e-12 <= value <= np.log(len(scores)) + 1e-12


@WORDS_FIRST
def test_gold_that_was_cut_off_is_no_gold(metric: Any) -> None:
    instance = Instance("x", (split_words("a b"),), human=Human(words=((1,),)))
    encoding = replace(MODEL.encode(instance), seen=np.array([0]))
    x = Subject(instance, SimpleNamespace(encode=lambda _: encoding))
    highlight = Highlight("x", "m", "token", Target(), x.units, (1.0,))
    with pytest.raises(Undefined, match="no_gold"):
        next(as_generator(metric, x, highlight))


def test_complexity_bounds() -> None:
    assert measure(Complexity(), [0, -3, 0], "a b c").value == 0
    assert measure(Complexity(), [2, -2, 2], "a b c").value == pytest.approx(np.log(3))
    with pytest.raises(Undefined, match="no_signal"):
        measure(Complexity(), [0, 0], "a b")


def test_other_kinds_and_missing_words_are_reasons() -> None:
    instance = Instance("x", (split_words("a b"),))
    x = Subject(instance, MODEL)
    pairs = Highlight("x", "m", "token_interaction", Target(), ((*x.units[0], *x.units[1]),), (1.0,))
    with pytest.raises(Undefined, match="needs_token_scores"):
        next(masked_by(x, pairs, None, 10))
    some = Highlight("x", "m", "token", Target(), x.units[:1], (1.0,))
    with pytest.raises(Undefined, match="unscored_words"):
        next(as_generator(Agreement(), replace_gold(x), some))


def replace_gold(x: Subject) -> Subject:
    return Subject(replace(x.instance, human=Human(words=((0,),))), MODEL)
