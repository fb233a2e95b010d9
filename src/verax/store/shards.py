"""Shards: immutable Parquet files, checked by their SHA-256 whenever they are read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from verax.store.codec import Plain
from verax.store.files import replace_file
from verax.store.keys import hash_bytes
from verax.store.manifest import Damaged, Shard, shard_name
from verax.store.tables import TABLES, TableName
from verax.types import UserError

FOLDER = "shards"


def write_shards(folder: Path, number: int, rows: Iterable[tuple[TableName, Plain]]) -> tuple[Shard, ...]:
    """Write one shard for each table that has rows, and tell what was written.

    The hash is of the bytes in memory, not of those read back, so that a disk that errs is found out.
    """
    tables: dict[TableName, list[Plain]] = {table: [] for table in TABLES}
    for table, row in rows:
        tables[table].append(row)
    (folder / FOLDER).mkdir(exist_ok=True)
    shards = []
    for table, members in tables.items():
        if members:
            data = _parquet(table, members)
            shard = Shard(shard_name(table, number), table, len(members), hash_bytes(data))
            replace_file(folder / FOLDER / shard.name, data)
            shards.append(shard)
    return tuple(shards)


def read_shard(folder: Path, shard: Shard, columns: list[str] | None = None) -> list[Plain]:
    """The rows of a shard; `Damaged` if it is missing or its bytes are not those that were written."""
    path = folder / FOLDER / shard.name
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise Damaged(f"{FOLDER}/{shard.name} is missing") from error
    except PermissionError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except OSError as error:
        raise Damaged(f"{FOLDER}/{shard.name} can't be read: {error.strerror}") from error
    if hash_bytes(data) != shard.sha256:
        raise Damaged(f"{FOLDER}/{shard.name} is damaged: its SHA-256 is not that of the manifest")
    # Without threads: now and then pyarrow aborts the process at its end when its pool of threads was ever used.
    file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False)
    rows: list[Plain] = file.read(columns, use_threads=False).to_pylist()
    return rows


def _parquet(table: TableName, rows: list[Plain]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist(rows, schema=TABLES[table].schema), sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data
