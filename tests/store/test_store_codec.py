import math
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.stored import read_run
from verax.store.codec import escape, unescape
from verax.store.store import Store
from verax.types import Alignment, Cost, Highlight, Human, Instance, Nle, Prediction, Score, Skip, Span, Target, Text

HOSTILE = [
    "\0",
    "\ufdd0",
    "\ud83d",
    "\ude00",
    "\ud83d\ude00",
    "\ufdd0d800",
    "😀",
    "א",
    "\u202e",
    "e\u0301",
    "\r\n",
    '"\\',
]
texts = st.lists(st.sampled_from(HOSTILE) | st.text(st.characters(exclude_categories=()), max_size=4), max_size=4).map(
    "".join
)
EXACT = [0.0, -0.0, 5e-324, 1.7976931348623157e308, 0.1, 1 / 3, 2.0**53 + 2]
floats = st.sampled_from(EXACT) | st.floats(allow_nan=False, allow_infinity=False)
numbers = st.lists(floats, max_size=4).map(tuple)
indices = st.integers(0, 2**63 - 1)
units = st.lists(st.lists(st.builds(Span, indices, indices, indices), max_size=2).map(tuple), max_size=4).map(tuple)
costs = st.builds(Cost, indices, indices, indices, indices, floats)


@st.composite
def parts(draw):
    raw, words, offsets = "", [], []
    for word in draw(st.lists(texts.filter(bool), max_size=4)):
        raw += draw(texts)
        words.append(word)
        offsets.append((len(raw), len(raw) + len(word)))
        raw += word
    return Text(raw + draw(texts), tuple(words), tuple(offsets), draw(texts))


humans = st.builds(
    Human,
    st.none() | st.lists(st.lists(indices, max_size=2).map(tuple), max_size=2).map(tuple),
    st.none() | units,
    st.lists(texts, max_size=2).map(tuple),
)
instances = st.builds(
    Instance,
    texts,
    st.lists(parts(), min_size=1, max_size=3).map(tuple),
    st.none() | texts,
    texts,
    st.none() | texts,
    st.none() | humans,
)
predictions = st.builds(Prediction, texts, texts, st.lists(texts, max_size=3).map(tuple), numbers)
notes = st.dictionaries(texts, texts | st.booleans() | st.integers() | floats, max_size=3)
highlights = units.flatmap(
    lambda us: st.builds(
        Highlight,
        texts,
        texts,
        st.sampled_from(["token", "token_interaction", "span_interaction"]),
        st.builds(Target, texts, st.sampled_from(["logit", "probability"])),
        st.just(us),
        st.lists(floats, min_size=len(us), max_size=len(us)).map(tuple),
        costs,
        notes,
    )
)
skips = st.builds(Skip, texts, texts, texts, texts, st.booleans())
scores = st.one_of(
    st.builds(Score, texts, texts, texts, floats, st.none(), texts, st.none() | numbers, costs),
    st.builds(Score, texts, texts, texts, st.none(), texts, texts, st.none() | numbers, costs),
)
alignments = st.builds(
    Alignment,
    texts,
    texts,
    texts,
    st.lists(st.tuples(indices, indices), max_size=3).map(tuple),
    st.none() | texts,
    texts,
)
rows = st.one_of(instances, predictions, highlights, skips, scores, alignments)


def sorted_out(values):
    """The values by type; `repr` tells -0.0 from 0.0 and 1 from True, which `==` does not."""
    kinds = (Instance, Prediction, Highlight, Skip, Score)
    return [[repr(value) for value in values if isinstance(value, kind)] for kind in kinds]


def read_out(folder):
    stored = read_run(folder)
    assert stored.damaged == ()
    lists = (stored.instances, stored.predictions, stored.highlights, stored.skips, stored.scores)
    return [[repr(value) for value in values] for values in lists]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(texts, rows, min_size=1, max_size=6))
def test_every_type_comes_back_exactly_and_in_order(table):
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        with Store.open(folder) as store:
            for key, value in table.items():
                store.append(key, value)
            store.flush()
            assert read_out(folder) == sorted_out(table.values()), "from the journal"
        assert read_out(folder) == sorted_out(table.values()), "from the shards"
        with Store.open(folder) as store:
            assert store.keys == set(table)
            assert {key: repr(value) for key, value in store.rows()} == {k: repr(v) for k, v in table.items()}


@given(texts)
def test_escape_is_lossless_and_leaves_common_text_alone(text):
    escape(text).encode()
    assert unescape(escape(text)) == text
    if not any(0xD800 <= ord(letter) < 0xE000 or letter == "\ufdd0" for letter in text):
        assert escape(text) == text


def test_order_is_kept_across_seals(tmp_path, make_row):
    with Store.open(tmp_path / "run", seal_every=7) as store:
        for number in range(40):
            store.append(f"k{39 - number}", make_row(number))
    assert [instance.id for instance in read_run(tmp_path / "run").instances] == [f"x{n}" for n in range(0, 40, 5)]


TARGET = Target()
BAD = [
    Prediction("x", "a", ("a",), (math.nan,)),
    Prediction("x", "a", ("a",), (math.inf,)),
    Score("x", "m", "s", 1.0, curve=(0.0, -math.inf)),
    Score("x", "m", "s", 1.0, cost=Cost(seconds=math.nan)),
    Score("x", "m", "s", 1.0, cost=Cost(forward=2**63)),
    Highlight("x", "m", "token", TARGET, (), (), notes={"error": math.nan}),
]


@pytest.mark.parametrize("value", BAD, ids=repr)
def test_a_row_that_could_not_be_read_back_is_refused_and_leaves_no_trace(tmp_path, value, make_row):
    with Store.open(tmp_path / "run") as store:
        store.append("before", make_row(0))
        with pytest.raises(ValueError, match=r"finite|64 bits|JSON compliant"):
            store.append("bad", value)
        assert store.keys == {"before"}
        store.append("bad", make_row(1))
    stored = read_run(tmp_path / "run")
    assert (stored.instances, stored.predictions) == ([make_row(0)], [make_row(1)])


@pytest.mark.parametrize(
    "value",
    [
        Nle("x", "m", TARGET, "why", "yes", ("yes", 1)),
        Skip("x", "m", 3),
        Highlight("x", "m", "token", TARGET, (), (), notes={"list": [1]}),
        Highlight("x", "m", "token", TARGET, ((Span(0, 0.5, 1),),), (1.0,)),
    ],
    ids=repr,
)
def test_a_row_of_the_wrong_type_is_refused(tmp_path, value):
    with Store.open(tmp_path / "run") as store, pytest.raises(TypeError):
        store.append("bad", value)
    assert read_run(tmp_path / "run").damaged == ()


def test_numbers_of_numpy_are_taken(tmp_path):
    numpy_made = Highlight(
        "x",
        "m",
        "token",
        TARGET,
        ((Span(np.int64(0), np.int32(0), np.int64(1)),),),
        (np.float32(0.1),),
        Cost(np.int64(3)),
        {"error": np.float32(0.5), "cut": np.bool_(True), "words": np.int64(7)},
    )
    plain = Highlight(
        "x",
        "m",
        "token",
        TARGET,
        ((Span(0, 0, 1),),),
        (float(np.float32(0.1)),),
        Cost(3),
        {"error": 0.5, "cut": True, "words": 7},
    )
    with Store.open(tmp_path / "run") as store:
        store.append("k", numpy_made)
    assert repr(read_run(tmp_path / "run").highlights) == repr([plain])
