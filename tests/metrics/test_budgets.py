"""Matched budgets: what every kind of explanation may point at, and the metrics that use them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from verax.data.text import split_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import as_generator
from verax.metrics.agreement import Agreement
from verax.metrics.complexity import Complexity
from verax.metrics.faithfulness.flips import ComprehensivenessFlips, SufficiencyFlips
from verax.metrics.ranking import Budget, budget_of, pieces_up_to, top_words
from verax.models.black_box import BlackBox
from verax.models.subject import Subject
from verax.types import Highlight, Human, Instance, Kind, Measured, Span, Target, Undefined, Unit, UserError

TEXTS = ("a b c d e", "v w x y z")


def answer(texts: list[tuple[str, ...]]) -> Any:
    """`yes` while a or b is there, and v or w; without any word `no`."""
    said = [set(" ".join(parts).split()) for parts in texts]
    return [[0.9, 0.1] if words & {"a", "b"} and words & {"v", "w"} else [0.2, 0.8] for words in said]


MODEL = BlackBox(answer, labels=("yes", "no"), name="two of four", version="1", mask_text="_")


def encoded(**fields: Any) -> Subject:
    return Subject(Instance("x", tuple(map(split_words, TEXTS)), **fields), MODEL)


def word(letter: str) -> Span:
    part = 0 if letter in TEXTS[0] else 1
    at = TEXTS[part].split().index(letter)
    return Span(part, at, at + 1)


def span(letters: str) -> Span:
    first, last = word(letters[0]), word(letters[-1])
    return Span(first.part, first.start, last.end)


def highlight(kind: Kind, scored: dict[str, float]) -> Highlight:
    """`{"ab|v": 1.0}`: units as letters, the spans of a pair with a bar between."""
    units = tuple(tuple(span(side) for side in name.split("|")) for name in scored)
    return Highlight("x", "given", kind, Target(), units, tuple(scored.values()))


SPANS = highlight("span_interaction", {"ab|v": 0.5, "c|vw": 0.9, "de|z": 0.1})
PAIRS = highlight("token_interaction", {"a|v": 0.3, "b|w": 0.9, "a|w": 0.8, "c|x": 0.1})
TOKENS = highlight("token", {letter: score for score, letter in enumerate("zyxwvedcba")})


def measure(metric: Any, made: Highlight, x: Subject | None = None, **handed: Any) -> Measured:
    ended: list[TaskResult[Measured]] = []
    generator = as_generator(lambda *args: metric(*args, **handed), x or encoded(), made)
    Engine().run([Task(generator, lambda outcome: ended.append(outcome) or ())])
    if ended[0].error is not None:
        raise ended[0].error
    assert ended[0].value is not None
    return ended[0].value


def test_theta_by_hand() -> None:
    """Best first: c|vw (3 words), with ab|v 5 words (v is there already), with de|z 8; then it stays."""
    budget = budget_of([SPANS])
    assert budget.words == (3, 5, 8)
    assert budget.pieces == 3
    assert [budget.at(k) for k in (1, 2, 3, 4, 9)] == [3, 5, 8, 8, 8]


def test_of_several_the_mean_rounded_half_up() -> None:
    one = highlight("span_interaction", {"a|v": 1.0})
    assert budget_of([SPANS, one]) == Budget((3, 4, 5), 2)


def test_pieces_by_hand() -> None:
    """b|w whole; of a|w only a is new; a|v adds v. Of a last pair that is too much, the word with the higher total."""
    assert pieces_up_to(PAIRS, 2) == [((0, 1), (1, 1))]
    assert pieces_up_to(PAIRS, 3) == [((0, 1), (1, 1)), ((0, 0), (1, 1))]
    assert pieces_up_to(PAIRS, 4)[-1] == ((0, 0), (1, 0))
    assert pieces_up_to(PAIRS, 5)[-1] == ((0, 2),)  # of c and x with equal totals the first in reading order
    assert pieces_up_to(PAIRS, 1) == [((1, 1),)]  # w has 0.9 + 0.8, b 0.9
    assert pieces_up_to(PAIRS, 99)[-1] == ((0, 2), (1, 2))


UNIT = st.integers(0, 4).flatmap(lambda a: st.integers(a + 1, 5).map(lambda b: (a, b)))
SCORE = st.sampled_from([-1.0, -0.25, 0.0, 0.25, 0.5, 1.0])


@st.composite
def explanations(draw: st.DrawFn, kind: Kind) -> Highlight:
    if kind == "token":
        letters = "abcdevwxyz"
        scores = draw(st.lists(SCORE, min_size=10, max_size=10))
        return highlight("token", dict(zip(letters, scores, strict=True)))
    chosen: set[Unit] = set()
    for _ in range(draw(st.integers(1, 12))):
        (a, b), (c, d) = draw(UNIT), draw(UNIT)
        if kind == "token_interaction":
            b, d = a + 1, c + 1
        chosen.add((Span(0, a, b), Span(1, c, d)))
    scores = draw(st.lists(SCORE, min_size=len(chosen), max_size=len(chosen)))
    return Highlight("x", "drawn", kind, Target(), tuple(sorted(chosen)), tuple(scores))


@pytest.mark.parametrize("kind", ["token", "token_interaction", "span_interaction"])
@given(data=st.data())
def test_exactly_theta_words_whatever_the_kind(kind: Kind, data: st.DataObject) -> None:
    """And what is removed for comprehensiveness is what is kept for sufficiency."""
    spans = data.draw(explanations("span_interaction"))
    made = data.draw(explanations(kind))
    budget, x = budget_of([spans]), encoded()
    thetas = tuple(float(budget.at(k)) for k in (1, 2, 3))
    for metric in (ComprehensivenessFlips(), SufficiencyFlips()):
        assert measure(metric, made, x, budget=budget).series["words"] == thetas
    smaller = top_words(x, made, budget.at(1))
    larger = top_words(x, made, budget.at(3))
    assert (smaller & larger).sum() == smaller.sum() or kind != "token"  # of words the order never changes


@given(data=st.data())
def test_whole_pieces_first(data: st.DataObject) -> None:
    """Every piece but the last is whole, and all of them together keep to the number."""
    made = data.draw(explanations("span_interaction"))
    most = data.draw(st.integers(1, 10))
    pieces = pieces_up_to(made, most)
    held = {word for piece in pieces for word in piece}
    assert len(held) <= most
    order = sorted(range(len(made.units)), key=lambda i: -made.scores[i])
    for piece, number in zip(pieces[:-1], order, strict=False):
        assert set(piece) == {(s.part, w) for s in made.units[number] for w in range(s.start, s.end)}
    assert len(held) == most or len(pieces) == len(made.units)


def test_comprehensiveness_by_hand() -> None:
    """Without b, w: a and v still say yes. Without b, w, a it is no, and so from there on."""
    value, curve, series, *_ = measure(ComprehensivenessFlips(), PAIRS, budget=Budget((2, 3, 4), 3))
    assert curve == (0.0, 1.0, 1.0)
    assert value == pytest.approx(2 / 3)
    assert series["words"] == (2.0, 3.0, 4.0)


def test_sufficiency_by_hand() -> None:
    """b and w alone keep yes; of the words z, y the model says no."""
    assert measure(SufficiencyFlips(), PAIRS, budget=Budget((2, 3, 4), 3)).curve == (1.0, 1.0, 1.0)
    last = highlight("token", {letter: score for score, letter in enumerate("abcdevwxyz")})
    assert measure(SufficiencyFlips(), last, budget=Budget((2, 3, 5), 3)).curve == (0.0, 0.0, 0.0)


def test_given_numbers_of_words_need_no_spans() -> None:
    metric = ComprehensivenessFlips(words=(1, 4))
    assert metric.needs == frozenset()
    assert ComprehensivenessFlips().needs == {"budget"}
    assert measure(metric, PAIRS).series["words"] == (1.0, 4.0)


def test_incremental_adds_piece_by_piece() -> None:
    metric = ComprehensivenessFlips(grid="incremental")
    value, curve, series, *_ = measure(metric, PAIRS, budget=Budget((1, 2, 4), 3))
    assert series["words"] == (2.0, 3.0, 4.0)
    assert curve == (0.0, 1.0, 1.0)
    assert value == pytest.approx(2 / 3)


def test_bad_parameters() -> None:
    with pytest.raises(UserError, match="k: got 0"):
        SufficiencyFlips(k=0)
    with pytest.raises(UserError, match="words: got"):
        ComprehensivenessFlips(words=(0, 2))
    with pytest.raises(UserError, match="give one"):
        ComprehensivenessFlips(words=(2,), grid="incremental")
    with pytest.raises(UserError, match="pairs of words have no budget"):
        Agreement(level="interaction", within="budget")


GOLD = Human(words=((0, 1), (0,)), span_pairs=((span("ab"), span("v")),))


def test_agreement_of_pairs_at_the_level_of_words_is_that_of_sklearn() -> None:
    """A word has the best score of its pairs: a 0.8, b 0.9, v 0.3, w 0.9, c 0.1, x 0.1; the others come last."""
    scores = [0.8, 0.9, 0.1, -9, -9, 0.3, 0.9, 0.1, -9, -9]
    expected = average_precision_score([1, 1, 0, 0, 0, 1, 0, 0, 0, 0], scores)
    assert measure(Agreement(), PAIRS, encoded(human=GOLD)).value == pytest.approx(expected, abs=1e-12)


def test_agreement_within_the_budget_by_hand() -> None:
    """Of b, w, a: b and w tie (precision 1/2 at recall 1/3), then a (2/3 at 2/3); v is missed."""
    value = measure(Agreement(within="budget"), PAIRS, encoded(human=GOLD), budget=Budget((1, 2, 3), 3)).value
    assert value == pytest.approx(1 / 3 * 1 / 2 + 1 / 3 * 2 / 3)
    nothing = highlight("token", {letter: score for score, letter in enumerate("abvwcdexyz")})
    assert measure(Agreement(within="budget"), nothing, encoded(human=GOLD), budget=Budget((3,), 1)).value == 0.0


def test_agreement_of_pairs_with_span_pairs_is_that_of_sklearn() -> None:
    table = np.full((5, 5), -9.0)
    gold = np.zeros((5, 5))
    gold[:2, 0] = 1
    for name, score in (("a|v", 0.3), ("b|w", 0.9), ("a|w", 0.8), ("c|x", 0.1)):
        table[word(name[0]).start, word(name[2]).start] = score
    expected = average_precision_score(gold.ravel(), table.ravel())
    metric = Agreement(level="interaction")
    assert measure(metric, PAIRS, encoded(human=GOLD)).value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("level", ["token", "interaction"])
def test_the_gold_itself_scores_one_and_its_inverse_least(level: Any) -> None:
    gold = highlight("span_interaction", {"ab|v": 1.0})
    others = [f"{a}|{b}" for a in "abcde" for b in "vwxyz"]
    inverse = {name: -1.0 if name[0] in "ab" and name[2] == "v" else 1.0 for name in others}
    x = encoded(human=GOLD)
    assert measure(Agreement(level=level), gold, x).value == 1.0
    if level == "interaction":
        worst = measure(Agreement(level=level), highlight("token_interaction", inverse), x).value
        assert worst == pytest.approx(2 / 25)  # both gold pairs found last of all 25, as one tie
    else:
        upside_down = {letter: -1.0 if letter in "abv" else 1.0 for letter in "abcdevwxyz"}
        assert measure(Agreement(), highlight("token", upside_down), x).value == pytest.approx(3 / 10)


def test_gold_words_come_from_span_pairs_where_no_words_are_marked() -> None:
    pairs = Human(span_pairs=GOLD.span_pairs)
    assert measure(Agreement(), PAIRS, encoded(human=pairs)) == measure(Agreement(), PAIRS, encoded(human=GOLD))


def test_agreement_reasons() -> None:
    with pytest.raises(Undefined, match="needs_interactions"):
        measure(Agreement(level="interaction"), TOKENS, encoded(human=GOLD))
    with pytest.raises(Undefined, match="no_gold"):
        measure(Agreement(level="interaction"), PAIRS, encoded(human=Human(words=((0,), ()))))
    inside = Human(span_pairs=((span("a"), span("b")),))
    with pytest.raises(Undefined, match=r"no_gold.*where the explanation pairs"):
        measure(Agreement(level="interaction"), PAIRS, encoded(human=inside))


def test_complexity_of_as_many_pieces_as_there_are_span_pairs() -> None:
    """The best two of PAIRS: 0.9 and 0.8; the bounds are those of two scores."""
    shares = np.array([0.9, 0.8]) / 1.7
    value, _, series, *_ = measure(Complexity(top="span_pairs"), PAIRS, budget=Budget((2,), 2))
    assert value == pytest.approx(-(shares * np.log(shares)).sum())
    assert series["uniform"] == (pytest.approx(np.log(2)),)
    assert 0 < series["random"][0] < np.log(2)
    mixed = highlight("token_interaction", {"a|v": -2.0, "b|w": 1.0, "c|x": 0.5})
    signed = measure(Complexity(top="span_pairs"), mixed, budget=Budget((2,), 2)).value
    sized = measure(Complexity(top="span_pairs", by="magnitude"), mixed, budget=Budget((2,), 2)).value
    assert signed == pytest.approx(-(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3)))
    assert sized == signed  # 2 : 1 as well as 1 : 0.5
    third = measure(Complexity(top="span_pairs", by="magnitude"), mixed, budget=Budget((1,), 1)).value
    assert third == 0.0


def test_words_that_do_not_count_use_up_no_budget() -> None:
    """An explanation made elsewhere scores all words; of an input that lost some, the others are chosen from."""
    x = encoded()
    lost = np.array([word[0] == 0 for word in x.words])
    left = x.without(lost, "mask")
    assert [left.words[i] for i in np.flatnonzero(top_words(left, TOKENS, 2))] == [(1, 0), (1, 1)]  # v and w
    assert budget_of([SPANS], set(left.words)).words == (2, 2, 3)
    spread = highlight("span_interaction", {"ab|v": 1.0, "de|z": 0.5})
    assert pieces_up_to(spread, 2, set(left.words)) == [((1, 0),), ((1, 4),)]


def test_budgets_by_other_seeds_are_read_from_the_notes_and_averaged() -> None:
    noted = replace(SPANS, notes={"budgets": "2,3;4,6,8"})
    budget = budget_of([noted])
    assert (budget.words, budget.others) == ((3, 5, 8), (Budget((2, 3), 2), Budget((4, 6, 8), 3)))
    second = replace(noted, notes={"budgets": "5"})
    assert budget_of([noted, second]).others == (Budget((4, 4), 2),)  # (2 + 5) / 2, (3 + 5) / 2: as many as both have
    assert budget_of([noted, SPANS]).others == ()


@pytest.mark.parametrize(
    "metric",
    [
        ComprehensivenessFlips(),
        SufficiencyFlips(),
        SufficiencyFlips(grid="incremental"),
        Agreement(within="budget"),
        Complexity(top="span_pairs"),
    ],
)
@pytest.mark.parametrize("made", [TOKENS, PAIRS, SPANS])
def test_values_at_other_budgets_are_kept_next_to_the_value(metric: Any, made: Highlight) -> None:
    """Each is the value that the metric has if that budget is the one."""
    budgets = [Budget((3, 5, 8), 3), Budget((1, 2), 2), Budget((6,), 1)]
    x = encoded(human=Human(words=((0, 1), (0,))))
    together = measure(metric, made, x, budget=replace(budgets[0], others=tuple(budgets[1:])))
    alone = [measure(metric, made, x, budget=budget) for budget in budgets]
    assert together.value == alone[0].value
    assert together.series["by_budget"] == tuple(one.value for one in alone[1:])
    assert {name: value for name, value in together.series.items() if name != "by_budget"} == alone[0].series


def test_the_attainable_maximum_by_hand() -> None:
    """Three gold words: two words reach two thirds, all of them right; five words or more reach 1."""
    x = encoded(human=Human(words=((0, 1), (0,))))
    perfect = highlight("token", {letter: float(letter in "abv") for letter in "abcdevwxyz"})
    two = measure(Agreement(within="budget", k=1), perfect, x, budget=Budget((2,), 1))
    assert (two.value, two.series["maximum"]) == (pytest.approx(2 / 3), (pytest.approx(2 / 3),))
    assert measure(Agreement(within="budget", k=1), TOKENS, x, budget=Budget((5,), 1)).series["maximum"] == (1.0,)
