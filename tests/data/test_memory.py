"""Tables in memory give the same instances as the file with the same rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from verax.data.load import load_dataset
from verax.types import UserError

ROWS: list[dict[str, Any]] = [
    {"id": "a", "premise": "A dog sleeps.", "hypothesis": "An animal rests.", "label": "yes", "gold_words": [[1], [1]]},
    {"id": "b", "premise": "A dog sleeps.", "hypothesis": "A cat sleeps.", "label": "no", "gold_words": [[], [1, 2]]},
    {"id": "c", "premise": "Birds sing", "hypothesis": "Fish swim", "label": None, "gold_words": None},
]
TABLES: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "list": list,
    "DataFrame": pd.DataFrame,
    "Table": pa.Table.from_pylist,
    "RecordBatch": pa.RecordBatch.from_pylist,
    "Dataset": datasets.Dataset.from_list,
    "DatasetDict": lambda rows: datasets.DatasetDict(
        train=datasets.Dataset.from_list(rows[:1]), test=datasets.Dataset.from_list(rows)
    ),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def test_what_is_neither_a_name_nor_a_table_is_rejected() -> None:
    for given in (iter([{"text": "a", "label": "b"}]), 3, {"text": ["a"]}):
        with pytest.raises(UserError, match="data: expected a name, files, or a table"):
            load_dataset(given)


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_a_table_in_memory_is_read_like_a_file(make: Callable[..., Any], file: Path) -> None:
    expected, found = load_dataset(file), load_dataset(make(ROWS))
    assert found.instances == expected.instances
    assert found.labels == expected.labels == ("no", "yes")
    assert "in memory" in found.provenance["source"]
    assert (
        load_dataset(make(ROWS), limit=2, sample=1, seed=3).instances
        == load_dataset(file, limit=2, sample=1, seed=3).instances
    )


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
def test_parts_are_named_in_any_order(make: Callable[..., Any]) -> None:
    renamed = [{"verdict": row["label"], "two": row["hypothesis"], "one": row["premise"]} for row in ROWS]
    columns = {"hypothesis": "two", "label": "verdict", "premise": "one"}
    found = load_dataset(make(renamed), columns=columns)
    assert [one.parts for one in found.instances] == [one.parts for one in load_dataset(ROWS).instances]
    assert [one.label for one in found.instances] == ["yes", "no", None]


def test_missing_values_and_numbers_of_numpy_are_those_of_python() -> None:
    frame = pd.DataFrame({"text": ["a b", "c d", "e f"], "label": [1.0, np.nan, 0.0]})
    listed = [{"text": "a b", "label": np.int64(1)}, {"text": "c d", "label": None}, {"text": "e f", "label": 0}]
    for table in (frame, listed):
        found = load_dataset(table, labels=["no", "yes"])
        assert [one.label for one in found.instances] == ["yes", None, "no"]


def test_classes_of_a_hugging_face_dataset_keep_their_order() -> None:
    features = datasets.Features(text=datasets.Value("string"), label=datasets.ClassLabel(names=["pos", "neg"]))
    found = load_dataset(datasets.Dataset.from_dict({"text": ["a", "b"], "label": [1, 0]}, features=features))
    assert found.labels == ("pos", "neg")
    assert [one.label for one in found.instances] == ["neg", "pos"]


@pytest.mark.parametrize(
    ("table", "options", "message"),
    [
        ([], {}, "list: contains no rows"),
        ([{"text": "a"}, 3], {}, "list: row 2: expected a dict, got the number 3"),
        ([{"text": 3}], {}, "list: row 1: field 'text': expected text, got the number 3"),
        (pd.DataFrame({"text": ["a", None]}), {}, "DataFrame: row 2: field 'text': expected text, got null"),
        (pd.DataFrame({"text": ["a"], "x": [object()]}), {}, "DataFrame: not a table of texts"),
        (pd.DataFrame({"words": ["a"]}), {}, "DataFrame: cannot tell which columns hold the text"),
        (pd.DataFrame({"text": ["a"]}), {"revision": "main"}, "revision: not supported here"),
        (TABLES["DatasetDict"](ROWS), {"split": "tset"}, "unknown split 'tset'; did you mean 'test'?"),
        (ROWS, {"columns": {"premise": "premise"}}, "premise: expected exactly the parts premise and hypothesis"),
        (ROWS, {"columns": {"premis": "premise"}}, "unknown field 'premis'; did you mean 'premise'?"),
        (ROWS, {"columns": {"text": "premise", "parts": ["premise"]}}, "text: expected exactly the parts text"),
    ],
)
def test_unusable_tables_are_rejected(table: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as error:
        load_dataset(table, **options)
    assert message in str(error.value)
