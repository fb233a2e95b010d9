"""The journal: rows appended one by one, each with its length and CRC, so that a torn or damaged end is detected.

A record is the length of its payload (u32, little-endian), the CRC-32 of the payload (the same), and the payload, UTF-8
JSON. The first record is the shard index of the run when the journal was begun, from which a damaged `manifest.json` is
rebuilt. Every other one is `{"table": ..., "row": {...}}`.
"""

from __future__ import annotations

import json
import os
import re
import struct
import time
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from verax.store.codec import Plain
from verax.store.files import replace_file
from verax.store.lock import check_locks
from verax.store.shards import Damaged, ShardIndex, known_format, parse_json, read_whole
from verax.store.tables import TableName

_HEAD = struct.Struct("<II")
_KEY = re.compile(rb'\{"table":"\w+","row":\{"key":"([^"\\]*)"')
_LONGEST = 2**31


@dataclass(frozen=True, slots=True)
class JournalContents:
    """Complete records of a journal.

    Args:
        index: the shard index that the journal was begun with.
        payloads: of the rows, in order.
        end: where the last complete record ends.
        torn: number of bytes after it that are not a complete record.
        rescued: payloads of complete records after those bytes: if there are any, it was damage rather than an
            unfinished write.
    """

    index: ShardIndex
    payloads: list[bytes]
    end: int
    torn: int
    rescued: list[bytes]


def frame(payload: bytes) -> bytes:
    """Record of a payload."""
    return _HEAD.pack(len(payload), zlib.crc32(payload)) + payload


def pack(table: TableName, row: Plain) -> bytes:
    """Payload of a row. Floats are written so that they read back exactly."""
    body = {"table": table, "row": row}
    payload = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    if len(payload) >= _LONGEST:
        raise ValueError(f"a row of {len(payload)} bytes is too long to be stored")
    return payload


def unpack(payload: bytes) -> tuple[TableName, Plain]:
    """Table and row of a payload."""
    body = json.loads(payload)
    return body["table"], body["row"]


def key_in(payload: bytes) -> str | None:
    """Key of a payload's row without parsing the rest of it; None if all of it must be parsed."""
    match = _KEY.match(payload)
    return None if match is None else match[1].decode()


def begin_journal(folder: Path, index: ShardIndex, payloads: Iterable[bytes] = ()) -> Path:
    """Create the journal that an index names with the rows of some payloads, durably and atomically."""
    path = folder / index.journal
    replace_file(path, b"".join(map(frame, [json.dumps(index.as_json()).encode(), *payloads])))
    return path


def read_journal(path: Path) -> JournalContents:
    """All records; `Damaged` if the journal or its first record is missing."""
    data = read_whole(path)
    payloads: list[bytes] = []
    end = 0
    while (payload := _record(data, end)) is not None:
        payloads.append(payload)
        end += _HEAD.size + len(payload)
    if not payloads:
        raise Damaged(f"{path.name} has no complete first record")
    index = known_format(parse_json(payloads.pop(0), path), path)
    return JournalContents(index, payloads, end, len(data) - end, _rescue(data, end + 1))


def rescue_rows(path: Path) -> list[bytes]:
    """Payloads of the complete rows in a journal whose first record is damaged."""
    return _rescue(read_whole(path), 1)


def read_header(path: Path) -> ShardIndex:
    """The index that a journal was begun with; `Damaged` if the journal or its first record is missing."""
    payload = _record(read_whole(path), 0)
    if payload is None:
        raise Damaged(f"{path.name} has no complete first record")
    return known_format(parse_json(payload, path), path)


def _record(data: bytes, at: int) -> bytes | None:
    """Payload of the record at an offset, if it is complete; an empty one is not, since zeros would look like it."""
    if at + _HEAD.size > len(data):
        return None
    length, crc = _HEAD.unpack_from(data, at)
    if not 0 < length <= len(data) - at - _HEAD.size:
        return None
    payload = data[at + _HEAD.size : at + _HEAD.size + length]
    return payload if zlib.crc32(payload) == crc else None


def _rescue(data: bytes, at: int) -> list[bytes]:
    """Payloads of all complete records of rows from an offset on, wherever they begin."""
    payloads = []
    while at < len(data):
        payload = _record(data, at)
        if payload is not None and _KEY.match(payload):
            payloads.append(payload)
            at += _HEAD.size + len(payload)
        else:
            at += 1
    return payloads


class Journal:
    """The active journal, open for writing.

    Rows since the last fsync are kept until they are acknowledged: when an fsync fails, the system may have thrown them
    away, and they are written again from here.
    """

    def __init__(self, path: Path) -> None:
        contents = read_journal(path)
        self.path = path
        self.payloads = contents.payloads
        if os.lstat(path).st_nlink > 1:  # rows are written into the file: not into that of another name
            replace_file(path, path.read_bytes())
        self._descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW)
        self._end = contents.end
        self._synced_end = contents.end
        self._written = len(self.payloads)
        self._synced = len(self.payloads)
        self._unsynced_since: float | None = None
        try:
            self._cut()
            os.fsync(self._descriptor)
        except BaseException:
            self.close()
            raise

    @property
    def unsynced(self) -> int:
        """Number of rows that are not acknowledged yet."""
        return len(self.payloads) - self._synced

    @property
    def unsynced_for(self) -> float:
        """Seconds since the oldest row that is not acknowledged yet was appended."""
        return 0.0 if self._unsynced_since is None else time.monotonic() - self._unsynced_since

    @property
    def size(self) -> int:
        """Bytes of all complete records."""
        return self._end

    def append(self, payload: bytes) -> None:
        """Hand one more row to the system; it is acknowledged by the next `sync`."""
        self._write([*self.payloads[self._written :], payload])
        self.payloads.append(payload)
        self._written = len(self.payloads)
        if self._unsynced_since is None:
            self._unsynced_since = time.monotonic()

    def sync(self) -> None:
        """Force all rows to the disk."""
        self._write(self.payloads[self._written :])
        self._written = len(self.payloads)
        try:
            os.fsync(self._descriptor)
        except OSError:
            self._written, self._end = self._synced, self._synced_end
            self._cut()
            raise
        self._synced, self._synced_end = self._written, self._end
        self._unsynced_since = None

    def close(self) -> None:
        """Close the file, as it is."""
        os.close(self._descriptor)

    def _write(self, payloads: list[bytes]) -> None:
        """Write records after the last complete one, or leave the file as it was."""
        data = b"".join(frame(payload) for payload in payloads)
        check_locks(self.path)
        # An interrupted write may have left bytes after the last record.
        self._cut()
        try:
            done = 0
            while done < len(data):
                done += os.pwrite(self._descriptor, data[done:], self._end + done)
        except OSError:
            self._cut()
            raise
        self._end += len(data)

    def _cut(self) -> None:
        if os.fstat(self._descriptor).st_size != self._end:
            os.ftruncate(self._descriptor, self._end)
