"""Tables in memory: DataFrames, Arrow tables, lists of dicts and Hugging Face datasets."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import Any

import numpy as np

from verax.data.hub import loaded_source
from verax.data.rows import Record, Source, describe, without_none
from verax.types import UserError
from verax.types.errors import first_line


def is_table(given: Any) -> bool:
    """Whether a value is a table in memory, rather than the name of data."""
    if isinstance(given, list):
        return not given or not all(isinstance(row, str) or hasattr(row, "__fspath__") for row in given)
    return _library_of(given) in {"pandas", "pyarrow", "datasets"}


def open_table(given: Any, split: str | None) -> Source:
    """Open a table in memory; the split of a Hugging Face `DatasetDict` is chosen, that of others is recorded."""
    kind, library = type(given).__name__, _library_of(given)
    if library == "datasets":
        first = next(iter(given.values())) if isinstance(given, dict) else given
        name = first.info.dataset_name or kind
        return loaded_source(name, given, split, {"source": f"datasets.{kind} in memory"})
    about = {"source": f"{library}.{kind} in memory", **without_none(split=split)}
    if isinstance(given, list):
        return Source(kind, _numbered(kind, given), {**about, "source": "list of dicts in memory"})
    return Source(kind, _numbered(kind, _arrow_rows(given, kind)), about)


def _library_of(given: Any) -> str:
    """The package of a value's class; nothing is imported to find out."""
    return type(given).__module__.partition(".")[0]


def _arrow_rows(given: Any, kind: str) -> Iterable[Any]:
    """The rows of an Arrow table or DataFrame, whose NaN become None and arrays lists, read in batches."""
    import pyarrow as pa  # noqa: PLC0415 - slow to import

    if not isinstance(given, (pa.Table, pa.RecordBatch)):
        try:
            given = pa.Table.from_pandas(given, preserve_index=False)
        except (pa.ArrowException, TypeError, ValueError, AttributeError) as error:
            raise UserError(f"{kind}: not a table of texts, numbers and lists: {first_line(error)}") from None
    table = pa.Table.from_batches([given]) if isinstance(given, pa.RecordBatch) else given
    return (row for batch in table.to_batches(max_chunksize=1024) for row in batch.to_pylist())


def _numbered(kind: str, rows: Iterable[Any]) -> Generator[Record, None, None]:
    """Rows with their number, from 1; numbers and arrays of numpy become those of Python."""
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise UserError(f"{kind}: row {number}: expected a dict, got {describe(row)}")
        plain = {
            str(column): value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
            for column, value in row.items()
        }
        yield Record(f"{kind}: row {number}", f"row {number}", plain)
