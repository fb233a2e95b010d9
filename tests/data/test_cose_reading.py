"""CoS-E: published questions with the explanations beside them or in them, and the same as a flat table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.published import marked, refusal, write_jsonl
from verax.data.load import load_dataset

ASKED = "Where would Ada keep a wet coat, if she has no garden?"


def published(number: int = 1, choices: int = 3, **more: Any) -> dict[str, Any]:
    texts = ("a bathroom", "an attic", "a roof", "a boat", "a well")[:choices]
    offered = [{"label": "ABCDE"[place], "text": text} for place, text in enumerate(texts)]
    row = {"answerKey": "B", "id": f"q{number}", "question": {"choices": offered, "stem": ASKED}}
    return row | more


def why(reason: str = "Attics are dry.", selected: str = "wet coat") -> dict[str, str]:
    return {"open-ended": reason, "selected": selected}


def flat(number: int = 1, **more: Any) -> dict[str, Any]:
    row = {"id": f"q{number}", "question": ASKED, "choices": ["a bathroom", "an attic", "a roof"], "label": 1}
    return row | {"explanation": "Attics are dry.", "highlight": "wet coat"} | more


@pytest.mark.parametrize("row", [published(explanation=why()), flat()], ids=["published", "flat"])
def test_a_question_comes_with_its_choices_as_parts(row: dict[str, Any], tmp_path: Path) -> None:
    dataset = load_dataset(write_jsonl(tmp_path / "dev.jsonl", row))
    (instance,) = dataset.instances
    assert [part.raw for part in instance.parts] == [ASKED, "a bathroom", "an attic", "a roof"]
    assert (instance.id, instance.label, dataset.labels) == ("q1", "B", ("A", "B", "C"))
    assert marked(instance) == [["wet", "coat"], [], [], []]
    assert instance.human is not None
    assert instance.human.explanations == ("Attics are dry.",)
    assert (dataset.metric, dataset.maskable) == ("accuracy", (0,))


def test_version_1_11_has_five_choices(tmp_path: Path) -> None:
    row = published(choices=5, answerKey="E", explanation=why())
    dataset = load_dataset(write_jsonl(tmp_path / "a.jsonl", row))
    assert dataset.labels == tuple("ABCDE")
    assert (dataset.instances[0].label, dataset.instances[0].parts[5].raw) == ("E", "a well")


def test_the_right_choice_has_the_letter_of_its_place_whatever_the_file_calls_it(tmp_path: Path) -> None:
    offered = [{"label": name, "text": f"choice {name}"} for name in ("1", "2", "3")]
    row = published(answerKey="3", question={"stem": ASKED, "choices": offered})
    assert load_dataset(write_jsonl(tmp_path / "a.jsonl", row)).instances[0].label == "C"


def test_explanations_are_read_from_the_file_beside_the_questions(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "dev_rand_split.jsonl", published(1), published(2), published(3, answerKey=""))
    other = tmp_path / "cose_dev_v1.0_processed.jsonl"
    reasons = ({"id": "q3", "explanation": why("Why not.")}, {"id": "q1", "explanation": why(selected="no garden")})
    write_jsonl(other, *reasons)
    write_jsonl(tmp_path / "cose_train_v1.0_processed.jsonl", {"id": "q2", "explanation": why()})
    dataset = load_dataset(path)
    told = [i.human.explanations if i.human else None for i in dataset.instances]
    assert told == [("Attics are dry.",), None, ("Why not.",)]
    assert marked(dataset.instances[0])[0] == ["no", "garden"]
    assert [i.label for i in dataset.instances] == ["B", "B", None]
    assert dataset.provenance["path"] == f"{path}, {other}"
    write_jsonl(other, *reasons, {"id": "q2"})
    assert refusal(path) == f"{other}:3: unknown column 'explanation'; valid: id"


def test_questions_without_any_explanation_are_read_too(tmp_path: Path) -> None:
    (instance,) = load_dataset(write_jsonl(tmp_path / "dev_rand_split.jsonl", published())).instances
    assert (instance.label, instance.human) == ("B", None)


@pytest.mark.parametrize(
    ("selected", "gold"),
    [
        ("wet coat", ["wet", "coat"]),
        ("WET COAT,", ["wet", "coat"]),
        ("coat,if she", ["coat", "if", "she"]),
        ("Question: Where would Ada", ["Where", "would", "Ada"]),
        ("TaskQuestion: Where would Ada", ["Where", "would", "Ada"]),
        ("has no garden?Answer Choices: \xa0\xa0 an attic", ["has", "no", "garden"]),
        ("et coat, if she h", ["wet", "coat", "if", "she", "has"]),
        ("garde", ["garden"]),
        ("wet,garden", ["wet", "garden"]),
        ("a", ["a"]),
        ("{}", None),
        ("", None),
        ("Question", None),
        ("e?", None),
        ("attic", None),
        ("wet,attic", None),
    ],
)
def test_selected_words_are_found_in_the_question(selected: str, gold: list[str] | None, tmp_path: Path) -> None:
    (instance,) = load_dataset(write_jsonl(tmp_path / "a.jsonl", flat(highlight=selected))).instances
    assert instance.human is not None
    if gold is None:
        assert instance.human.words is None
    else:
        assert marked(instance) == [gold, [], [], []]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (flat(2, label=3), "field 'label': class index 3 is out of range for 3 labels (from 0)"),
        (flat(2, label="D"), "field 'label': unknown label 'D'; valid: A, B, C"),
        (flat(2, choices=["x", "y"]), "field 'choices': expected 3 choices, as in the first row, got 2"),
        (flat(2, choices="x"), "field 'choices': expected a list of choices, got the text 'x'"),
        (flat(2, choices=["x", None, "y"]), "field 'choices[1]': expected text, got null"),
        (flat(2, question=None), "field 'question': expected text, got null"),
        (flat(2, highlight=[1]), "field 'highlight': expected text, got a list of 1"),
        (flat(2, explanation=7), "field 'explanation': expected text or a list of texts, got the number 7"),
        (flat(1), "field 'id': 'q1' is already the id of line 1"),
        (flat(2, id=None), "field 'id': expected an id, got an empty value"),
        (published(2, answerKey="D"), "field 'answerKey': unknown choice 'D'; valid: A, B, C"),
        (published(2, choices=5), "field 'question.choices': expected 3 choices, as in the first row, got 5"),
        (published(2, question={"choices": []}), "field 'question.stem': expected text, got null"),
        (
            published(2, question={"stem": "x", "choices": ["a", "b", "c"]}),
            "field 'question.choices[0]': expected an object with label and text, got the text 'a'",
        ),
        (
            published(2, question={"stem": "x", "choices": [{"label": "A"}, {}, {}]}),
            "field 'question.choices[0].text': expected text, got null",
        ),
        (published(2, explanation={"selected": 3}), "field 'explanation.selected': expected text, got the number 3"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_field(row: dict[str, Any], message: str, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", flat(1), row)
    assert refusal(path) == f"{path}:2: {message}"


def test_with_columns_it_is_a_plain_table(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", flat())
    dataset = load_dataset(path, columns={"parts": "question"})
    assert [[part.raw for part in i.parts] for i in dataset.instances] == [[ASKED]]
