"""The writer of a run: one row after the other, none lost, none twice."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from pathlib import Path
from types import TracebackType

from verax.store.codec import unescape
from verax.store.files import replace_file
from verax.store.journal import Journal, begin_journal, key_in, pack, unpack
from verax.store.layout import CARD, LOCK, PLAN, prepare_folder
from verax.store.lock import Lock
from verax.store.manifest import NAME as MANIFEST
from verax.store.manifest import Damaged, Manifest
from verax.store.patience import Patience
from verax.store.repair import open_sound
from verax.store.shards import FOLDER as SHARDS
from verax.store.shards import read_shard, write_shards
from verax.store.tables import Row, decode, encode
from verax.types import UserError

SYNC_ROWS = 32
SYNC_SECONDS = 5.0
SEAL_ROWS = 4096
SEAL_BYTES = 64 * 2**20
_TICK = 1.0
_A_BLOCK = 4096
_LOG = logging.getLogger("verax")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Store:
    """A run that is open for writing, by this process alone.

    A row is acknowledged once it is on the disk for good: after `flush`, every 32 rows, and 5 seconds after it was
    appended. Use it as a context manager, or call `close`.
    """

    def __init__(
        self, folder: Path, lock: Lock, patience: Patience, say: Callable[[str], None], seal_every: int
    ) -> None:
        sound = patience.retry_while_disk_full(folder, _A_BLOCK, lambda: open_sound(folder))
        self.folder = folder
        self.repaired = sound.repaired
        self._lock = lock
        self._patience = patience
        self._say = say
        self._seal_every = seal_every
        self._manifest = sound.manifest
        self._journal = sound.journal
        self._keys = sound.keys
        self._position = sound.position
        self._sealing = False
        self._guard = threading.RLock()
        self._closing = threading.Event()
        self._clock = threading.Thread(target=self._sync_in_time, name="verax-store", daemon=True)
        self._clock.start()

    @classmethod
    def open(
        cls,
        folder: Path,
        *,
        patience: float = 600.0,
        say: Callable[[str], None] = _LOG.warning,
        seal_every: int = SEAL_ROWS,
    ) -> Store:
        """Open a run, or begin one in a new or empty folder; what a killed process or a bad disk left is repaired.

        Args:
            folder: of the run.
            patience: for how many seconds to wait for room on a full disk.
            say: is told in one line when the disk is full and when it goes on.
            seal_every: how many rows the journal holds before they are sealed into shards.
        """
        folder = Path(folder)
        patient = Patience(patience, say)
        prepare_folder(folder)
        lock = patient.retry_while_disk_full(folder / LOCK, _A_BLOCK, lambda: Lock.take(folder / LOCK))
        try:
            return cls(folder, lock, patient, say, seal_every)
        except BaseException:
            lock.release()
            raise

    @property
    def keys(self) -> AbstractSet[str]:
        """The keys of all rows present; it grows as rows are appended."""
        return self._keys

    def append(self, key: str, value: Row) -> None:
        """Add a row. It is acknowledged by the next `flush`, or by itself soon after.

        Raises:
            ValueError: the key is present, or a number in the row is not finite. Nothing was written.
        """
        with self._guard:
            self._must_be_open()
            if self._sealing:
                self._seal()
            if key in self._keys:
                raise ValueError(f"the key {key!r} is in the run already")
            payload = pack(*encode(key, self._position, value))
            journal = self._journal
            self._keys.add(key)
            try:
                self._patience.retry_while_disk_full(journal.path, len(payload), lambda: journal.append(payload))
            except BaseException:
                # A Ctrl-C may come when the row is in already; then its key must stay, or it would come twice.
                if payload not in journal.payloads[-1:]:
                    self._keys.discard(key)
                raise
            self._position += 1
            if journal.unsynced >= SYNC_ROWS or journal.unsynced_for >= SYNC_SECONDS:
                self.flush()
            if len(journal.payloads) >= self._seal_every or journal.size >= SEAL_BYTES:
                self._seal()

    def rows(self, wanted: Container[str] | None = None) -> Iterator[tuple[str, Row]]:
        """All rows present when it is called first, with their keys; or those alone whose keys are wanted.

        Rows may be appended while it goes on.
        """
        with self._guard:
            self._must_be_open()
            manifest, payloads = self._manifest, list(self._journal.payloads)
        for shard in manifest.shards:
            try:
                rows = read_shard(self.folder, shard)
            except Damaged as error:
                raise UserError(f"{self.folder}: {error}; start the same command again to repair the run") from error
            for row in rows:
                if wanted is None or unescape(row["key"]) in wanted:
                    yield decode(shard.table, row)
        for payload in payloads:
            key = None if wanted is None else key_in(payload)
            if wanted is not None and key is not None and unescape(key) not in wanted:
                continue
            table, row = unpack(payload)
            if wanted is None or unescape(row["key"]) in wanted:
                yield decode(table, row)

    def flush(self) -> None:
        """Force every row to the disk: acknowledged when this returns."""
        with self._guard:
            self._must_be_open()
            journal = self._journal
            if journal.unsynced:
                needs = sum(map(len, journal.payloads[-journal.unsynced :]))
                self._patience.retry_while_disk_full(journal.path, needs, journal.sync)

    def seal(self) -> None:
        """Turn the rows of the journal into shards, and begin a new journal."""
        with self._guard:
            self._must_be_open()
            self._seal()

    def write_card(self, card: Mapping[str, object]) -> None:
        """Write `run.json`, whole or not at all; a number in it that is not finite is refused."""
        text = json.dumps(dict(card), ensure_ascii=False, allow_nan=False, indent=1)
        # Half of a surrogate pair stands inside a JSON string, where its escape means the same.
        data = _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text).encode()
        self._replace(CARD, data)

    def write_plan(self, keys: Iterable[str]) -> None:
        """Write `plan.txt`: the keys that the run consists of now, in order.

        Rows with other keys (of other weights at the same path, of an earlier spec) stay where they are, to be used
        again when they are planned again, but whoever reads the run does not see them.
        """
        self._replace(PLAN, "".join(f"{key}\n" for key in keys).encode())

    def _replace(self, name: str, data: bytes) -> None:
        with self._guard:
            self._must_be_open()
            path = self.folder / name
            self._patience.retry_while_disk_full(path, len(data), lambda: replace_file(path, data))

    def close(self) -> None:
        """Seal what is in the journal and let the next process write. Closing twice does no harm."""
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
        except UserError as trouble:
            # The first trouble is the one to tell about: a Ctrl-C on a full disk must stay a Ctrl-C.
            if error is None:
                raise
            self._say(str(trouble))

    def _seal(self) -> None:
        """Shards first, then the new journal, then the manifest that names both, then the old journal goes.

        Killed between any two of these, the run is whole: until the manifest is renamed the old one holds, and what it
        does not know is removed when the run is opened next. Interrupted between them, this is done again before
        anything else is appended.
        """
        self.flush()
        old = self._journal
        if not old.payloads:
            return
        self._sealing = True
        self._manifest, self._journal = self._patience.retry_while_disk_full(
            self.folder / SHARDS, old.size, self._write_sealed
        )
        self._sealing = False
        old.close()
        # If it stays, the next process to open the run removes it.
        with contextlib.suppress(OSError):
            old.path.unlink()

    def _write_sealed(self) -> tuple[Manifest, Journal]:
        number = self._manifest.number
        shards = write_shards(self.folder, number, map(unpack, self._journal.payloads))
        manifest = Manifest(number + 1, (*self._manifest.shards, *shards))
        journal = begin_journal(self.folder, manifest)
        replace_file(self.folder / MANIFEST, manifest.to_bytes())
        return manifest, Journal(journal)

    def _sync_in_time(self) -> None:
        """Acknowledge rows while the run computes for long and appends nothing."""
        while not self._closing.wait(_TICK):
            with self._guard:
                if self._lock.held and self._journal.unsynced_for > SYNC_SECONDS - _TICK:
                    # What fails here is still not acknowledged: it fails again, and is told, where the run can wait.
                    with contextlib.suppress(OSError):
                        self._journal.sync()

    def _must_be_open(self) -> None:
        if not self._lock.held:
            raise ValueError(f"the run {self.folder} is closed")
