"""Files of published data sets are told apart by what they hold, and whatever is in them is read or refused."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.published import write_jsonl
from verax.data.load import detect_format, load_dataset
from verax.types import UserError

SPANS = {"start_premise": 0, "end_premise": 1, "start_hypothesis": 0, "end_hypothesis": 1}
ROWS: dict[str, dict[str, Any]] = {
    "SNLI": {"pairID": "1", "gold_label": "neutral", "sentence1": "a b", "sentence2": "c"},
    "FEVER with gold evidence": {"id": 1, "claim": "a", "label": "REFUTES", "evidence": [["P", 0, "b c"]]},
    "SpanEx": {"id": "1", "premise": "a b", "hypothesis": "c", "label": "neutral", "relations": [SPANS]},
    "CoS-E": {
        "id": "1",
        "question": "a b c",
        "choices": ["d", "e", "f"],
        "label": 2,
        "explanation": "g",
        "highlight": "b",
    },
    "ComVE": {"id": "1", "sentence1": "a b", "sentence2": "c", "label": "first", "explanations": ["d", "e"]},
    "ERASER": {
        "annotation_id": "1",
        "classification": "x",
        "query": "q",
        "docids": ["d"],
        "evidences": [[{"docid": "d", "start_token": 0, "end_token": 1}]],
    },
}


@pytest.mark.parametrize("name", ["SNLI", "FEVER with gold evidence", "SpanEx", "CoS-E", "ComVE"])
def test_a_file_is_known_by_its_first_row(name: str, tmp_path: Path) -> None:
    for other, row in ROWS.items():
        found = detect_format(write_jsonl(tmp_path / "a.jsonl", row))
        assert (found is not None and found.name == name) == (other == name)


def test_what_can_not_be_looked_into_is_not_detect_format(tmp_path: Path) -> None:
    assert detect_format(tmp_path) is None
    assert detect_format(tmp_path / "nowhere.jsonl") is None
    for name in ("a.jsonl", "a.csv", "a.txt", "a.parquet", "a"):
        for content in (b"", b"\xff\n", b"{\n", b'"a\n', b"[]\n", b"a,a\n1,2\n", b"a\tb\n1\n"):
            (tmp_path / name).write_bytes(content)
            assert detect_format(tmp_path / name) is None


VALUE = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 3)
    | st.floats(allow_nan=False)
    | st.sampled_from(["", "d", "-", "nei"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["docid", "end_token"]), inner),
    max_leaves=6,
)


@settings(deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(ROWS)))
def test_any_value_of_any_field_is_read_or_refused_on_one_line(data: st.DataObject, name: str) -> None:
    row = ROWS[name]
    changed = row | data.draw(st.dictionaries(st.sampled_from(sorted(row)), VALUE, max_size=3))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "test.jsonl")
        path.write_text("\n".join(map(json.dumps, (row, changed)[data.draw(st.integers(0, 1)) :])), "utf-8")
        if name == "ERASER":
            write_jsonl(Path(folder, "docs.jsonl"), {"docid": "d", "document": "a b"})
        message = str(path)
        try:
            assert len(load_dataset(path)) > 0
        except UserError as error:
            message = str(error)
    assert folder in message
    assert len(message.splitlines()) == 1
