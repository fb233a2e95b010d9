"""Data in the format of ERASER: documents, and annotations with evidence in token numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.published import marked, refusal, write_jsonl
from verax.data.load import load_dataset

DOCUMENTS = {
    "harbour.txt": "The harbour is old .\n\nIt   was built in 1801 , near Åland .\n",
    "film 7": "A dull , dull film .\nBut the ending — superb !",
}


def evidence(document: str, start: int, end: int) -> dict[str, Any]:
    return {
        "docid": document,
        "start_token": start,
        "end_token": end,
        "start_sentence": -1,
        "end_sentence": -1,
        "text": "unused",
    }


def annotation(name: str, label: str | None, *groups: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    usual = {"query": "Is the harbour old ?", "query_type": None, "docids": ["harbour.txt"]}
    return {"annotation_id": name, "classification": label, "evidences": list(groups)} | usual | more


ASKED = annotation(
    "q1", "True", [evidence("harbour.txt", 1, 4), evidence("harbour.txt", 9, 10)], [evidence("harbour.txt", 3, 5)]
)


@pytest.fixture(params=["apart", "together"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    put_documents(tmp_path, DOCUMENTS, apart=request.param == "apart")
    return tmp_path


def put_documents(folder: Path, documents: dict[str, str], *, apart: bool) -> None:
    if not apart:
        write_jsonl(folder / "docs.jsonl", *({"docid": name, "document": text} for name, text in documents.items()))
        return
    (folder / "docs").mkdir()
    for name, text in documents.items():
        (folder / "docs" / name).write_text(text, "utf-8")


def test_a_query_comes_with_its_document_and_the_evidence_of_all_groups(folder: Path) -> None:
    write_jsonl(folder / "test.jsonl", ASKED)
    dataset = load_dataset(folder)
    (instance,) = dataset.instances
    document = "The harbour is old . It was built in 1801 , near Åland ."
    assert [part.raw for part in instance.parts] == ["Is the harbour old ?", document]
    assert instance.parts[1].words == tuple(document.split(" "))
    assert marked(instance) == [[], ["harbour", "is", "old", ".", "1801"]]
    assert (instance.id, instance.label, dataset.labels) == ("q1", "True", ("True",))
    assert (dataset.metric, dataset.maskable) == ("macro_f1", (1,))
    assert dataset.provenance["path"] == str(folder / "test.jsonl")


def test_documents_without_a_query_are_one_part(folder: Path) -> None:
    film = annotation("film 7", "NEG", [evidence("film 7", 1, 4)], query=None, docids=None)
    unmarked = annotation("harbour.txt", None, query="", docids=None)
    write_jsonl(folder / "test.jsonl", film, unmarked)
    dataset = load_dataset(folder)
    assert [len(x.parts) for x in dataset.instances] == [1, 1]
    assert marked(dataset.instances[0]) == [["dull", ",", "dull"]]
    assert dataset.instances[1].parts[0].words[:2] == ("The", "harbour")
    assert (dataset.instances[1].human, dataset.instances[1].label) == (None, None)
    assert dataset.maskable == (0,)


@pytest.mark.parametrize("docids", [None, ["1.jpg#2_hypothesis", "1.jpg#2_premise"]])
def test_premise_and_hypothesis_are_two_documents(docids: list[str] | None, tmp_path: Path) -> None:
    texts = {"1.jpg#2_premise": "A gull sits .", "1.jpg#2_hypothesis": "A cat sits ."}
    put_documents(tmp_path, texts, apart=True)
    row = annotation("1.jpg#2", "contradiction", [evidence("1.jpg#2_hypothesis", 1, 2)], query=None, docids=docids)
    write_jsonl(tmp_path / "val.jsonl", row)
    dataset = load_dataset(tmp_path)
    (instance,) = dataset.instances
    assert [part.raw for part in instance.parts] == ["A gull sits .", "A cat sits ."]
    assert marked(instance) == [[], ["cat"]]
    assert (dataset.maskable, dataset.provenance["split"]) == ((0,), "validation")


def test_several_documents_follow_each_other(folder: Path) -> None:
    row = annotation(
        "q", "True", [evidence("film 7", 0, 1), evidence("harbour.txt", 0, 1)], docids=["harbour.txt", "film 7"]
    )
    write_jsonl(folder / "test.jsonl", row)
    (instance,) = load_dataset(folder).instances
    assert instance.human is not None
    assert instance.human.words == ((), (0, 14))
    assert marked(instance) == [[], ["The", "A"]]


def test_a_token_that_nobody_can_read_is_counted_but_is_no_word(tmp_path: Path) -> None:
    put_documents(tmp_path, {"d": "one \u00a0 two three"}, apart=True)
    write_jsonl(tmp_path / "test.jsonl", annotation("q", "x", [evidence("d", 1, 3)], docids=["d"]))
    (instance,) = load_dataset(tmp_path).instances
    assert (instance.parts[1].words, marked(instance)) == (("one", "two", "three"), [[], ["two"]])


def test_splits_are_files_and_test_is_the_default(folder: Path) -> None:
    for name in ("train", "val", "test"):
        write_jsonl(folder / f"{name}.jsonl", ASKED | {"annotation_id": name})
    for split, name in (("train", "train"), ("validation", "val"), ("test", "test"), (None, "test")):
        assert [x.id for x in load_dataset(folder, split=split).instances] == [name]
    assert refusal(folder, split="dev") == f"{folder}: unknown split 'dev'; valid: test, train, validation"
    assert (
        refusal(folder, revision="main")
        == f"revision: not supported here, since {folder} is in the format of ERASER; got 'main'"
    )


def test_one_file_can_be_named_with_a_limit_and_labels(folder: Path) -> None:
    path = write_jsonl(folder / "val.jsonl", ASKED, ASKED | {"annotation_id": "q2", "evidences": 3})
    dataset = load_dataset(path, limit=1, labels=["False", "True"])
    assert (len(dataset), dataset.labels, "split" in dataset.provenance) == (1, ("False", "True"), False)
    assert marked(dataset.instances[0]) == [[], ["harbour", "is", "old", ".", "1801"]]
    assert refusal(path, labels=["False"]) == f"{path}:1: field 'classification': unknown label 'True'; valid: False"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"evidences": [[], [evidence("harbour.txt", 12, 15)]]},
            "field 'evidences[1][0]': [12, 15] is outside the 14 tokens of 'harbour.txt'",
        ),
        ({"evidences": [[evidence("harbour.txt", -1, 2)]]}, "field 'evidences[0][0]': [-1, 2] is outside the 14"),
        ({"evidences": [[evidence("harbour.txt", 2, 2)]]}, "field 'evidences[0][0]': [2, 2] is outside the 14"),
        (
            {"evidences": [[evidence("harbor.txt", 0, 1)]]},
            "field 'evidences[0][0].docid': unknown document 'harbor.txt'; did you mean 'harbour.txt'?",
        ),
        ({"evidences": None}, "field 'evidences': expected a list of groups of evidence, got null"),
        ({"evidences": [3]}, "field 'evidences[0]': expected a list of evidence, got the number 3"),
        ({"evidences": [[3]]}, "field 'evidences[0][0]': expected an object, got the number 3"),
        ({"evidences": [[{"docid": None}]]}, "field 'evidences[0][0].docid': expected text, got null"),
        (
            {"evidences": [[{"docid": "harbour.txt", "start_token": "1"}]]},
            "field 'evidences[0][0].start_token': expected the number of a token, got the text '1'",
        ),
        ({"docids": ["x"], "evidences": []}, "field 'docids': document 'x' not found in"),
        ({"docids": ["../test.jsonl"], "evidences": []}, "field 'docids': document '../test.jsonl' not found in"),
        ({"docids": ["x" * 999], "evidences": []}, "field 'docids': document 'xxx"),
        ({"docids": "x", "evidences": []}, "field 'docids': expected a list of documents, got the text 'x'"),
        ({"docids": [7], "evidences": []}, "field 'docids': expected text, got the number 7"),
        ({"annotation_id": None}, "field 'annotation_id': expected an id, got an empty value"),
        ({"query": None}, "field 'query': expected text, got null"),
        ({"classification": ["True"]}, "field 'classification': expected the name or index of a class, got a list"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_field(change: dict[str, Any], message: str, folder: Path) -> None:
    path = write_jsonl(folder / "test.jsonl", ASKED, ASKED | {"annotation_id": "q2"} | change)
    assert refusal(folder).startswith(f"{path}:2: {message}")


def test_documents_that_can_not_be_read_are_named(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "test.jsonl", ASKED)
    (tmp_path / "docs.jsonl").write_text(json.dumps({"docid": "harbour.txt"}), "utf-8")
    assert refusal(tmp_path) == f"{tmp_path / 'docs.jsonl'}:1: field 'document': expected text, got null"
    (tmp_path / "docs.jsonl").unlink()
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "harbour.txt").write_bytes(b"one\n\xff")
    assert refusal(tmp_path) == f"{tmp_path / 'docs' / 'harbour.txt'}:2: not UTF-8: byte 0xff at column 1"


def test_documents_alone_do_not_make_it_eraser(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    path = write_jsonl(tmp_path / "test.jsonl", {"text": "a b", "label": "x"})
    assert load_dataset(path).instances[0].parts[0].raw == "a b"
    write_jsonl(path, ASKED)
    (tmp_path / "docs").rmdir()
    assert "cannot tell which columns hold the text" in refusal(path)


def test_with_columns_a_file_is_a_plain_table(folder: Path) -> None:
    path = write_jsonl(folder / "test.jsonl", ASKED)
    (instance,) = load_dataset(path, columns={"parts": "query"}).instances
    assert ([part.raw for part in instance.parts], instance.human) == ([ASKED["query"]], None)
