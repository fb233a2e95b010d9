"""The folder of a run: its files, whether a folder is a run, and its repair after a kill or damage."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from verax.store.codec import unescape
from verax.store.files import TEMPORARY, replace_file, sync_folder
from verax.store.journal import Journal, begin_journal, read_journal, unpack
from verax.store.keyset import KeySet
from verax.store.shards import (
    INDEX,
    SHARDS,
    Damaged,
    Shard,
    ShardIndex,
    journal_number,
    read_index,
    read_shard,
    shard_table,
)
from verax.types import UserError

LOCK = "lock"
CARD = "run.json"
PLAN = "plan.txt"
QUARANTINE = "quarantine"


def prepare_folder(folder: Path) -> None:
    """Create the folder if it does not exist; reject one that holds other files, before anything is written to it."""
    try:
        _make_durably(folder)
        names = {path.name for path in folder.iterdir()}
    except (FileExistsError, NotADirectoryError) as error:
        raise UserError(f"{folder} cannot be a run: it is a file, or below a file; name a folder") from error
    except OSError as error:
        raise UserError(f"cannot use {folder} for a run: {error.strerror}") from error
    if not (_is_run(names) or _is_unfinished_start(names)):
        other = sorted(names)[0]
        raise UserError(f"{folder} is not a run and contains other files ({other!r}); name a new or empty folder")


def find_index(folder: Path) -> tuple[ShardIndex | None, str | None]:
    """The index of a run (None if the run has not begun), and what was wrong with it, if anything was.

    An index that is missing or damaged is rebuilt from the first record of the newest journal, which lists the same
    shards: a journal is begun only after they are safe on the disk.
    """
    try:
        return read_index(folder), None
    except Damaged as error:
        problem = str(error)
    journals = sorted((number, path) for path in folder.iterdir() if (number := journal_number(path.name)) is not None)
    for _, path in reversed(journals):
        try:
            return read_journal(path).index, f"{problem}; it was rebuilt from {path.name}"
        except Damaged:
            continue
    if not journals and not (folder / INDEX).exists():
        return None, None
    raise UserError(f"the run {folder} cannot be opened: {problem}, and it cannot be rebuilt from a journal")


@dataclass
class PresentRows:
    """Rows that a run holds: their keys, and the position of the next row."""

    keys: KeySet = field(default_factory=KeySet)
    position: int = 0

    def add_shard(self, heads: pa.Table) -> None:
        """Count the rows of a shard, given their keys and positions."""
        self.keys.update(heads["key"])
        self.position = max(self.position, 1 + pc.max(heads["position"]).as_py())

    def add_payload(self, payload: bytes) -> bool:
        """Count a row of the journal; False if its key is present already."""
        _, row = unpack(payload)
        key = unescape(row["key"])
        if key in self.keys:
            return False
        self.keys.add(key)
        self.position = max(self.position, row["position"] + 1)
        return True


@dataclass(frozen=True)
class OpenedRun:
    """A run that was repaired where necessary.

    Args:
        index: lists intact shards only.
        journal: open after its last complete record.
        present: rows of both.
        repaired: what was done, a line each.
    """

    index: ShardIndex
    journal: Journal
    present: PresentRows
    repaired: tuple[str, ...]


def open_run(folder: Path) -> OpenedRun:
    """Open a run and repair it. After a failure half-way it can be called again."""
    index, problem = find_index(folder)
    repaired = [problem] if problem else []
    present, intact = PresentRows(), []
    for shard in () if index is None else index.shards:
        try:
            present.add_shard(read_shard(folder, shard, ["key", "position"]))
            intact.append(shard)
        except Damaged as error:
            repaired.append(_set_aside(folder, shard, str(error)))
    whole = replace(index or ShardIndex(), shards=tuple(intact))
    repaired += _repair_journal(folder, whole, new=index is None)
    if problem or whole != index:
        replace_file(folder / INDEX, whole.to_bytes())
    for path in _leftovers(folder, whole):
        path.unlink()
    journal = Journal(folder / whole.journal)
    journal.keep(present.add_payload)
    return OpenedRun(whole, journal, present, tuple(repaired))


def _set_aside(folder: Path, shard: Shard, problem: str) -> str:
    kept = _quarantine(folder, folder / SHARDS / shard.name)
    return f"{problem}; its {shard.rows} rows will be computed again{kept}"


def _quarantine(folder: Path, path: Path) -> str:
    if not path.exists():
        return ""
    (folder / QUARANTINE).mkdir(exist_ok=True)
    path.replace(folder / QUARANTINE / path.name)
    sync_folder(folder / QUARANTINE)
    return f"; the file is kept in {QUARANTINE}/"


def _repair_journal(folder: Path, index: ShardIndex, *, new: bool) -> list[str]:
    """Make sure that the journal has a complete beginning, and say what of it will be cut."""
    try:
        contents = read_journal(folder / index.journal)
    except Damaged as error:
        kept = _quarantine(folder, folder / index.journal)
        begin_journal(folder, index)
        return [] if new else [f"{error}; rows that were not sealed yet will be computed again{kept}"]
    if not contents.torn:
        return []
    what = "a damaged record and all records after it" if contents.damaged else "an incomplete record"
    kept = f"the {len(contents.payloads)} rows before byte {contents.end} are kept"
    return [f"{index.journal}: {what} ({contents.torn} bytes) was removed; {kept}"]


def _leftovers(folder: Path, index: ShardIndex) -> list[Path]:
    """Files of verax that the index does not list: a process that was killed left them."""
    known = {index.journal} | {shard.name for shard in index.shards}
    return [
        path
        for place in (folder, folder / SHARDS)
        if place.is_dir()
        for path in place.iterdir()
        if path.name not in known and (_is_temporary(path.name) or _is_data(path.name))
    ]


def _make_durably(folder: Path) -> None:
    """Create a folder that survives a power cut together with the rows in it."""
    if folder.is_dir():
        return
    _make_durably(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def _is_run(names: set[str]) -> bool:
    return INDEX in names or any(journal_number(name) is not None for name in names)


def _is_unfinished_start(names: set[str]) -> bool:
    """Whether a folder holds only what a run leaves that was killed before its first journal existed."""
    return all(name == LOCK or _is_temporary(name) for name in names)


def _is_data(name: str) -> bool:
    return journal_number(name) is not None or shard_table(name) is not None


def _is_temporary(name: str) -> bool:
    whole = name.removesuffix(TEMPORARY)
    return whole != name and (whole in {INDEX, CARD, PLAN} or _is_data(whole))
