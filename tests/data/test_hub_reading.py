from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from verax.data.load import load_dataset
from verax.types import UserError

# The library reads its settings when it is imported, so the folders are made and read in a process of their own.
CHILD = """
import json, sys
from pathlib import Path
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from verax.data.load import load_dataset
from verax.types import UserError

folder = Path(sys.argv[1])
features = Features({"sentence": Value("string"), "label": ClassLabel(names=["negative", "positive"])})
train = Dataset.from_dict({"sentence": ["bad", "good", "what"], "label": [0, 1, -1]}, features=features)
test = Dataset.from_dict({"sentence": ["fine", "awful"], "label": [1, 0]}, features=features)
DatasetDict({"train": train, "test": test}).save_to_disk(folder / "saved")
train.save_to_disk(folder / "one")
(folder / "files").mkdir()
(folder / "files" / "train.csv").write_text("text,label\\nbad,0\\ngood,1\\n")
(folder / "files" / "test.csv").write_text("text,label\\nfine,1\\n")
(folder / "empty").mkdir()

def told(name, **options):
    try:
        dataset = load_dataset(name, **options)
    except UserError as error:
        return str(error).replace(str(folder), "FOLDER")
    rows = [[x.id, x.parts[0].raw, x.label] for x in dataset.instances]
    return {"rows": rows, "labels": dataset.labels, "provenance": dict(dataset.provenance)}

print("ANSWERS" + json.dumps({
    "saved": told(folder / "saved"),
    "train": told(folder / "saved", split="train", limit=2),
    "renumbered": told(folder / "saved", labels=["positive", "negative"]),
    "other labels": told(folder / "saved", labels=["posit", "negative"]),
    "wrong split": told(folder / "saved", split="tset"),
    "one": told(folder / "one"),
    "files": told(folder / "files", labels=["no", "yes"]),
    "empty": told(folder / "empty"),
    "missing column": told(folder / "one", columns={"parts": ["sentense"]}),
    "bad label": told(folder / "one", columns={"id": "label"}),
    "offline": told("somebody/something"),
    "offline typo": told("opinions"),
    "revision": told(folder / "one", revision="main"),
}))
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("hub")
    settings = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home"), "HF_DATASETS_DISABLE_PROGRESS_BARS": "1"}
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(folder)],
        env=os.environ | settings,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert child.returncode == 0, child.stderr
    answer: dict[str, Any] = json.loads(child.stdout.partition("ANSWERS")[2])
    return answer


def test_a_saved_folder_gives_the_test_split_and_the_names_of_its_classes(answers: dict[str, Any]) -> None:
    assert answers["saved"]["rows"] == [["1", "fine", "positive"], ["2", "awful", "negative"]]
    assert answers["saved"]["labels"] == ["negative", "positive"]
    assert answers["saved"]["provenance"]["split"] == "test"
    assert answers["saved"]["provenance"]["columns"] == '{"parts":["sentence"],"label":"label"}'


def test_split_and_limit_are_kept(answers: dict[str, Any]) -> None:
    assert answers["train"]["rows"] == [["1", "bad", "negative"], ["2", "good", "positive"]]


def test_labels_of_ones_own_renumber_the_classes_but_do_not_rename_them(answers: dict[str, Any]) -> None:
    assert answers["renumbered"]["rows"] == answers["saved"]["rows"]
    assert answers["renumbered"]["labels"] == ["positive", "negative"]
    message = "FOLDER/saved: row 1: field 'label': unknown label 'positive'; did you mean 'posit'?"
    assert answers["other labels"] == message


def test_a_single_table_is_its_only_split_and_minus_one_is_no_label(answers: dict[str, Any]) -> None:
    assert answers["one"]["rows"] == [["1", "bad", "negative"], ["2", "good", "positive"], ["3", "what", None]]
    assert answers["one"]["labels"] == ["negative", "positive"]


def test_a_folder_of_data_files_is_read_with_the_names_given(answers: dict[str, Any]) -> None:
    assert answers["files"]["rows"] == [["1", "fine", "yes"]]


def test_an_unknown_split_is_refused_with_the_nearest(answers: dict[str, Any]) -> None:
    assert answers["wrong split"] == "FOLDER/saved: unknown split 'tset'; did you mean 'test'?"


def test_mistakes_in_rows_are_named_by_row_and_field(answers: dict[str, Any]) -> None:
    assert answers["missing column"] == "FOLDER/one: row 1: unknown column 'sentense'; did you mean 'sentence'?"
    assert answers["bad label"] == "FOLDER/one: row 3: field 'label': expected an id, got an empty value"


def test_a_folder_without_data_is_refused_on_one_line(answers: dict[str, Any]) -> None:
    assert answers["empty"].startswith("FOLDER/empty: ")
    assert "\n" not in answers["empty"]


def test_offline_a_name_of_the_hub_is_refused_on_one_line(answers: dict[str, Any]) -> None:
    assert answers["offline"].startswith("unknown dataset 'somebody/something'; valid: anemia, ")
    assert "; there is no such file, and it is not available from the Hugging Face hub: " in answers["offline"]
    assert "\n" not in answers["offline"]
    assert answers["offline typo"].startswith("unknown dataset 'opinions'; did you mean 'world/opinion'?; ")


def test_a_revision_belongs_to_the_hub_alone(answers: dict[str, Any]) -> None:
    assert answers["revision"] == "revision: not supported here, since FOLDER/one is a folder; got 'main'"


@pytest.mark.parametrize("name", ["world/nil", "world/nli/en"])
def test_a_slip_in_a_built_in_name_never_asks_the_hub(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError) as caught:
        load_dataset(name)
    assert str(caught.value) == f"unknown dataset {name!r}; did you mean 'world/nli'?"


def test_without_the_extra_the_command_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    for name in ("somebody/something", tmp_path):
        with pytest.raises(UserError, match=r"pip install 'verax\[datasets\]'"):
            load_dataset(name)


def test_a_built_in_dataset_takes_no_columns() -> None:
    with pytest.raises(UserError, match="labels: not supported here, since world/nli is built in; got"):
        load_dataset("world/nli", labels=["a"])


def test_importing_the_loader_imports_nothing_heavy() -> None:
    code = "import sys, verax.data.load, verax.data.explanations; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert {"torch", "transformers", "pyarrow", "pandas", "datasets", "scipy"}.isdisjoint(loaded)
