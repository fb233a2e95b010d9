"""Writing a run: rows are appended one by one; none is lost, none is stored twice."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import re
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

from verax.store.codec import unescape
from verax.store.files import DiskFullRetry, remove_file, replace_by, replace_file
from verax.store.folder import LOCK, open_run, prepare_folder
from verax.store.interrupt import check_interrupted
from verax.store.journal import Journal, begin_journal, key_in, pack, unpack
from verax.store.keys import hash_bytes
from verax.store.lock import Lock
from verax.store.read import read_card
from verax.store.shards import (
    CARD,
    INDEX,
    PLAN,
    SHARDS,
    Damaged,
    FileHash,
    Shard,
    ShardIndex,
    merge_shards,
    read_shard,
    write_shards,
)
from verax.store.tables import Row, TableName, decode, encode
from verax.types import UserError

SYNC_ROWS = 32
SYNC_SECONDS = 5.0
SEAL_ROWS = 4096
SEAL_BYTES = 64 * 2**20
MANY_SHARDS = 64
"""Shards with few rows are merged when a run is opened that has more of them."""
_TICK = 1.0
_BLOCK = 4096
_LOG = logging.getLogger("verax")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Store:
    """A run that is open for writing, by this process alone.

    A row is acknowledged once it is safely on the disk: after `flush`, every 32 rows, and 5 seconds after it was
    appended. Use it as a context manager, or call `close`.
    """

    def __init__(
        self,
        folder: Path,
        lock: Lock,
        retry: DiskFullRetry,
        say: Callable[[str], None],
        seal_every: int,
        *,
        rebuild: bool,
    ) -> None:
        opened = retry(folder, _BLOCK, lambda: open_run(folder, rebuild=rebuild))
        self.folder = folder
        self.repaired = opened.repaired
        self._lock = lock
        self._retry_while_disk_full = retry
        self._say = say
        self._seal_every = seal_every
        self._index = opened.index
        self._journal = opened.journal
        self._keys = opened.keys
        self._position = opened.position
        self._sealing = False
        self._guard = threading.RLock()
        self._closing = threading.Event()
        self._clock = threading.Thread(target=self._sync_in_time, name="verax-store", daemon=True)
        self._clock.start()
        self._retry_while_disk_full(folder / SHARDS, _BLOCK, self._compact)

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        patience: float = 600.0,
        say: Callable[[str], None] = _LOG.warning,
        seal_every: int = SEAL_ROWS,
        rebuild: bool = False,
    ) -> Store:
        """Open a run, or begin one in a new or empty folder; damage is repaired.

        Args:
            patience: seconds to wait for space on a full disk.
            say: called with one line when the disk is full and when writing continues.
            seal_every: number of rows in the journal that are sealed into shards.
            rebuild: rebuild a run from its shards if `manifest.json` and the journal are lost.
        """
        folder = Path(folder)
        retry = DiskFullRetry(patience, say)
        prepare_folder(folder, rebuild=rebuild)
        lock = retry(folder / LOCK, _BLOCK, lambda: Lock.take(folder / LOCK))
        try:
            return cls(folder, lock, retry, say, seal_every, rebuild=rebuild)
        except BaseException:
            lock.release()
            raise

    def _compact(self) -> None:
        """Merge small shards if there are many, so that opening a run that was continued often stays quick.

        The merged shards are safe on the disk and in the index before the small ones are removed.
        """
        small = [shard for shard in self._index.shards if shard.rows < self._seal_every // 2]
        if len(small) <= MANY_SHARDS:
            return
        index = self._index
        merged = merge_shards(self.folder, index.number, small, self._seal_every)
        kept = tuple(shard for shard in index.shards if shard not in small)
        self._index = replace(index, shards=(*kept, *merged))
        self._seal(self._index.files)
        for shard in small:
            if shard not in merged:
                remove_file(self.folder / SHARDS / shard.name)

    @property
    def keys(self) -> AbstractSet[str]:
        """Keys of all rows; the set grows as rows are appended."""
        return self._keys

    @property
    def card(self) -> dict[str, Any]:
        """The run card; empty if none was written."""
        return read_card(self.folder, self._index)[0]

    def append(self, key: str, value: Row) -> None:
        """Add a row. It is acknowledged by the next `flush`, or soon after.

        Raises:
            ValueError: the key is present already, or a number in the row is not finite. Nothing was written.
        """
        with self._guard:
            self._must_be_open()
            check_interrupted()
            if self._sealing:
                self._seal()
            if key in self._keys:
                raise ValueError(f"the run already has a row with the key {key!r}")
            payload = pack(*encode(key, self._position, value))
            journal = self._journal
            self._keys.add(key)
            try:
                self._retry_while_disk_full(journal.path, len(payload), lambda: journal.append(payload))
            except BaseException:
                # After a Ctrl-C the row may be in the journal; then its key must stay, or it could be added again.
                if payload not in journal.payloads[-1:]:
                    self._keys.discard(key)
                raise
            self._position += 1
            if journal.unsynced >= SYNC_ROWS or journal.unsynced_for >= SYNC_SECONDS:
                self.flush()
            if len(journal.payloads) >= self._seal_every or journal.size >= SEAL_BYTES:
                self._seal()

    def rows(self, wanted: Container[str] | None = None, table: TableName | None = None) -> Iterator[tuple[str, Row]]:
        """Keys and rows that are present at the first call of `next`; rows may be appended meanwhile.

        Args:
            wanted: keys of the rows to read; all by default.
            table: the only table to read; all by default.
        """
        with self._guard:
            self._must_be_open()
            index, payloads = self._index, list(self._journal.payloads)
        for shard in index.shards:
            if table in {None, shard.table}:
                yield from self._rows_of(shard, wanted)
        for payload in payloads:
            key = key_in(payload)
            if wanted is not None and key is not None and unescape(key) not in wanted:
                continue
            name, row = unpack(payload)
            if table in {None, name} and (wanted is None or unescape(row["key"]) in wanted):
                yield decode(name, row)

    def _rows_of(self, shard: Shard, wanted: Container[str] | None) -> Iterator[tuple[str, Row]]:
        try:
            rows = read_shard(self.folder, shard, ["key"] if wanted is not None else None)
            if wanted is not None:
                numbers = [place for place, key in enumerate(rows["key"].to_pylist()) if unescape(key) in wanted]
                if not numbers:
                    return
                rows = read_shard(self.folder, shard).take(numbers)
        except Damaged as error:
            raise UserError(f"{self.folder}: {error}; start the same command again to repair the run") from error
        yield from (decode(shard.table, row) for row in rows.to_pylist())

    def flush(self) -> None:
        """Force every row to the disk: all rows are acknowledged when this returns."""
        with self._guard:
            self._must_be_open()
            journal = self._journal
            if journal.unsynced:
                size = sum(map(len, journal.payloads[-journal.unsynced :]))
                self._retry_while_disk_full(journal.path, size, journal.sync)

    def seal(self) -> None:
        """Turn the rows of the journal into shards, and begin a new journal."""
        with self._guard:
            self._must_be_open()
            self._seal()

    def write_card(self, card: Mapping[str, object]) -> None:
        """Write `run.json` atomically; a number that is not finite is rejected."""
        text = json.dumps(dict(card), ensure_ascii=False, allow_nan=False, indent=1)
        # A lone surrogate can only be inside a JSON string, where its escape means the same.
        text = _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
        data = text.encode()

        def write(path: Path) -> FileHash:
            path.write_bytes(data)
            return FileHash(hash_bytes(data), content=text)

        self._replace(CARD, len(data), write)

    def write_plan(self, keys: Iterable[str]) -> None:
        """Write `plan.txt`: the keys that the run consists of now, in order.

        Rows with other keys (of other weights at the same path, of an earlier spec) stay in the run, to be used again
        if they are planned again, but readers of the run do not see them.

        Args:
            keys: written one by one as they come. After a full disk they are iterated again, so an iterator, which
                can be used only once, is read into memory first.
        """
        again = list(keys) if isinstance(keys, Iterator) else keys

        def write(path: Path) -> FileHash:
            digest = hashlib.sha256()
            with path.open("wb") as file:
                for key in again:
                    digest.update(line := f"{key}\n".encode())
                    file.write(line)
            return FileHash(digest.hexdigest())

        self._replace(PLAN, _BLOCK, write)

    def _replace(self, name: str, size: int, write: Callable[[Path], FileHash]) -> None:
        """Replace a file after its hash; until then the index accepts the content before, so no kill is damage."""

        def record(file: FileHash) -> None:
            files = self._index.files
            before = files[name].sha256 if name in files else ""
            self._seal({**files, name: replace(file, before=before)})

        with self._guard:
            self._must_be_open()
            path = self.folder / name
            self._retry_while_disk_full(path, size, lambda: replace_by(path, write, record))
            self._seal({**self._index.files, name: self._index.files[name].settled})

    def close(self) -> None:
        """Seal the journal and release the lock. A second call does nothing."""
        if not self._lock.held:
            return
        try:
            self.seal()
        finally:
            self._closing.set()
            with self._guard:
                self._journal.close()
                self._lock.release()
            self._clock.join()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except UserError as failure:
            # The first error is the one to raise: a Ctrl-C on a full disk must stay a Ctrl-C.
            if error is None:
                raise
            self._say(str(failure))

    def _seal(self, files: Mapping[str, FileHash] | None = None) -> None:
        """Write the shards, then the new journal, then the index that lists both; then delete the old journal.

        The index also gets new hashes of files, if they are given.

        A kill between any two of these steps leaves a complete run: the old index is valid until the new one is
        renamed, and files that it does not list are adopted or set aside when the run is opened next. After an
        interruption, this is repeated before anything else is appended.
        """
        self.flush()
        old = self._journal
        if not old.payloads and files is None:
            return
        self._sealing = True
        files = self._index.files if files is None else files
        self._index, self._journal = self._retry_while_disk_full(
            self.folder / SHARDS, old.size, lambda: self._write_sealed(files)
        )
        self._sealing = False
        old.close()
        # If this fails, the next process that opens the run removes it.
        with contextlib.suppress(OSError):
            old.path.unlink()

    def _write_sealed(self, files: Mapping[str, FileHash]) -> tuple[ShardIndex, Journal]:
        number = self._index.number
        shards = write_shards(self.folder, number, map(unpack, self._journal.payloads))
        index = ShardIndex(number + 1, (*self._index.shards, *shards), files)
        journal = begin_journal(self.folder, index)
        replace_file(self.folder / INDEX, index.to_bytes())
        return index, Journal(journal)

    def _sync_in_time(self) -> None:
        """Acknowledge rows while the run computes for a long time without appending any."""
        while not self._closing.wait(_TICK):
            with self._guard:
                if self._lock.held and self._journal.unsynced_for > SYNC_SECONDS - _TICK:
                    # Rows stay unacknowledged if this fails: the next flush fails too, and reports it.
                    with contextlib.suppress(OSError, UserError):
                        self._journal.sync()

    def _must_be_open(self) -> None:
        if not self._lock.held:
            raise ValueError(f"the run {self.folder} is closed for writing")
