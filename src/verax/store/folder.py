"""The folder of a run: its files, whether a folder is a run, and its repair after a kill or damage."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow.compute as pc

from verax.store.artifact import read_json
from verax.store.codec import unescape
from verax.store.files import make_folder, original_name, remove_file, replace_file, sync_folder
from verax.store.journal import Journal, begin_journal, pack, read_header, read_journal, rescue_rows, unpack
from verax.store.keys import hash_bytes
from verax.store.keyset import KeySet
from verax.store.lock import check_locks
from verax.store.shards import (
    CARD,
    INDEX,
    PLAN,
    SHARDS,
    Damaged,
    FileHash,
    Shard,
    ShardIndex,
    check_file,
    identify_shard,
    journal_number,
    read_index,
    read_shard,
    shard_number,
    shard_table,
)
from verax.types import UserError

LOCK = "lock"
QUARANTINE = "quarantine"
AGENTS = "agents"
"""Folder of the answers of the agents of simulatability."""


def prepare_folder(folder: Path, *, rebuild: bool = False) -> None:
    """Create the folder if it does not exist; reject one that holds other files, before anything is written to it.

    Args:
        rebuild: accept a folder that has nothing but shards.
    """
    try:
        _make_durably(folder)
        names = {path.name for path in folder.iterdir()}
    except (FileExistsError, NotADirectoryError) as error:
        raise UserError(f"{folder} cannot be a run: it is a file, or below a file; name a folder") from error
    except OSError as error:
        raise UserError(f"cannot use {folder} for a run: {error.strerror}") from error
    if _is_run(names) or _is_unfinished_start(names):
        return
    if any(is_data(path.name) for path in _files(folder / SHARDS)):
        if not rebuild:
            raise UserError(f"{folder} has shards of a run and no {INDEX}; verax repair {folder} rebuilds it from them")
    else:
        other = sorted(names)[0]
        raise UserError(f"{folder} is not a run and contains other files ({other!r}); name a new or empty folder")


def find_index(folder: Path, *, rebuild: bool = False) -> tuple[ShardIndex | None, str | None]:
    """The index of a run (None if the run has not begun), and what was wrong with it, if anything was.

    A journal begins with the index that was valid then, and is begun only after the shards in it are safe on the disk.
    So the first record of the newest journal replaces an index that is missing, damaged, or older than the journal.

    Args:
        rebuild: without an intact journal, return an empty index, to which the shards in the folder can be added.
    """
    index, problem = None, None
    try:
        index = read_index(folder)
    except Damaged as error:
        problem = str(error)
    journals = sorted((number, path) for path in folder.iterdir() if (number := journal_number(path.name)) is not None)
    for number, path in reversed(journals):
        if index is not None and number <= index.number:
            return index, None
        try:
            begun = read_header(path)
        except Damaged:
            continue
        if index is None or all((folder / SHARDS / shard.name).is_file() for shard in begun.shards):
            return begun, problem and f"{problem}; it was rebuilt from {path.name}"
    if index is not None or not (journals or (folder / INDEX).exists() or rebuild):
        return index, None
    if not rebuild:
        advice = f"verax repair {folder} rebuilds it from the shards"
        raise UserError(f"the run {folder} cannot be opened: {problem}, and no journal has a copy of it; {advice}")
    newest = max((shard_number(path.name) for path in _files(folder / SHARDS)), default=0)
    return ShardIndex(max([newest, *(number for number, _ in journals)]) + 1), f"{problem}; it was rebuilt from shards"


@dataclass(frozen=True)
class OpenedRun:
    """A run that was repaired where necessary.

    Args:
        index: lists intact shards only.
        journal: open after its last complete record.
        keys: of the rows of both.
        position: of the next row.
        repaired: what was done, a line each.
    """

    index: ShardIndex
    journal: Journal
    keys: KeySet
    position: int
    repaired: tuple[str, ...]


def open_run(folder: Path, *, rebuild: bool = False) -> OpenedRun:
    """Open a run and repair it. After a failure half-way it can be called again.

    Args:
        rebuild: rebuild a lost index from the shards, and accept unlisted shards whose names have no hash.
    """
    check_locks(folder / SHARDS / "x")  # files in it may be removed or set aside
    found, problem = find_index(folder, rebuild=rebuild)
    repaired = [problem] if problem else []
    keys, position, intact = KeySet(), 0, []
    for shard in () if found is None else found.shards:
        try:
            heads = read_shard(folder, shard, ["key", "position"])
        except Damaged as error:
            kept = _quarantine(folder, folder / SHARDS / shard.name)
            repaired.append(f"{error}; its {shard.rows} rows will be computed again{kept}")
            continue
        keys.update(heads["key"])
        position = max(position, 1 + pc.max(heads["position"]).as_py())
        intact.append(shard)
    index = replace(found or ShardIndex(), shards=tuple(intact))
    unlisted = _Unlisted(folder, index, keys, rebuild=rebuild)
    files, lines = _repair_files(folder, index.files)
    lines += _set_agents_aside(folder)
    index = replace(index, shards=(*index.shards, *unlisted.shards), files=files)
    repaired += unlisted.lines + lines
    if _differs(folder, index):
        replace_file(folder / INDEX, index.to_bytes())
    lines = _repair_journal(folder, index, keys, max(position, unlisted.position), unlisted.payloads)
    repaired += (lines if found is not None else []) + unlisted.remove()
    journal = Journal(folder / index.journal)
    rows = [unpack(payload)[1] for payload in journal.payloads]
    for row in rows:
        keys.add(unescape(row["key"]))
    position = max([position, unlisted.position, *(row["position"] + 1 for row in rows)])
    return OpenedRun(index, journal, keys, position, tuple(repaired))


def _differs(folder: Path, index: ShardIndex) -> bool:
    try:
        return read_index(folder) != index
    except Damaged:
        return True


class _Unlisted:
    """Data of verax in a folder that its index does not list.

    Most were left by a killed process and hold nothing new. Others belong to an index that was lost.

    Args:
        keys: of the rows in listed shards; those of adopted shards are added.

    Attributes:
        shards: intact ones whose rows are all new: they are adopted.
        position: of the row after theirs.
        payloads: of rows in other intact files; some of them may be new.
        lines: what was done, a line each.
    """

    def __init__(self, folder: Path, index: ShardIndex, keys: KeySet, *, rebuild: bool) -> None:
        self._folder, self._useless, self._aside = folder, list[Path](), list[Path]()
        self._unsealed = _unsealed_keys(folder / index.journal)
        self.shards: list[Shard] = []
        self.position = 0
        self.payloads: list[bytes] = []
        self.lines: list[str] = []
        known = {index.journal} | {shard.name for shard in index.shards}
        for path in sorted([*_files(folder), *_files(folder / SHARDS)]):
            if _is_temporary(path.name):
                self._useless.append(path)
            elif path.name not in known and is_data(path.name):
                try:
                    if path.is_symlink() or not path.is_file():
                        raise Damaged(f"{path.name} is not a regular file")
                    self._add_journal(path) if path.parent == folder else self._add_shard(path, keys, rebuild)
                except Damaged as error:
                    self.lines.append(f"{error}{_quarantine(folder, path)}")

    def _add_journal(self, path: Path) -> None:
        try:
            contents = read_journal(path)
        except Damaged:
            rescued = rescue_rows(path)
            if not rescued:
                raise
            self.payloads += rescued
            self._aside.append(path)
            return
        self.payloads += contents.payloads + contents.rescued
        (self._aside if contents.rescued else self._useless).append(path)

    def _add_shard(self, path: Path, keys: KeySet, rebuild: bool) -> None:
        shard = identify_shard(path, unnamed=rebuild)
        rows = read_shard(self._folder, shard)
        own = {unescape(key) for key in rows["key"].to_pylist()}
        if any(key in keys for key in own):
            self.payloads += (pack(shard.table, row) for row in rows.to_pylist())
            self._aside.append(path)
            return
        keys.update(rows["key"])
        self.position = max(self.position, 1 + pc.max(rows["position"]).as_py())
        self.shards.append(shard)
        if not own <= self._unsealed:  # otherwise a kill came between the shards and the index
            self.lines.append(f"{SHARDS}/{path.name} was not in {INDEX}; its {shard.rows} rows are intact and are used")

    def remove(self) -> list[str]:
        """Remove journals whose rows are stored elsewhere now and incomplete files, and move other files aside."""
        for path in self._useless:
            remove_file(path)
        return [
            f"{path.relative_to(self._folder)} was not in {INDEX}; its rows are stored elsewhere"
            f"{_quarantine(self._folder, path)}"
            for path in self._aside
        ]


def _unsealed_keys(journal: Path) -> set[str]:
    try:
        return {unescape(unpack(payload)[1]["key"]) for payload in read_journal(journal).payloads}
    except Damaged:
        return set()


def _repair_files(folder: Path, files: Mapping[str, FileHash]) -> tuple[dict[str, FileHash], list[str]]:
    """Rebuild the run card from its copy, set a damaged plan aside, and return the hashes and what was done."""
    hashes, lines = dict(files), []
    for name, file in files.items():
        kept = None
        try:
            data = check_file(folder, name, file)
        except Damaged as error:
            data, kept = None, _quarantine(folder, folder / name)
            rebuilt = "the same command writes it again" if file.content is None else "it was rebuilt from its copy"
            lines.append(f"{error}; {rebuilt}{kept}")
        if file.content is not None and (kept is not None or file.before is not None):
            replace_file(folder / name, file.content.encode())
        elif file.before is not None and kept is None and (data is None or hash_bytes(data) != file.sha256):
            hashes[name] = replace(file, sha256=file.before)  # a kill came before the new plan
        hashes[name] = hashes[name].settled
        if not hashes[name].sha256:
            del hashes[name]
    return hashes, lines


def _set_agents_aside(folder: Path) -> list[str]:
    """Move damaged answers of agents aside, and say so: these agents are trained again when they are needed."""
    lines = []
    for path in sorted((folder / AGENTS).glob("*.json")):
        try:
            read_json(path)
        except UserError:
            name = f"{AGENTS}/{path.name}"
            lines.append(f"{name} is damaged; its agent is trained again when needed{_quarantine(folder, path)}")
    return lines


def _quarantine(folder: Path, path: Path) -> str:
    """Move a damaged file aside, and say so; nothing happens if it is missing."""
    if not os.path.lexists(path):
        return ""
    make_folder(folder / QUARANTINE)
    aside, number = folder / QUARANTINE / path.name, 1
    while os.path.lexists(aside):
        number += 1
        aside = folder / QUARANTINE / f"{path.name}.{number}"
    check_locks(path)
    check_locks(aside)
    path.rename(aside)
    sync_folder(folder / QUARANTINE)
    return f"; the file is kept in {QUARANTINE}/"


def _repair_journal(folder: Path, index: ShardIndex, keys: KeySet, position: int, others: list[bytes]) -> list[str]:
    """Make sure that the journal begins with the index and holds each row once that is in no shard.

    Args:
        position: of the row after those in shards.
        others: payloads of rows from other files; those that are stored nowhere else are added.
    """
    path, lines = folder / index.journal, []
    try:
        contents = read_journal(path)
        present, header = contents.payloads, contents.index
        others = contents.rescued + others
        if contents.rescued:
            make_folder(folder / QUARANTINE)
            replace_file(folder / QUARANTINE / index.journal, path.read_bytes())
        if contents.torn:
            what = "a damaged record" if contents.rescued else "an incomplete record"
            whole = len(present) + len(contents.rescued)
            lines.append(f"{index.journal}: {what} at byte {contents.end} was removed; {whole} rows are kept")
    except Damaged as error:
        present, header = [], None
        rescued = rescue_rows(path) if path.is_file() else []
        others = rescued + others
        kept = _quarantine(folder, path)
        rest = f"{len(rescued)} rows are kept, and others that were not sealed yet will be computed again"
        lines.append(f"{error}; {rest}{kept}")
    rows: dict[str, bytes] = {}
    for payload in present:
        _, row = unpack(payload)
        position = max(position, row["position"] + 1)
        if (key := unescape(row["key"])) not in keys:
            rows.setdefault(key, payload)
    for payload in others:
        table, row = unpack(payload)
        if (key := unescape(row["key"])) not in keys and key not in rows:
            rows[key] = pack(table, {**row, "position": position})
            position += 1
    payloads = list(rows.values())
    if header != index or payloads != present:
        begin_journal(folder, index, payloads)
    return lines


def _files(place: Path) -> list[Path]:
    return [path for path in place.iterdir() if not path.is_dir()] if place.is_dir() else []


def _make_durably(folder: Path) -> None:
    """Create a folder that survives a power cut together with the rows in it."""
    if folder.is_dir():
        return
    _make_durably(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run, or what is left of one."""
    files = [*_files(folder), *_files(folder / SHARDS)]
    return any(path.name == INDEX or is_data(path.name) for path in files)


def _is_run(names: set[str]) -> bool:
    return INDEX in names or any(journal_number(name) is not None for name in names)


def _is_unfinished_start(names: set[str]) -> bool:
    """Whether a folder holds only the files of a run that was killed before its first journal existed."""
    return all(name == LOCK or _is_temporary(name) for name in names)


def is_data(name: str) -> bool:
    """Whether a file of this name is a journal or a shard."""
    return journal_number(name) is not None or shard_table(name) is not None


def _is_temporary(name: str) -> bool:
    whole = original_name(name)
    return whole is not None and (whole in {INDEX, CARD, PLAN} or is_data(whole))
