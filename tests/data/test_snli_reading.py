"""SNLI in its published files: JSONL, and text with tabs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.published import refusal, write_jsonl
from verax.data.load import load_dataset
from verax.types import Dataset

HEADER = (
    "gold_label",
    "sentence1_binary_parse",
    "sentence2_binary_parse",
    "sentence1_parse",
    "sentence2_parse",
    "sentence1",
    "sentence2",
    "captionID",
    "pairID",
    *(f"label{number}" for number in range(1, 6)),
)


def pair(number: int, label: str, premise: str = "A gull sits.", hypothesis: str = "A bird sits.") -> dict[str, Any]:
    return {
        "annotator_labels": [label],
        "captionID": f"{number}.jpg#0",
        "gold_label": label,
        "pairID": f"{number}.jpg#0r1e",
        "sentence1": premise,
        "sentence1_binary_parse": "( A ( gull sits ) )",
        "sentence1_parse": "(ROOT (S ...))",
        "sentence2": hypothesis,
        "sentence2_binary_parse": "( A ( bird sits ) )",
        "sentence2_parse": "(ROOT (S ...))",
    }


PAIRS = (
    pair(1, "neutral", '"Ahoy!" calls\u00a0a sailor.', "Somebody shouts «ahoy»."),
    pair(2, "-"),
    pair(3, "contradiction", "El niño está en el café.", "Nobody is in the café."),
    pair(4, "entailment"),
)


def write_text(path: Path, *pairs: dict[str, Any], tail: str = "\t\t\t\t") -> Path:
    rows = ("\t".join(row[name] for name in HEADER[:9]) + f"\t{row['gold_label']}{tail}" for row in pairs)
    lines = ["\t".join(HEADER), *rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture(params=["snli_1.0_test.jsonl", "snli_1.0_test.txt"])
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / request.param
    return write_jsonl(path, *PAIRS) if path.suffix == ".jsonl" else write_text(path, *PAIRS)


def told(dataset: Dataset) -> list[tuple[str, list[str], str | None]]:
    return [(x.id, [part.raw for part in x.parts], x.label) for x in dataset.instances]


def test_pairs_with_a_label_are_read_as_they_stand(file: Path) -> None:
    dataset = load_dataset(file)
    assert told(dataset) == [
        (row["pairID"], [row["sentence1"], row["sentence2"]], row["gold_label"])
        for row in PAIRS
        if row["gold_label"] != "-"
    ]
    assert dataset.labels == ("entailment", "neutral", "contradiction")
    assert (dataset.metric, dataset.maskable) == ("macro_f1", (0,))
    assert all(x.human is None for x in dataset.instances)
    assert dataset.provenance["path"] == str(file)
    assert len(dataset.provenance["sha256"]) == 64


def test_a_limit_counts_pairs_with_a_label_and_a_split_is_written_down(file: Path) -> None:
    dataset = load_dataset(file, limit=2, split="test")
    assert [x.id for x in dataset.instances] == ["1.jpg#0r1e", "3.jpg#0r1e"]
    assert (dataset.provenance["split"], dataset.provenance["limit"]) == ("test", "2")
    assert load_dataset(file, labels=["contradiction", "neutral", "entailment"]).labels[0] == "contradiction"


def test_an_unknown_label_is_refused(file: Path) -> None:
    text = file.read_text("utf-8").replace("contradiction", "contradicts")
    file.write_text(text, "utf-8")
    line = 3 if file.suffix == ".jsonl" else 4
    expected = f"{file}:{line}: field 'gold_label': unknown label 'contradicts'; did you mean 'contradiction'?"
    assert refusal(file) == expected


def test_the_same_pair_twice_is_refused(file: Path) -> None:
    file.write_text(file.read_text("utf-8").replace("4.jpg", "3.jpg"), "utf-8")
    assert "field 'pairID': '3.jpg#0r1e' is already the id of line" in refusal(file)


def test_the_labels_of_single_annotators_may_be_missing_in_a_text_file(tmp_path: Path) -> None:
    full, short = (write_text(tmp_path / f"{tail!r}.txt", *PAIRS, tail=tail) for tail in ("\t\t\t\t", ""))
    assert told(load_dataset(full)) == told(load_dataset(short))


@pytest.mark.parametrize(("line", "got"), [("neutral\tA\tB", 3), ("\t" * 14, 15)])
def test_a_line_with_other_fields_is_refused(line: str, got: int, tmp_path: Path) -> None:
    path = write_text(tmp_path / "a.txt", PAIRS[0])
    path.write_text(path.read_text("utf-8") + f"{line}x\n", "utf-8")
    assert refusal(path) == f"{path}:3: expected 14 tab-separated fields, got {got}"


def test_with_columns_jsonl_is_a_plain_table_and_text_is_refused(tmp_path: Path) -> None:
    plain = load_dataset(
        write_jsonl(tmp_path / "a.jsonl", *PAIRS), columns={"parts": "sentence2", "label": "gold_label"}
    )
    assert (len(plain), plain.metric, plain.labels) == (4, "accuracy", ("-", "contradiction", "entailment", "neutral"))
    text = write_text(tmp_path / "a.txt", *PAIRS)
    message = f"columns: not supported here, since {text} is in the format of SNLI; got {{'id': 'pairID'}}"
    assert refusal(text, columns={"id": "pairID"}) == message
    assert (
        refusal(text, revision="main")
        == f"revision: not supported here, since {text} is in the format of SNLI; got 'main'"
    )


def test_a_file_of_pairs_without_their_names_is_no_snli(tmp_path: Path) -> None:
    row = {"sentence1": "a", "sentence2": "b", "gold_label": "-"}
    assert load_dataset(write_jsonl(tmp_path / "a.jsonl", row)).labels == ("-",)


def test_a_first_line_that_can_not_be_read_is_told_once_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"{\xff}\n")
    assert refusal(path) == f"{path}:1: not UTF-8: byte 0xff at column 2"
