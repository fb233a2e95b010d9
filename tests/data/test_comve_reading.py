"""ComVE: the published files of its subtasks, which belong together, and the same as a flat table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.published import refusal, write_jsonl
from verax.data.load import load_dataset

SENTENCES = 'id,sent0,sent1\n7,The lamp is asleep.,The cat is asleep.\n3,"She rows a boat, slowly.",She rows a cloud.\n'
ANSWERS = "3,1\n7,0\n"
REASONS = '7,A lamp never sleeps.,"Lamps, like tables, are things.",Cats sleep.\n3,A cloud is air.,One falls through,\n'


def write(folder: Path, kind: str, answers: str | None = ANSWERS, reasons: str | None = REASONS) -> Path:
    """The files of a split: `all` as for training, else the name of the split."""
    rest = "answers_all" if kind == "all" else "gold_answers"
    path = folder / ("subtaskA_data_all.csv" if kind == "all" else f"subtaskA_{kind}_data.csv")
    path.write_text(SENTENCES, "utf-8")
    for task, content in (("A", answers), ("C", reasons)):
        if content is not None:
            (folder / f"subtask{task}_{rest}.csv").write_text(content, "utf-8")
    return path


@pytest.mark.parametrize("kind", ["all", "dev", "test"])
def test_sentences_answers_and_reasons_are_put_together_by_their_id(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, kind)
    dataset = load_dataset(path)
    assert [(i.id, i.label, [part.raw for part in i.parts]) for i in dataset.instances] == [
        ("7", "first", ["The lamp is asleep.", "The cat is asleep."]),
        ("3", "second", ["She rows a boat, slowly.", "She rows a cloud."]),
    ]
    assert [i.human.explanations for i in dataset.instances if i.human] == [
        ("A lamp never sleeps.", "Lamps, like tables, are things.", "Cats sleep."),
        ("A cloud is air.", "One falls through"),
    ]
    assert (dataset.labels, dataset.metric, dataset.maskable) == (("first", "second"), "accuracy", None)
    assert [Path(name).name[:8] for name in dataset.provenance["path"].split(", ")] == [
        "subtaskA",
        "subtaskA",
        "subtaskC",
    ]
    assert len(dataset.provenance["sha256"].split(", ")) == 3


def test_sentences_without_answers_have_no_label(tmp_path: Path) -> None:
    dataset = load_dataset(write(tmp_path, "test", answers=None, reasons=None))
    assert [(i.label, i.human) for i in dataset.instances] == [(None, None)] * 2


@pytest.mark.parametrize(
    ("answers", "reasons", "message"),
    [
        ("3,1\n7,2\n", REASONS, "{A}:2: expected an id and 0 or 1, got '2'"),
        ("3,1\n7\n", REASONS, "{A}:2: expected an id and 0 or 1, got an id alone"),
        ("3,1\n3,0\n7,0\n", REASONS, "{A}:2: duplicate id '3'"),
        ("7,0\n", REASONS, "{data}:3: field 'id': subtaskA_gold_answers.csv has no line for '3'"),
        (ANSWERS, "7,x\n3\n", "{C}:2: expected an id and 1 to 3 reasons, got 0"),
        (ANSWERS, "7,a,b,c,d\n3,x\n", "{C}:1: expected an id and 1 to 3 reasons, got 4"),
        (ANSWERS, "3,x\n", "{data}:2: field 'id': subtaskC_gold_answers.csv has no line for '7'"),
        (ANSWERS, '7,"x\n3,y\n', "{C}:2: not well-formed: unexpected end of data"),
    ],
)
def test_what_is_wrong_in_a_file_beside_is_named_by_its_line(
    answers: str, reasons: str, message: str, tmp_path: Path
) -> None:
    path = write(tmp_path, "dev", answers, reasons)
    places = {task: tmp_path / f"subtask{task}_gold_answers.csv" for task in "AC"}
    assert refusal(path) == message.format(data=path, **places)


def test_a_row_with_too_few_fields_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "dev")
    path.write_text(SENTENCES + "9,Alone.\n", "utf-8")
    assert refusal(path) == f"{path}:4: expected 3 fields, got 2"


def flat(**more: Any) -> dict[str, Any]:
    row = {"id": "a", "sentence1": "The lamp is asleep.", "sentence2": "The cat is asleep.", "label": "first"}
    return row | {"explanations": ["A lamp never sleeps.", "", "Only animals sleep."]} | more


def test_a_flat_table_has_the_same_parts_and_classes(tmp_path: Path) -> None:
    dataset = load_dataset(write_jsonl(tmp_path / "dev.jsonl", flat(), flat(id="b", label="second")))
    first, second = dataset.instances
    assert [part.raw for part in first.parts] == ["The lamp is asleep.", "The cat is asleep."]
    assert (first.label, second.label, dataset.labels) == ("first", "second", ("first", "second"))
    assert first.human is not None
    assert first.human.explanations == ("A lamp never sleeps.", "Only animals sleep.")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label": "third"}, "field 'label': unknown label 'third'; valid: first, second"),
        ({"sentence2": None}, "field 'sentence2': expected text, got null"),
        ({"explanations": [1]}, "field 'explanations': expected text or a list of texts, got the number 1"),
        ({"id": "a"}, "field 'id': 'a' is already the id of line 1"),
    ],
)
def test_what_is_wrong_in_a_flat_table_is_named_by_line_and_field(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", flat(), flat(id="b") | change)
    assert refusal(path) == f"{path}:2: {message}"


def test_two_sentences_with_other_classes_are_a_plain_table(tmp_path: Path) -> None:
    dataset = load_dataset(write_jsonl(tmp_path / "a.jsonl", flat(label="yes")))
    assert (dataset.instances[0].id, dataset.labels) == ("a", ("yes",))
