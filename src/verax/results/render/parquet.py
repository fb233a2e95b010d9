"""Tables as one Parquet file with typed columns."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from verax.results.render.markup import visible
from verax.results.table import Table, Value


def to_parquet(tables: Sequence[Table]) -> bytes:
    """One file of all tables; captions, verdicts and notes are in its metadata, as JSON under the key `verax`."""
    about = [
        {"name": t.name, "title": t.title, "caption": t.caption, "verdict": t.verdict, "notes": list(t.notes)}
        for t in tables
    ]
    written = io.BytesIO()
    pq.write_table(arrow_table(tables).replace_schema_metadata({"verax": json.dumps(about)}), written)
    return written.getvalue()


def arrow_table(tables: Sequence[Table]) -> pa.Table:
    """The records of tables, one below the other, after the name of their table in the column `table`.

    Each column has one type. Where a name has both numbers and text, the text is in the column `NAME_text`.
    """
    records = [
        {"table": table.name, **{_column(name): value for name, value in record.items()}}
        for table in tables
        for record in table.records()
    ]
    columns: dict[str, pa.Array] = {}
    for name in dict.fromkeys(name for record in records for name in record):
        values = [record.get(name) for record in records]
        texts = [visible(value) if isinstance(value, str) else None for value in values]
        numbers = [None if isinstance(value, str) else value for value in values]
        written = any(value is not None for value in texts)
        if not written or any(value is not None for value in numbers):
            columns[name] = pa.array(numbers, _type_of(numbers))
        if written:
            columns[f"{name}_text" if name in columns else name] = pa.array(texts, pa.string())
    return pa.table(columns)


def _column(name: str) -> str:
    """A key as the name of a column."""
    return "table_" if name == "table" else visible(name)


def _type_of(values: Sequence[Value]) -> pa.DataType:
    """The type of a column without text; numbers if it is empty."""
    kinds = {type(value) for value in values if value is not None}
    return pa.bool_() if kinds == {bool} else pa.int64() if kinds == {int} else pa.float64()
