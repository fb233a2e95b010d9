"""Free-text explanations, kept answers and cards of tests come back exactly, whatever is written in them."""

from __future__ import annotations

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.stored import read_run
from verax.store.codec import codec_of
from verax.store.read import read_rows
from verax.store.store import Store
from verax.store.tables import TABLES, Row, decode, encode
from verax.types import Cost, Finish, Generated, LabelSource, Nle, Score, Span, Target, Trial, TrialLog
from verax.types.stored import StoredAs

HOSTILE = [
    "\0",
    "\ufdd0",
    "\ud83d",
    "\ude00",
    "\ud83d\ude00",
    "\ufdd0d800",
    "😀",
    "\u202e",
    "\x1b[31m",
    '"\\',
    "\u2028",
]
texts = st.lists(st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=()), max_size=4), max_size=3).map(
    "".join
)
floats = st.sampled_from([-0.0, 5e-324, 0.1, 1.7976931348623157e308]) | st.floats(allow_nan=False, allow_infinity=False)
indices = st.integers(0, 2**63 - 1)
hows, labels = st.sampled_from(get_args(LabelSource)), st.lists(texts, max_size=3).map(tuple)
nles = st.builds(
    Nle,
    texts,
    texts,
    st.builds(Target, texts, st.sampled_from(["logit", "probability"])),
    texts,
    texts,
    labels,
    st.lists(floats, max_size=3).map(tuple),
    hows,
    st.builds(Cost, indices, indices, indices, indices, floats),
    st.dictionaries(texts, texts | st.booleans() | st.integers() | floats, max_size=2),
)
tops = st.lists(st.tuples(texts, floats), max_size=3).map(tuple)
answers = st.builds(Generated, texts, st.sampled_from(get_args(Finish)), st.none() | indices, tops)
trials = st.builds(
    Trial,
    st.sampled_from(["edit", "noise", "reconstruction"]),
    labels,
    texts,
    st.booleans(),
    hows,
    st.none() | st.builds(Span, indices, indices, indices),
    texts,
    texts,
    st.none() | texts,
    texts,
    st.none() | st.booleans(),
    st.dictionaries(texts, st.booleans(), max_size=2),
    texts,
    texts,
    st.none() | floats,
    st.dictionaries(texts, texts, max_size=2),
)
unanswered = st.dictionaries(texts, indices, max_size=2)
cards = st.builds(
    TrialLog, indices, st.lists(trials, max_size=3).map(tuple), unanswered, st.none() | indices, st.none() | floats
)
scores = st.one_of(
    st.builds(Score, texts, texts, texts, floats, trial_log=st.none() | cards),
    st.builds(Score, texts, texts, texts, st.none(), texts, texts, trial_log=cards),
)
LOG = codec_of(TrialLog, StoredAs(json=True), name="card")
TRIAL = Trial(
    "edit",
    ("a b", "c"),
    "yes",
    True,
    "parsed",
    Span(0, 1, 2),
    "b",
    "yes",
    "since b",
    "",
    True,
    {"any": True},
    "word",
    "b",
    0.5,
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(texts, nles | answers | scores, min_size=1, max_size=5))
def test_every_row_comes_back_exactly(table: dict[str, Row]) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        with Store.open(folder) as store:
            for key, value in table.items():
                store.append(key, value)
            store.flush()
            # `repr` tells -0.0 from 0.0 and 1 from True, which `==` does not
            assert repr(dict(store.rows())) == repr(table), "from the journal"
        again = dict(read_rows(folder))
        assert {key: repr(again[key]) for key in table} == {key: repr(value) for key, value in table.items()}
        stored = read_run(folder)
        assert repr(stored.texts) == repr([value for value in table.values() if isinstance(value, Nle)])
        assert repr(stored.scores) == repr([value for value in table.values() if isinstance(value, Score)])


@given(cards)
def test_a_card_is_one_line_that_any_utf8_holds(card: TrialLog) -> None:
    line = LOG.encode(card)
    assert "\n" not in line
    assert line.encode()
    assert repr(LOG.decode(line)) == repr(card)


def test_a_card_is_json_that_others_can_read() -> None:
    found = json.loads(LOG.encode(TrialLog(5, (TRIAL,), {"timeout": 1}, 0, 0.8)))
    assert found["trials"][0]["inserted"] == [0, 1, 2]
    assert (found["tried"], found["unanswered"], found["decisive"], found["threshold"]) == (
        5,
        {"timeout": 1},
        0,
        0.8,
    )


def test_cards_of_an_earlier_version_do_not_say_why_there_was_no_answer() -> None:
    for count, unanswered in ((0, {}), (3, {"unknown": 3})):
        line = LOG.encode(TrialLog(5, (TRIAL,))).replace('"unanswered": {}', f'"unanswered": {count}')
        assert LOG.decode(line) == TrialLog(5, (TRIAL,), unanswered)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_refused(number: float) -> None:
    score = Score("i", "mt_ra", "counterfactual_test", 1.0, trial_log=TrialLog(1, (replace(TRIAL, similarity=number),)))
    with pytest.raises(ValueError, match="similarity must be a finite number"):
        encode("key", 0, score)
    with pytest.raises(ValueError, match="finite"):
        encode("key", 0, Nle("i", "mt_ra", Target(), "so", "a", ("a",), (number,)))


def test_rows_of_an_earlier_version_have_no_card() -> None:
    table, row = encode("key", 0, Score("i", "random", "agreement", 0.5))
    assert row.pop("card") is None
    assert decode(table, row) == ("key", Score("i", "random", "agreement", 0.5))


def test_answers_of_an_earlier_version_have_no_first_tokens() -> None:
    table, row = encode("key", 0, Generated("so", "stop", 3, (("s", -0.5),)))
    assert decode(table, row) == ("key", Generated("so", "stop", 3, (("s", -0.5),)))
    del row["tops"]
    assert decode(table, row) == ("key", Generated("so", "stop", 3))


def test_answers_are_no_part_of_what_a_reader_of_the_run_sees(tmp_path: Path) -> None:
    nle = Nle("i", "mt_ra", Target(), "so", "a", ("a", "b"), (0.75, 0.25))
    with Store.open(tmp_path / "run") as store:
        store.append("answer", Generated("so", "stop", 3))
        store.append("nle", nle)
        store.write_plan(["nle"])
    stored = read_run(tmp_path / "run")
    assert stored.texts == [nle]
    assert stored.damaged == ()
    assert dict(read_rows(tmp_path / "run")) == {"answer": Generated("so", "stop", 3), "nle": nle}


def test_shards_of_an_earlier_version_have_no_such_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    score = Score("i", "random", "agreement", 0.5)
    earlier = pa.schema([field for field in TABLES["scores"].schema if field.name not in {"card", "series"}])
    monkeypatch.setitem(TABLES, "scores", replace(TABLES["scores"], schema=earlier))
    with Store.open(tmp_path / "run") as store:
        store.append("old", score)
    monkeypatch.undo()
    later = replace(score, trial_log=TrialLog(1, (TRIAL,)))
    with Store.open(tmp_path / "run") as store:
        store.append("new", later)
    assert read_run(tmp_path / "run").scores == [score, later]
