"""SpanEx in its published JSONL: pairs of SNLI and of FEVER with relations between spans."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.published import marked, paired, refusal, write_jsonl
from verax.data.load import load_dataset
from verax.types import Span


def relation(premise: str, hypothesis: str, first: str, second: str, level: str = "low") -> dict[str, Any]:
    """Two phrases in relation, the first one of each text that reads so."""
    start, other = premise.index(first), hypothesis.index(second)
    return {
        "labels": ["Synonym", "Hypernym"],
        "annotators": [0, 2],
        "level": level,
        "premise_text": first,
        "hypothesis_text": second,
        "start_premise": start,
        "end_premise": start + len(first),
        "start_hypothesis": other,
        "end_hypothesis": other + len(second),
        "id": f"7_{start}_{other}_{level}",
    }


def pair(number: int, label: str, premise: str, hypothesis: str, *phrases: tuple[str, ...]) -> dict[str, Any]:
    return {
        "id": str(number),
        "label": label,
        "premise": premise,
        "hypothesis": hypothesis,
        "relations": [relation(premise, hypothesis, *phrase) for phrase in phrases],
        "original_id": f"{number}.jpg#0r1e",
    }


NLI = pair(
    1,
    "contradiction",
    "A tired brown dog sleeps at the café.",
    "The animal is running to a café now",
    ("dog", "animal"),
    ("tired brown dog", "The animal", "high"),
    ("sleeps", "running"),
    ("dog", "animal", "high"),
)
CLAIM = pair(
    2,
    "refutes",
    "Ada Bo ( born 1970 ) paints . She has never sung in Zürich .",
    "Ada Bo sings in Zürich.",
    ("never sung", "sings"),
    ("Zürich", "Zürich"),
)


def test_span_pairs_of_all_levels_and_annotators_are_gold(tmp_path: Path) -> None:
    dataset = load_dataset(write_jsonl(tmp_path / "snli.jsonl", NLI))
    (instance,) = dataset.instances
    assert paired(instance) == [("dog", "animal"), ("tired brown dog", "The animal"), ("sleeps", "running")]
    assert marked(instance) == [["tired", "brown", "dog", "sleeps"], ["The", "animal", "running"]]
    assert instance.human is not None
    assert instance.human.span_pairs is not None
    assert instance.human.span_pairs[1] == (Span(0, 1, 4), Span(1, 0, 2))
    assert (instance.id, instance.label) == ("1", "contradiction")
    assert dataset.labels == ("entailment", "neutral", "contradiction")
    assert (dataset.metric, dataset.maskable) == ("macro_f1", (0,))


def test_claims_are_read_as_those_of_fever(tmp_path: Path) -> None:
    other = CLAIM | {"id": "3", "label": "nei", "relations": []}
    dataset = load_dataset(
        write_jsonl(tmp_path / "fever.jsonl", CLAIM, other, other | {"id": "4", "label": "supports"})
    )
    first, second, third = dataset.instances
    assert [part.raw for part in first.parts] == [CLAIM["hypothesis"], CLAIM["premise"]]
    assert paired(first) == [("sings", "never sung"), ("Zürich", "Zürich")]
    assert marked(first) == [["sings", "Zürich"], ["never", "sung", "Zürich"]]
    assert [x.label for x in dataset.instances] == ["REFUTES", "NOT ENOUGH INFO", "SUPPORTS"]
    assert (paired(second), marked(third)) == ([], [[], []])
    assert dataset.labels == ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
    assert (dataset.metric, dataset.maskable) == ("macro_f1", (1,))


def test_a_span_that_cuts_a_word_has_the_whole_word(tmp_path: Path) -> None:
    row = pair(1, "neutral", "The to-go box", "A midday meal", ("go box", "day meal"))
    (instance,) = load_dataset(write_jsonl(tmp_path / "a.jsonl", row)).instances
    assert paired(instance) == [("to-go box", "midday meal")]


def test_a_limit_reads_no_further_and_a_split_is_written_down(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", NLI, NLI | {"id": "2", "relations": None})
    dataset = load_dataset(path, limit=1, split="test")
    assert (len(dataset), dataset.provenance["split"]) == (1, "test")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"start_premise": 3, "end_premise": 99},
            "field 'relations[1].premise': [3, 99] is outside the 37 characters",
        ),
        ({"start_premise": -1}, "field 'relations[1].premise': [-1, 17] is outside the 37 characters of the text"),
        ({"start_hypothesis": 10}, "field 'relations[1].hypothesis': [10, 10] covers no word of the text"),
        (
            {"start_hypothesis": 10, "end_hypothesis": 11},
            "field 'relations[1].hypothesis': [10, 11] covers no word of the text",
        ),
        (
            {"end_hypothesis": 2, "start_hypothesis": 5},
            "field 'relations[1].hypothesis': [5, 2] is outside the 35",
        ),
        ({"end_premise": None}, "field 'relations[1].premise': expected a character offset, got null"),
        ({"end_premise": "9"}, "field 'relations[1].premise': expected a character offset, got the text '9'"),
    ],
)
def test_a_span_that_is_not_there_is_named(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    relations = [*NLI["relations"]]
    relations[1] = relations[1] | change
    path = write_jsonl(tmp_path / "a.jsonl", NLI, NLI | {"id": "2", "relations": relations})
    assert refusal(path).startswith(f"{path}:2: {message}")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"relations": None}, "field 'relations': expected a list of relations, got null"),
        ({"relations": [3]}, "field 'relations[0]': expected an object, got the number 3"),
        ({"premise": None}, "field 'premise': expected text, got null"),
        ({"label": "entails"}, "field 'label': unknown label 'entails'; did you mean 'entailment'?"),
        ({"label": "nei"}, "field 'label': unknown label 'nei'; valid: contradiction, entailment, neutral"),
        ({"label": ["nei"]}, "field 'label': expected the name or index of a class, got a list of 1"),
        ({"id": "1"}, "field 'id': '1' is already the id of line 1"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_field(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", NLI, NLI | {"id": "2"} | change)
    assert refusal(path) == f"{path}:2: {message}"


def test_with_columns_it_is_a_plain_table(tmp_path: Path) -> None:
    dataset = load_dataset(write_jsonl(tmp_path / "a.jsonl", NLI), columns={"id": "original_id"})
    assert (dataset.instances[0].id, dataset.instances[0].human) == ("1.jpg#0r1e", None)


WORDS = st.lists(st.sampled_from(["dog", "isn't", "日本", "3.14", "süß", "!", "U.S."]), min_size=1, max_size=7)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), label=st.sampled_from(["neutral", "nei"]))
def test_spans_of_words_are_read_back(tmp_path: Path, data: st.DataObject, label: str) -> None:
    texts = {"premise": data.draw(WORDS), "hypothesis": data.draw(WORDS)}
    row: dict[str, Any] = {"id": "1", "label": label, "relations": [], "original_id": "x"}
    row |= {part: " ".join(words) for part, words in texts.items()}
    expected = []
    for _ in range(data.draw(st.integers(0, 3))):
        drawn: dict[str, int] = {}
        phrases: dict[str, str] = {}
        for part, words in texts.items():
            start = data.draw(st.integers(0, len(words) - 1))
            end = data.draw(st.integers(start + 1, len(words)))
            phrases[part] = " ".join(words[start:end])
            begin = len(" ".join(words[:start])) + (start > 0)
            drawn |= {f"start_{part}": begin, f"end_{part}": begin + len(phrases[part])}
        row["relations"].append(drawn)
        order = ("hypothesis", "premise") if label == "nei" else ("premise", "hypothesis")
        expected.append(tuple(phrases[part].replace(" ", "") for part in order))
    (instance,) = load_dataset(write_jsonl(tmp_path / "a.jsonl", row)).instances
    found = [tuple(phrase.replace(" ", "") for phrase in pair) for pair in paired(instance)]
    assert set(found) == set(expected)
