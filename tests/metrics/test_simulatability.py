"""Explanations written into texts, by hand; and the value that the agents' answers give."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from transformers import AutoTokenizer

from verax.data.text import split_words
from verax.metrics.ranking import Budget, pieces_up_to
from verax.metrics.simulatability import Answers, Simulatability, with_explanation
from verax.models.load import load_model
from verax.train.agent import RANKS, find_start, rank_mark
from verax.types import Highlight, Instance, Kind, Span, Target, Undefined, Unit, UserError

PAIR = Instance("pair", (split_words("A tall man sleeps, outside."), split_words("Nobody is awake")), "no")
#                        0 1    2   3     4 5      6                 0      1  2


def word(part: int, place: int) -> Unit:
    return (Span(part, place, place + 1),)


def explained(*scored: tuple[Unit, float], kind: Kind = "token") -> Highlight:
    units, scores = zip(*scored, strict=True)
    return Highlight("pair", "m", kind, Target(), units, scores)


WORDS = explained(*((word(0, i), s) for i, s in enumerate([0.1, 0.5, 0.9, 0.3, 0, 0, 0])), (word(1, 0), 0.7))
PAIRS = explained(
    (word(0, 3) + word(1, 2), 0.9),
    (word(0, 2) + word(1, 2), 0.8),
    (word(0, 1) + word(1, 0), 0.2),
    kind="token_interaction",
)
SPANS = explained(((Span(0, 1, 3), Span(1, 0, 1)), 0.2), ((Span(0, 3, 4), Span(1, 1, 3)), 0.6), kind="span_interaction")


@pytest.mark.parametrize(
    ("highlight", "most", "symbol", "text"),
    [
        pytest.param(
            WORDS,
            3,
            ("A << tall >> [#3] << man >> [#1] sleeps, outside.", "<<Nobody >> [#2] is awake"),
            "man; Nobody; tall",
            id="words",
        ),
        pytest.param(
            PAIRS,
            3,
            ("A tall << man >> [#2] << sleeps >> [#1], outside.", "Nobody is << awake >> [#1] [#2]"),
            "sleeps, awake; man, awake",
            id="word pairs, a word in two",
        ),
        pytest.param(
            PAIRS,
            4,
            ("A << tall >> [#3] << man >> [#2] << sleeps >> [#1], outside.", "Nobody is << awake >> [#1] [#2]"),
            "sleeps, awake; man, awake; tall",
            id="word pairs, of the last one the first word: both have the same score",
        ),
        pytest.param(
            SPANS,
            3,
            ("A tall man << sleeps >> [#1], outside.", "Nobody << is awake >> [#1]"),
            "sleeps, is awake",
            id="span pair",
        ),
        pytest.param(
            SPANS,
            6,
            ("A << tall man >> [#2] << sleeps >> [#1], outside.", "<<Nobody >> [#2] << is awake >> [#1]"),
            "sleeps, is awake; tall man, Nobody",
            id="span pairs",
        ),
        pytest.param(
            SPANS,
            2,
            ("A tall man << sleeps >> [#1], outside.", "Nobody << is >> [#1] awake"),
            "sleeps, is",
            id="trimmed",
        ),
        pytest.param(SPANS, 0, ("A tall man sleeps, outside.", "Nobody is awake"), "", id="nothing"),
    ],
)
def test_what_an_agent_reads(highlight: Highlight, most: int, symbol: tuple[str, ...], text: str) -> None:
    assert with_explanation(PAIR, highlight, most, "symbol") == symbol
    last = f"Nobody is awake {text}" if text else "Nobody is awake"
    assert with_explanation(PAIR, highlight, most, "text") == ("A tall man sleeps, outside.", last)


def test_what_is_left_of_a_span_may_have_a_gap() -> None:
    """The middle word has the lowest total: another unit speaks against it."""
    spans = explained(((Span(0, 1, 4), Span(1, 0, 1)), 0.5), (word(0, 2) + word(1, 2), -0.4), kind="span_interaction")
    assert with_explanation(PAIR, spans, 3, "symbol") == (
        "A << tall >> [#1] man << sleeps >> [#1], outside.",
        "<<Nobody >> [#1] is awake",
    )
    assert with_explanation(PAIR, spans, 3, "text")[1] == "Nobody is awake tall sleeps, Nobody"


def test_spans_that_overlap_have_brackets_of_their_own_and_inner_ones_close_first() -> None:
    spans = explained(
        ((Span(0, 0, 3), Span(1, 0, 1)), 3.0),
        ((Span(0, 2, 4), Span(1, 0, 1)), 2.0),
        ((Span(0, 2, 3), Span(1, 0, 2)), 1.0),
        kind="span_interaction",
    )
    assert with_explanation(PAIR, spans, 9, "symbol") == (
        "<<A tall << << man >> [#3] >> [#1] sleeps >> [#2], outside.",
        "<< <<Nobody >> [#1] [#2] is >> [#3] awake",
    )


def test_two_neighbouring_spans_of_one_part_stay_two_sides() -> None:
    within = explained(((Span(0, 1, 2), Span(0, 2, 4)), 1.0), kind="span_interaction")
    assert with_explanation(PAIR, within, 3, "symbol")[0] == "A << tall >> [#1] << man sleeps >> [#1], outside."
    assert with_explanation(PAIR, within, 3, "text")[1] == "Nobody is awake tall, man sleeps"


def test_scripts_that_run_the_other_way_or_have_no_blanks() -> None:
    arabic = split_words("هذا البيت صغير", "ar")
    han = split_words("这是小房子", "zh")
    instance = Instance("pair", (arabic, han))
    pairs = explained((word(0, 1) + word(1, 2), 1.0), kind="token_interaction")
    assert with_explanation(instance, pairs, 2, "symbol") == ("هذا << البيت >> [#1] صغير", "这是 <<小 >> [#1]房子")
    assert with_explanation(instance, pairs, 2, "text") == ("هذا البيت صغير", "这是小房子 البيت, 小")


def test_ranks_beyond_the_last_mark_share_it() -> None:
    long = Instance("pair", (split_words(" ".join(f"w{i}" for i in range(RANKS + 3))),))
    scored = explained(*((word(0, i), -float(i)) for i in range(RANKS + 3)))
    (text,) = with_explanation(long, scored, RANKS + 3, "symbol")
    assert text.count(rank_mark(RANKS)) == 4
    assert text.count(rank_mark(RANKS - 1)) == 1


@given(st.data())
def test_every_kind_shows_the_same_words_as_its_budget_and_loses_no_letter(data: st.DataObject) -> None:
    raw = data.draw(st.text("ab ,.é字ש\t", min_size=1, max_size=30).filter(lambda text: split_words(text).words))
    text = split_words(raw)
    n = len(text.words)
    spans = st.tuples(st.integers(0, n - 1), st.integers(1, 4)).map(lambda at: Span(0, at[0], min(n, sum(at))))
    units = data.draw(st.lists(st.tuples(spans) | st.tuples(spans, spans), min_size=1, max_size=6, unique=True))
    scores = data.draw(st.lists(st.integers(-3, 3), min_size=len(units), max_size=len(units)))
    highlight = Highlight("x", "m", "span_interaction", Target(), tuple(units), tuple(map(float, scores)))
    most = data.draw(st.integers(0, n + 1))
    (shown,) = with_explanation(Instance("x", (text,)), highlight, most, "symbol")
    depth, bracketed, plain = 0, "", ""
    for piece in _symbols(shown):
        depth += {"<<": 1, ">>": -1}.get(piece, 0)
        letters = "" if piece in {"<<", ">>"} or piece.startswith("[#") else piece
        plain += letters
        bracketed += letters if depth else ""
    assert depth == 0
    assert "".join(plain.split()) == "".join(raw.split())
    held = sorted({place for words in pieces_up_to(highlight, most) for _, place in words})
    assert "".join(bracketed.split()) == "".join(text.words[place] for place in held)


def _symbols(shown: str) -> list[str]:
    """The text cut at its symbols."""
    found = [""]
    rest = shown
    while rest:
        mark = next((m for m in ("<<", ">>", *(rank_mark(i) for i in range(1, 10))) if rest.startswith(m)), None)
        found += [mark, ""] if mark else []
        found[-1] += "" if mark else rest[0]
        rest = rest[len(mark or "x") :]
    return found


@pytest.mark.parametrize("architecture", ["bert", "roberta", "xlm-roberta"])
def test_symbols_are_tokens_and_words_are_read_as_before(architecture: str, checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint(architecture)
    before = AutoTokenizer.from_pretrained(folder)
    model, after = find_start(load_model(folder), None).load(0)
    shown = with_explanation(PAIR, WORDS, 3, "symbol")
    added = {after.convert_tokens_to_ids(token) for token in ("<<", ">>", "[#1]", "[#2]", "[#3]")}
    assert len(added) == 5
    assert min(added) >= len(before)
    assert model.get_input_embeddings().num_embeddings == len(before) + 2 + RANKS
    for raw, marked in zip((part.raw for part in PAIR.parts), shown, strict=True):
        ids = after(marked, add_special_tokens=False)["input_ids"]
        assert sum(token in added for token in ids) == 3 * marked.count("<<")
        assert [token for token in ids if token not in added] == before(raw, add_special_tokens=False)["input_ids"]


def test_the_value_is_the_share_of_agents_that_the_explanation_wins_over() -> None:
    metric: Any = Simulatability(seeds=3)
    agents = {"pair": Answers(2, (2, 2, 1), (2, 0, 0))}
    value, curve, series, *_ = metric(None, WORDS, agents=agents)
    assert value == pytest.approx(1 / 3)
    assert curve is None
    assert series == {"model": (2.0,), "with": (2.0, 2.0, 1.0), "without": (2.0, 0.0, 0.0)}
    with pytest.raises(Undefined, match="not_held_out"):
        metric(None, WORDS, agents={"another": agents["pair"]})


def test_the_budget_is_that_of_the_top_span_pairs() -> None:
    budget = Budget((3, 6), 2)
    assert Simulatability().shown(PAIR, SPANS, budget)[0].count("<<") == 1
    assert (
        Simulatability(k=2, insertion="text")
        .shown(PAIR, WORDS, budget)[1]
        .endswith("awake man; Nobody; tall; sleeps; A; ,")
    )


@pytest.mark.parametrize(
    "parameter", [{"seeds": 0}, {"epochs": 0}, {"batch_size": -1}, {"k": 0}, {"learning_rate": 0.0}]
)
def test_numbers_that_make_no_sense_are_refused(parameter: dict[str, Any]) -> None:
    with pytest.raises(UserError, match=f"simulatability: {next(iter(parameter))}: got"):
        Simulatability(**parameter)
