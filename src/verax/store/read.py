"""Reading a run: no lock, no change to the folder, safe while another process writes to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verax.store.codec import Plain
from verax.store.journal import read_journal, unpack
from verax.store.layout import CARD, PLAN, find_manifest
from verax.store.manifest import Damaged, Manifest
from verax.store.shards import read_shard
from verax.store.tables import Row, TableName, decode
from verax.types import Alignment, Highlight, Instance, Nle, Prediction, Score, Skip, UserError


@dataclass(frozen=True)
class Stored:
    """What a run consists of, each list in the order of its plan (in the order it was appended, if it has none).

    `card` is the run card, empty if none was written. `damaged` tells, a line each, what could not be read or is not
    there yet.
    """

    folder: Path
    card: dict[str, Any]
    instances: list[Instance]
    predictions: list[Prediction]
    highlights: list[Highlight]
    skips: list[Skip]
    scores: list[Score]
    damaged: tuple[str, ...]
    alignments: list[Alignment] = field(default_factory=list)
    texts: list[Nle] = field(default_factory=list)


def read_run(folder: Path) -> Stored:
    """Everything that a run holds now. Rows that are just being written are not there yet."""
    folder = Path(folder)
    if not folder.is_dir():
        raise UserError(f"there is no run at {folder}: it is no folder")
    manifest = _manifest(folder)
    while True:
        tables, damaged = _tables(folder, manifest[0])
        if not damaged:
            break
        # A writer may have sealed the journal, or set a shard aside, since the manifest was read.
        newer = _manifest(folder)
        if newer == manifest:
            break
        manifest = newer
    complaint = [manifest[1]] if manifest[1] else []
    card, trouble = read_card(folder)
    planned, unfinished = _planned(folder, _once(tables))
    values: list[Row] = [decode(table, row)[1] for table, row in planned]
    return Stored(
        folder,
        card,
        [value for value in values if isinstance(value, Instance)],
        [value for value in values if isinstance(value, Prediction)],
        [value for value in values if isinstance(value, Highlight)],
        [value for value in values if isinstance(value, Skip)],
        [value for value in values if isinstance(value, Score)],
        (*complaint, *damaged, *trouble, *unfinished),
        [value for value in values if isinstance(value, Alignment)],
        [value for value in values if isinstance(value, Nle)],
    )


def read_rows(folder: Path) -> Iterator[tuple[str, Row]]:
    """All rows that a folder holds, planned or not, with their keys; none if there is no run yet."""
    folder = Path(folder)
    manifest = find_manifest(folder)[0] if folder.is_dir() else None
    if manifest is not None:
        yield from (decode(table, row) for table, row in _tables(folder, manifest)[0])


def read_keys(folder: Path) -> frozenset[str]:
    """The keys of all rows that a folder holds, planned or not; none if there is no run yet."""
    folder = Path(folder)
    manifest = find_manifest(folder)[0] if folder.is_dir() else None
    if manifest is None:
        return frozenset()
    return frozenset(row["key"] for _, row in _tables(folder, manifest)[0])


def _planned(folder: Path, rows: Iterable[tuple[TableName, Plain]]) -> tuple[list[tuple[TableName, Plain]], list[str]]:
    """The rows that the plan names, in its order, and how many of them are missing; all rows where there is no plan."""
    try:
        plan = (folder / PLAN).read_text("utf-8").split()
    except FileNotFoundError:
        return list(rows), []
    order = {key: place for place, key in enumerate(plan)}
    found = sorted((row for row in rows if row[1]["key"] in order), key=lambda item: order[item[1]["key"]])
    missing = len(order) - len(found)
    told = f"the run is not finished: {missing} of {len(order)} rows are not there; the command that began it goes on"
    return found, [told] if missing else []


def _manifest(folder: Path) -> tuple[Manifest, str | None]:
    manifest, complaint = find_manifest(folder)
    if manifest is None:
        raise UserError(f"{folder} is not a run: it has no manifest.json")
    return manifest, complaint


def _tables(folder: Path, manifest: Manifest) -> tuple[list[tuple[TableName, Plain]], list[str]]:
    """All rows that can be read, and what is wrong with the rest. The journal first: it is what may vanish."""
    damaged: list[str] = []
    newest: list[tuple[TableName, Plain]] = []
    try:
        contents = read_journal(folder / manifest.journal)
        newest = [unpack(payload) for payload in contents.payloads]
        if contents.rotten:
            damaged.append(f"{manifest.journal} is damaged at byte {contents.end}; the rows behind it can't be read")
    except Damaged as error:
        damaged.append(str(error))
    rows: list[tuple[TableName, Plain]] = []
    for shard in manifest.shards:
        try:
            rows += [(shard.table, row) for row in read_shard(folder, shard)]
        except Damaged as error:
            damaged.append(str(error))
    return rows + newest, damaged


def _once(rows: list[tuple[TableName, Plain]]) -> Iterator[tuple[TableName, Plain]]:
    """The rows by position, the first of each key."""
    seen: set[str] = set()
    for table, row in sorted(rows, key=lambda item: item[1]["position"]):
        if row["key"] not in seen:
            seen.add(row["key"])
            yield table, row


def read_card(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The run card, empty if there is none, and what is wrong with it."""
    try:
        card = json.loads((folder / CARD).read_bytes())
    except FileNotFoundError:
        return {}, []
    except (OSError, ValueError):
        return {}, [f"{CARD} is damaged"]
    return (card, []) if isinstance(card, dict) else ({}, [f"{CARD} is damaged"])
