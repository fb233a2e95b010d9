"""Shards, immutable Parquet files of rows, and the index (`manifest.json`) that lists them with their SHA-256."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from verax.store.codec import Plain
from verax.store.files import make_folder, read_regular, replace_file
from verax.store.keys import canonical_json, hash_bytes
from verax.store.tables import TABLES, TableName, decode
from verax.types import UserError

FORMAT = 1
INDEX = "manifest.json"
CARD = "run.json"
PLAN = "plan.txt"
SHARDS = "shards"
_JOURNAL = re.compile(r"journal-(\d{6,})\.log")
_SHARD = re.compile(rf"({'|'.join(TABLES)})-(\d{{6,}})(?:-([0-9a-f]{{16}}))?\.parquet")


class Damaged(Exception):
    """A file that is missing or was changed."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One immutable file of rows: its name in `shards/`, its table, its number of rows, the SHA-256 of its bytes."""

    name: str
    table: TableName
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class FileHash:
    """The SHA-256 of a file of a run that is replaced now and then.

    Args:
        before: of the content that is being replaced, since a kill may come before the new content; empty if there
            was no file.
        content: a copy of a small file, from which it is rebuilt.
    """

    sha256: str
    before: str | None = None
    content: str | None = None

    @property
    def settled(self) -> FileHash:
        """The hash once the file is replaced."""
        return replace(self, before=None)


@dataclass(frozen=True, slots=True)
class ShardIndex:
    """Files that a run consists of.

    Args:
        number: of the active journal.
        shards: in the order of sealing.
        files: hashes of the run card and the plan by name; runs of earlier versions have none.
    """

    number: int = 1
    shards: tuple[Shard, ...] = ()
    files: Mapping[str, FileHash] = field(default_factory=dict)

    @property
    def journal(self) -> str:
        """Name of the active journal."""
        return f"journal-{self.number:06d}.log"

    def as_json(self) -> dict[str, Any]:
        """Contents of the file without the checksum."""
        body = {"format": FORMAT, "journal": self.journal, "shards": [asdict(shard) for shard in self.shards]}
        return body | ({"files": {name: asdict(file) for name, file in self.files.items()}} if self.files else {})

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
            files = {name: FileHash(**file) for name, file in body.get("files", {}).items() if name in {CARD, PLAN}}
            valid = all(shard_table(shard.name) == shard.table for shard in shards)
        except (KeyError, TypeError, AttributeError) as error:
            raise Damaged(f"{source} was not written by verax") from error
        if number is None or not valid:
            raise Damaged(f"{source} was not written by verax")
        return cls(number, shards, files)


def read_index(folder: Path) -> ShardIndex:
    """The index of a run; `Damaged` if the file is missing or was changed."""
    body = parse_json(read_whole(folder / INDEX), folder / INDEX)
    checksum = body.pop("checksum", None)
    if checksum != hash_bytes(canonical_json(body)):
        raise Damaged(f"{INDEX} is damaged")
    return known_format(body, folder / INDEX)


def check_file(folder: Path, name: str, file: FileHash) -> bytes | None:
    """The bytes of the card or the plan, None if it was never written; `Damaged` if it is not what was written."""
    try:
        data = read_whole(folder / name) if file.before != "" or (folder / name).exists() else b""
    except UserError as error:  # not a regular file
        raise Damaged(f"{name} is damaged: {error}") from error
    found = hash_bytes(data) if data or file.before != "" else ""
    if found not in {file.sha256, file.before}:
        raise Damaged(f"{name} is damaged: its SHA-256 differs from the one in {INDEX}")
    if found == file.sha256:
        return data
    return file.content.encode() if file.content is not None else data or None


def read_whole(path: Path) -> bytes:
    """The bytes of a file; `Damaged` if it is missing."""
    try:
        return read_regular(path)
    except FileNotFoundError as error:
        raise Damaged(f"{path.name} is missing") from error
    except OSError as error:
        # It may be intact: it must not be taken for damaged and begun anew.
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def parse_json(data: bytes, path: Path) -> dict[str, Any]:
    """The JSON object in a file; `Damaged` if there is none."""
    try:
        body = json.loads(data, parse_constant=_reject_constant)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{path.name} is damaged") from error
    if not isinstance(body, dict):
        raise Damaged(f"{path.name} is damaged")
    return body


def known_format(body: Mapping[str, Any], path: Path) -> ShardIndex:
    """The index that an intact file holds; a format of a later version is rejected, so that the run is left alone."""
    version = body.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise UserError(f"{path} has format {version}, and this version of verax reads formats up to {FORMAT}: upgrade")
    return ShardIndex.from_json(body, path.name)


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


def shard_table(name: str) -> str | None:
    """Table of the shard of this name; None if it is not the name of a shard."""
    match = _SHARD.fullmatch(name)
    return match[1] if match else None


def shard_number(name: str) -> int:
    """Number of the journal that a shard of this name was sealed from; 0 if it is not the name of a shard."""
    match = _SHARD.fullmatch(name)
    return int(match[2]) if match else 0


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
    return tuple(
        write_shard(folder, number, table, arrow_table(table, members)) for table, members in tables.items() if members
    )


def write_shard(folder: Path, number: int, table: TableName, rows: pa.Table) -> Shard:
    """Write one shard; its name ends with the first 16 digits of its hash, so that it can be verified by itself."""
    make_folder(folder / SHARDS)
    data = parquet(rows)
    digest = hash_bytes(data)
    shard = Shard(f"{table}-{number:06d}-{digest[:16]}.parquet", table, len(rows), digest)
    replace_file(folder / SHARDS / shard.name, data)
    return shard


def merge_shards(folder: Path, number: int, shards: Sequence[Shard], most: int) -> list[Shard]:
    """Write the rows of shards into as few shards as possible, each of at most `most` rows of one table."""
    merged = []
    for table in TABLES:
        group: list[Shard] = []
        for shard in [*(shard for shard in shards if shard.table == table), None]:
            if group and (shard is None or sum(one.rows for one in group) + shard.rows > most):
                rows = [row for one in group for row in read_shard(folder, one).to_pylist()]
                merged.append(write_shard(folder, number, table, arrow_table(table, rows)))
                group = []
            group += [] if shard is None else [shard]
    return merged


def identify_shard(path: Path, *, unnamed: bool = False) -> Shard:
    """The entry of a shard that no index lists; `Damaged` if its bytes are not those that were written.

    Args:
        unnamed: accept one of an earlier version, whose name has no hash, if all its rows can be read.
    """
    match = _SHARD.fullmatch(path.name)
    if match is None:
        raise Damaged(f"{SHARDS}/{path.name} is not a shard")
    data = read_whole(path)
    table: TableName = match[1]  # type: ignore[assignment]
    digest = hash_bytes(data)
    if match[3] is None and not unnamed:
        raise Damaged(f"{SHARDS}/{path.name} is not in {INDEX} and has no hash in its name")
    if match[3] not in {None, digest[:16]}:
        raise Damaged(f"{SHARDS}/{path.name} is damaged: its SHA-256 differs from the one in its name")
    try:
        rows = pq.ParquetFile(pa.BufferReader(data), pre_buffer=False).read(use_threads=False)
        keys = [decode(table, row)[0] for row in rows.to_pylist()]
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise Damaged(f"{SHARDS}/{path.name} cannot be read: {error}") from error
    if not keys or len(set(keys)) < len(keys):
        raise Damaged(f"{SHARDS}/{path.name} has no rows, or two with the same key")
    return Shard(path.name, table, len(keys), digest)


def arrow_table(table: TableName, rows: Sequence[Plain]) -> pa.Table:
    """Rows of one table as Arrow columns; those of an earlier version may lack columns that have a default."""
    schema, defaults = TABLES[table].schema, TABLES[table].defaults
    return pa.Table.from_pylist([{**defaults, **row} for row in rows], schema=schema)


def parquet(table: pa.Table) -> bytes:
    """The bytes of a shard."""
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
        data = read_regular(path)
    except (FileNotFoundError, NotADirectoryError) as error:
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
