"""Columns are derived from the dataclasses: those of today by name, order and type, and a new one from a new field."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pytest

import verax.types.score
from verax.store.codec import codec_of, row_codec
from verax.store.read import read_rows
from verax.store.store import Store
from verax.store.tables import TABLES, RowTable
from verax.types import Score

SPANS = "list<item: list<item: struct<part: int64, start: int64, end: int64>>>"
COST = "struct<forward_asked: int64, forward: int64, backward_asked: int64, backward: int64, seconds: double>"
OFFSETS = "list<item: struct<start: int64, end: int64>>"
TEXT = f"struct<raw: string, words: list<item: string>, offsets: {OFFSETS}, lang: string>"
ROW = {"key": "string", "position": "int64"}
COLUMNS = {
    "instances": {
        **ROW,
        "id": "string",
        "parts": f"list<item: {TEXT}>",
        "label": "string",
        "lang": "string",
        "parallel_id": "string",
        "human": f"struct<words: list<item: list<item: int64>>, span_pairs: {SPANS}, explanations: list<item: string>, "
        "relations: string>",
    },
    "predictions": {
        **ROW,
        "instance_id": "string",
        "label": "string",
        "labels": "list<item: string>",
        "probabilities": "list<item: double>",
        "cost": COST,
    },
    "explanations": {
        **ROW,
        "instance_id": "string",
        "method": "string",
        "kind": "string",
        "target_of": "string",
        "target_space": "string",
        "units": SPANS,
        "scores": "list<item: double>",
        "cost": COST,
        "notes": "string",
        "reason": "string",
        "detail": "string",
        "failed": "bool",
    },
    "scores": {
        **ROW,
        "instance_id": "string",
        "method": "string",
        "metric": "string",
        "value": "double",
        "reason": "string",
        "detail": "string",
        "curve": "list<item: double>",
        "cost": COST,
        "series": "string",
        "card": "string",
    },
    "texts": {
        **ROW,
        "instance_id": "string",
        "method": "string",
        "target_of": "string",
        "target_space": "string",
        "text": "string",
        "label": "string",
        "labels": "list<item: string>",
        "probabilities": "list<item: double>",
        "how": "string",
        "cost": COST,
        "notes": "string",
    },
    "answers": {
        **ROW,
        "text": "string",
        "finish": "string",
        "tokens": "int64",
        "tops": "list<item: struct<token: string, logprob: double>>",
    },
    "alignments": {
        **ROW,
        "instance_id": "string",
        "reference_id": "string",
        "aligner": "string",
        "links": "list<item: struct<reference: int64, translation: int64>>",
        "reason": "string",
        "detail": "string",
    },
}


def test_columns_keep_their_names_order_and_types():
    """Run folders that exist have these columns: renaming a field must not rename its column."""
    derived = {name: {field.name: str(field.type) for field in table.schema} for name, table in TABLES.items()}
    assert derived == COLUMNS
    assert {name: list(columns) for name, columns in derived.items()} == {n: list(c) for n, c in COLUMNS.items()}


def test_a_skip_is_a_row_of_explanations_whose_columns_of_scores_are_null(tmp_path, fill):
    fill(tmp_path / "run", range(2, 4), seal=True)
    (path,) = (tmp_path / "run" / "shards").iterdir()
    highlight, skip = pa.parquet.read_table(path).to_pylist()
    assert (highlight["reason"], highlight["detail"], highlight["failed"]) == (None, "", False)
    assert (skip["reason"], skip["detail"], skip["failed"]) == ("empty", "no words", True)
    null = {"kind", "target_of", "target_space", "units", "scores", "cost", "notes"}
    assert {name for name, value in skip.items() if value is None} == null
    assert {name for name, value in highlight.items() if value is None} == {"reason"}


def module_of(source: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of its own in a temporary file."""
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, path.stem, module)  # a dataclass looks its module up
    spec.loader.exec_module(module)
    return module


NEW_FIELDS = """
    rank: int | None = None
    weights: tuple[tuple[float, ...], ...] = ((0.5,),)
    judge: Judge = Judge()
"""
JUDGE = """

@dataclass(frozen=True)
class Judge:
    name: str = "nobody"
    votes: Annotated[Mapping[str, int], StoredAs(json=True)] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Score:"""


def test_a_new_field_is_a_new_column(tmp_path, monkeypatch):
    """The module of today's `Score` with three more fields and nothing else: rows of both versions are read."""
    old = Score("i", "random", "agreement", 0.5, detail="\ud800")
    with Store.open(tmp_path / "run") as store:
        store.append("old", old)
    source = inspect.getsource(verax.types.score).replace(
        "\n\n@dataclass(frozen=True, slots=True)\nclass Score:", JUDGE
    )
    source = source.replace("\n    def __post_init__", f"{NEW_FIELDS}\n    def __post_init__")
    module = module_of(source, tmp_path / "score_with_more_fields.py", monkeypatch)
    monkeypatch.setitem(TABLES, "scores", RowTable.of(module.Score))
    judge = module.Judge("Ada \udc00", {"yes\ud800": 3})
    new = module.Score("i", "random", "agreement", None, "empty", rank=7, weights=((1.0,), ()), judge=judge)
    with Store.open(tmp_path / "run") as store:
        store.append("new", new)
        store.flush()
        assert repr(dict(store.rows())["new"]) == repr(new), "from the journal"
    upgraded = module.Score("i", "random", "agreement", 0.5, detail="\ud800")
    assert repr(dict(read_rows(tmp_path / "run"))) == repr({"old": upgraded, "new": new}), "from the shards"
    assert upgraded.weights == ((0.5,),)
    added = {field.name: str(field.type) for field in TABLES["scores"].schema}
    assert list(added)[-3:] == ["rank", "weights", "judge"]
    assert added["judge"] == "struct<name: string, votes: string>"


def test_a_new_dataclass_is_a_new_table(tmp_path, monkeypatch):
    source = (
        "from dataclasses import dataclass\n"
        "@dataclass(frozen=True)\n"
        "class Vote:\n    instance_id: str\n    votes: tuple[int, ...]\n    sure: bool = True\n"
    )
    module = module_of(source, tmp_path / "votes.py", monkeypatch)
    monkeypatch.setitem(TABLES, "answers", RowTable.of(module.Vote))
    with Store.open(tmp_path / "run") as store:
        store.append("k", module.Vote("i", (1, 2), False))
    assert dict(read_rows(tmp_path / "run")) == {"k": module.Vote("i", (1, 2), False)}


@dataclass(frozen=True)
class Unsupported:
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Ambiguous:
    rank: int | None = 3


def test_a_type_without_a_column_is_rejected_when_the_table_is_derived():
    with pytest.raises(TypeError, match=r"counts: no column is defined for .*Mapping"):
        row_codec(Unsupported)
    with pytest.raises(TypeError, match=r"Ambiguous\.rank may be None, so its default must be None"):
        row_codec(Ambiguous)
    with pytest.raises(TypeError, match="no column is defined"):
        codec_of(object, name="thing")


def test_a_value_that_is_no_row_is_rejected(tmp_path):
    with Store.open(tmp_path) as store, pytest.raises(TypeError, match="a run cannot store a dict"):
        store.append("k", {"a": 1})
