"""The manifest: which shards a run is made of, what they hash to, and which journal is being written."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from verax.store.keys import canonical_json, hash_bytes
from verax.store.tables import TABLES, TableName
from verax.types import UserError

FORMAT = 1
NAME = "manifest.json"
_JOURNAL = re.compile(r"journal-(\d{6,})\.log")
_SHARD = re.compile(rf"({'|'.join(TABLES)})-(\d{{6,}})\.parquet")


class Damaged(Exception):
    """A file that is not what it was when it was written."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One immutable file of rows: its name in `shards/`, its table, how many rows, the SHA-256 of its bytes."""

    name: str
    table: TableName
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """The number of the active journal, and the sealed shards in the order in which they were sealed."""

    number: int = 1
    shards: tuple[Shard, ...] = ()

    @property
    def journal(self) -> str:
        """The name of the active journal."""
        return f"journal-{self.number:06d}.log"

    def as_json(self) -> dict[str, Any]:
        """What is written, but for the checksum."""
        return {"format": FORMAT, "journal": self.journal, "shards": [asdict(shard) for shard in self.shards]}

    def to_bytes(self) -> bytes:
        """The file: readable JSON that carries the SHA-256 of its own canonical form."""
        body = self.as_json()
        return json.dumps(body | {"checksum": hash_bytes(canonical_json(body))}, indent=1).encode()


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a run; `Damaged` if it is missing or not what was written."""
    try:
        data = (folder / NAME).read_bytes()
    except FileNotFoundError as error:
        raise Damaged(f"{NAME} is missing") from error
    except OSError as error:
        raise UserError(f"cannot read {folder / NAME}: {error.strerror}") from error
    body = parse(data, folder / NAME)
    checksum = body.pop("checksum", None)
    if checksum != hash_bytes(canonical_json(body)):
        raise Damaged(f"{NAME} is damaged")
    return from_json(body, NAME)


def parse(data: bytes, path: Path) -> dict[str, Any]:
    """The JSON object in a file of verax's; that of a later verax is refused, so that it is left alone."""
    try:
        body = json.loads(data, parse_constant=_refuse)
    except ValueError as error:
        raise Damaged(f"{path.name} is damaged") from error
    if not isinstance(body, dict):
        raise Damaged(f"{path.name} is damaged")
    version = body.get("format")
    if isinstance(version, int) and version > FORMAT:
        raise UserError(
            f"{path} is of format {version}, but this verax knows formats up to {FORMAT}: use a newer verax"
        )
    return body


def _refuse(name: str) -> None:
    raise ValueError(f"{name} is no number")


def from_json(body: Mapping[str, Any], source: str) -> Manifest:
    """The manifest that `as_json` gave; names that verax does not give are refused, since files are moved by them."""
    try:
        journal = journal_number(body["journal"])
        shards = tuple(Shard(**shard) for shard in body["shards"])
        known = all(shard_table(shard.name) == shard.table for shard in shards)
    except (KeyError, TypeError) as error:
        raise Damaged(f"{source} is not one of verax's") from error
    if journal is None or not known:
        raise Damaged(f"{source} is not one of verax's")
    return Manifest(journal, shards)


def shard_name(table: TableName, number: int) -> str:
    """The name of the shard of a table that is sealed from the journal of this number."""
    return f"{table}-{number:06d}.parquet"


def shard_table(name: str) -> str | None:
    """The table of a shard of this name; None if no shard has such a name."""
    match = _SHARD.fullmatch(name)
    return match[1] if match else None


def journal_number(name: str) -> int | None:
    """The number of a journal of this name; None if no journal has such a name."""
    match = _JOURNAL.fullmatch(name)
    return int(match[1]) if match else None
