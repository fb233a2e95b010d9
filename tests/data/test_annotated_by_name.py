"""Annotated public data sets by name, from files in a folder of one's own."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from support.published import marked, paired, refusal, write_jsonl
from verax.data.load import load_dataset
from verax.registry import built_in, resolve

NAMES = [name for name, entry in built_in("datasets").items() if entry.kind == "annotated"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VERAX_DATA", str(tmp_path))
    return tmp_path


def write_esnli(path: Path, name: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    row = {"pairID": name, "gold_label": "neutral", "Sentence1": "A dog", "Sentence2": "A cat"}
    row |= {"Sentence1_marked_1": "A *dog*", "Sentence2_marked_1": "A cat", "Explanation_1": "So."}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(row))
        writer.writeheader()
        writer.writerow(row)


def test_each_name_leads_to_itself_and_has_its_reference() -> None:
    assert set(NAMES) == {"esnli", "fever", "spanex-snli", "spanex-fever"}
    for name in NAMES:
        assert resolve("datasets", name).name == name
        assert built_in("datasets")[name].reference


@pytest.mark.parametrize("below", ["esnli", "", "e-SNLI/dataset", "e-SNLI"])
def test_esnli_is_found_in_its_folders_and_train_is_in_two_files(below: str, folder: Path) -> None:
    for name in ("train_1", "train_2", "dev", "test"):
        write_esnli(folder / below / f"esnli_{name}.csv", name)
    train, validation, test = (load_dataset("esnli", split=split) for split in ("train", "validation", "test"))
    assert [[x.id for x in data.instances] for data in (train, validation, test)] == [
        ["train_1", "train_2"],
        ["dev"],
        ["test"],
    ]
    assert load_dataset("esnli") == test
    assert [x.id for x in load_dataset("esnli", split="train", limit=1).instances] == ["train_1"]
    assert marked(test.instances[0]) == [["dog"], []]
    assert (test.name, test.provenance["split"]) == ("esnli", "test")
    assert test.provenance["citation"].startswith("Camburu et al. 2018")
    assert train.provenance["path"] == ", ".join(str(folder / below / f"esnli_train_{n}.csv") for n in (1, 2))
    assert len(train.provenance["sha256"].split(", ")) == 2


@pytest.mark.parametrize("below", ["fever", "fever_gold_evidence"])
def test_fever_has_three_splits(below: str, folder: Path) -> None:
    (folder / below).mkdir()
    for name in ("train", "valid", "test"):
        row = {"id": name, "claim": "Ada sings.", "label": "REFUTES", "evidence": [["Ada", 0, "Ada paints ."]]}
        write_jsonl(folder / below / f"{name}.jsonl", row)
    ids = [load_dataset("fever", split=split).instances[0].id for split in ("train", "validation", "test")]
    assert ids == ["train", "valid", "test"]


def test_spanex_has_a_test_split_of_each_kind(folder: Path) -> None:
    (folder / "spanex").mkdir()
    spans = {"start_premise": 2, "end_premise": 5, "start_hypothesis": 0, "end_hypothesis": 3}
    row = {"id": "1", "premise": "A cat sits", "hypothesis": "Ada sits", "relations": [spans]}
    write_jsonl(folder / "spanex" / "snli.jsonl", row | {"label": "neutral"})
    write_jsonl(folder / "spanex" / "fever.jsonl", row | {"label": "nei"})
    pairs, claims = load_dataset("spanex-snli"), load_dataset("spanex-fever", split="test")
    assert (paired(pairs.instances[0]), paired(claims.instances[0])) == ([("cat", "Ada")], [("Ada", "cat")])
    assert (pairs.name, claims.name) == ("spanex-snli", "spanex-fever")
    assert refusal("spanex-snli", split="train") == "spanex-snli: unknown split 'train'; valid: test"


def test_where_the_files_must_be_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = "esnli/esnli_train_1.csv and esnli/esnli_train_2.csv"
    write_esnli(folder / "esnli" / "esnli_train_1.csv", "a")
    places = ", ".join(str(folder / below) for below in ("esnli", "", "e-SNLI/dataset", "e-SNLI"))
    assert refusal("esnli", split="train") == f"esnli: files not found in {places}; put {files} into {folder}"
    assert refusal("esnli", columns={"id": "pairID"}).startswith(
        "columns: not supported here, since esnli is a registered dataset"
    )
    monkeypatch.delenv("VERAX_DATA")
    expected = f"esnli: put {files} into a folder and set the environment variable VERAX_DATA to it; it is not set"
    assert refusal("esnli", split="train") == expected
