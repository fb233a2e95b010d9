"""Tables as Parquet: typed columns, in one file, equal to the records."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from support.cli import CallVerax
from support.masking import masked_word_run
from support.runs import word_run
from verax.results.render.parquet import arrow_table, to_parquet
from verax.results.table import Column, Table, table_row
from verax.types import Estimate


def table(name: str, columns: str, *rows: tuple[object, ...]) -> Table:
    named = tuple(Column(column, column) for column in columns.split())
    return Table(name, name, named, tuple(table_row(*row) for row in rows))  # type: ignore[arg-type]


def test_columns_have_the_types_of_their_values() -> None:
    scores = table("scores", "method mean best k", ("a", Estimate(0.5, 0.4, 0.6, 9), True, 3), ("b", None, False, None))
    made = arrow_table([scores])
    assert {field.name: field.type for field in made.schema} == {
        "table": pa.string(),
        "method": pa.string(),
        "mean": pa.float64(),
        "mean_low": pa.float64(),
        "mean_high": pa.float64(),
        "mean_n": pa.int64(),
        "best": pa.bool_(),
        "k": pa.int64(),
    }
    assert made.to_pylist() == [{"table": "scores", **record} for record in scores.records()]


def test_numbers_and_text_of_one_name_are_two_columns_and_other_tables_have_nulls() -> None:
    first = table("first", "name x", ("a", 1), ("b", "about 2\ud800"))
    second = table("second", "x table", (0.5, "t"))
    made = arrow_table([first, second])
    assert made.column_names == ["table", "name", "x", "x_text", "table_"]
    assert made["x"].to_pylist() == [1.0, None, 0.5]
    assert made["x_text"].to_pylist() == [None, "about 2\N{REPLACEMENT CHARACTER}", None]
    assert made["name"].to_pylist() == ["a", "b", None]


def test_a_column_without_values_is_one_of_numbers() -> None:
    written = to_parquet([table("empty", "name x", ("a", None))])
    assert pq.read_schema(pa.BufferReader(written)).field("x").type == pa.float64()


def test_show_writes_every_table_and_what_it_says(verax: CallVerax, tmp_path: Path) -> None:
    run = masked_word_run(tmp_path / "run")
    answer = verax("show", "run", "--format", "parquet", "--out", "tables.parquet")
    assert (answer.code, answer.out) == (0, ""), answer.err
    tables = [one for found in run.findings() for one in found.all_tables]
    read = pq.read_table(tmp_path / "tables.parquet")
    rows = read.to_pylist()
    for one in tables:
        mine = [row for row in rows if row["table"] == one.name]
        for row, record in zip(mine, one.records(), strict=True):
            assert {key: row.get(f"{key}_text") if row[key] is None else row[key] for key in record} == record
    assert not any(pa.types.is_list(field.type) or pa.types.is_null(field.type) for field in read.schema)
    about = json.loads(read.schema.metadata[b"verax"])
    assert [one["name"] for one in about] == [one.name for one in tables]
    assert [one["verdict"] for one in about] == [one.verdict for one in tables]


def test_parquet_needs_a_file_that_can_be_written(verax: CallVerax, tmp_path: Path) -> None:
    word_run(tmp_path / "run")
    answer = verax("show", "run", "--format", "parquet")
    assert (answer.code, "name the file to write with --out" in answer.err) == (2, True)
    answer = verax("show", "run", "--format", "parquet", "--out", "missing/t.parquet")
    assert (answer.code, "--out: missing/t.parquet cannot be written" in answer.err) == (2, True), answer.err
