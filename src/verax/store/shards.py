"""Shards, immutable Parquet files of rows, and the index (`manifest.json`) that lists them with their SHA-256."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from verax.store.codec import Plain
from verax.store.files import replace_file
from verax.store.keys import canonical_json, hash_bytes
from verax.store.tables import TABLES, TableName
from verax.types import UserError

FORMAT = 1
INDEX = "manifest.json"
SHARDS = "shards"
_JOURNAL = re.compile(r"journal-(\d{6,})\.log")
_SHARD = re.compile(rf"({'|'.join(TABLES)})-(\d{{6,}})\.parquet")


class Damaged(Exception):
    """A file whose contents are not those that were written."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One immutable file of rows: its name in `shards/`, its table, its number of rows, the SHA-256 of its bytes."""

    name: str
    table: TableName
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ShardIndex:
    """Files that a run consists of: the number of the active journal, and the shards in the order of sealing."""

    number: int = 1
    shards: tuple[Shard, ...] = ()

    @property
    def journal(self) -> str:
        """Name of the active journal."""
        return f"journal-{self.number:06d}.log"

    def as_json(self) -> dict[str, Any]:
        """Contents of the file without the checksum."""
        return {"format": FORMAT, "journal": self.journal, "shards": [asdict(shard) for shard in self.shards]}

    def to_bytes(self) -> bytes:
        """The file: readable JSON that carries the SHA-256 of its own canonical form."""
        body = self.as_json()
        return json.dumps(body | {"checksum": hash_bytes(canonical_json(body))}, indent=1).encode()

    @classmethod
    def from_json(cls, body: Mapping[str, Any], source: str) -> ShardIndex:
        """The index that `as_json` gave; file names of another form are rejected, since files are moved by name."""
        try:
            number = journal_number(body["journal"])
            shards = tuple(Shard(**shard) for shard in body["shards"])
            valid = all(shard_table(shard.name) == shard.table for shard in shards)
        except (KeyError, TypeError) as error:
            raise Damaged(f"{source} was not written by verax") from error
        if number is None or not valid:
            raise Damaged(f"{source} was not written by verax")
        return cls(number, shards)


def read_index(folder: Path) -> ShardIndex:
    """The index of a run; `Damaged` if the file is missing or was changed."""
    try:
        data = (folder / INDEX).read_bytes()
    except FileNotFoundError as error:
        raise Damaged(f"{INDEX} is missing") from error
    except OSError as error:
        raise UserError(f"cannot read {folder / INDEX}: {error.strerror}") from error
    body = parse_index(data, folder / INDEX)
    checksum = body.pop("checksum", None)
    if checksum != hash_bytes(canonical_json(body)):
        raise Damaged(f"{INDEX} is damaged")
    return ShardIndex.from_json(body, INDEX)


def parse_index(data: bytes, path: Path) -> dict[str, Any]:
    """The JSON object in an index; a format of a later version is rejected, so that the run is left alone."""
    try:
        body = json.loads(data, parse_constant=_reject_constant)
    except ValueError as error:
        raise Damaged(f"{path.name} is damaged") from error
    if not isinstance(body, dict):
        raise Damaged(f"{path.name} is damaged")
    version = body.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise UserError(f"{path} has format {version}, and this version of verax reads formats up to {FORMAT}: upgrade")
    return body


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


def shard_table(name: str) -> str | None:
    """Table of the shard of this name; None if it is not the name of a shard."""
    match = _SHARD.fullmatch(name)
    return match[1] if match else None


def journal_number(name: str) -> int | None:
    """Number of the journal of this name; None if it is not the name of a journal."""
    match = _JOURNAL.fullmatch(name)
    return int(match[1]) if match else None


def write_shards(folder: Path, number: int, rows: Iterable[tuple[TableName, Plain]]) -> tuple[Shard, ...]:
    """Write one shard for each table that has rows, from the journal of this number.

    The hash is that of the bytes in memory, not of those read back, so that a write error of the disk is detected.
    """
    tables: dict[TableName, list[Plain]] = {table: [] for table in TABLES}
    for table, row in rows:
        tables[table].append(row)
    (folder / SHARDS).mkdir(exist_ok=True)
    shards = []
    for table, members in tables.items():
        if members:
            data = _parquet(arrow_table(table, members))
            shard = Shard(f"{table}-{number:06d}.parquet", table, len(members), hash_bytes(data))
            replace_file(folder / SHARDS / shard.name, data)
            shards.append(shard)
    return tuple(shards)


def arrow_table(table: TableName, rows: Sequence[Plain]) -> pa.Table:
    """Rows of one table as Arrow columns; those of an earlier version may lack columns that have a default."""
    schema, defaults = TABLES[table].schema, TABLES[table].defaults
    return pa.Table.from_pylist([{**defaults, **row} for row in rows], schema=schema)


def _parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="zstd")
    data: bytes = sink.getvalue().to_pybytes()
    return data


def read_shard(
    folder: Path, shard: Shard, columns: Sequence[str] | None = None, dictionaries: Sequence[str] = ()
) -> pa.Table:
    """Read columns of a shard; `Damaged` if it is missing or its bytes are not those that were written.

    Args:
        columns: their names; those that the shard does not have are left out. All columns by default.
        dictionaries: columns of strings to read in dictionary encoding.
    """
    path = folder / SHARDS / shard.name
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise Damaged(f"{SHARDS}/{shard.name} is missing") from error
    except PermissionError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except OSError as error:
        raise Damaged(f"{SHARDS}/{shard.name} cannot be read: {error.strerror}") from error
    if hash_bytes(data) != shard.sha256:
        raise Damaged(f"{SHARDS}/{shard.name} is damaged: its SHA-256 differs from the one in {INDEX}")
    file = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False, read_dictionary=list(dictionaries))
    # Without threads: pyarrow sometimes aborts the process at exit if its thread pool was ever used.
    return file.read(None if columns is None else list(columns), use_threads=False)
