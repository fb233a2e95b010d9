"""Keys of many rows in little memory: 32 bytes each instead of a string of 64 hex digits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from verax.store.codec import unescape
from verax.types import BoolArray, IntArray

_FINGERPRINT = 16
_WIDTH = 32
_BUCKETS = 2**16
_NIBBLES = np.full(256, 255, np.uint8)
_NIBBLES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16, dtype=np.uint8)


class KeySet(AbstractSet[str]):
    """A set of keys. Those that `key_of` makes take 32 bytes each; any other string is held as it is."""

    def __init__(self) -> None:
        # Keys are hashes: their first two bytes distribute them evenly, about 15 to a bucket in a run of a million.
        self._buckets = [b""] * _BUCKETS
        self._others: set[str] = set()
        self._size = 0

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, str):
            return False
        packed = _pack(key)
        return key in self._others if packed is None else _find(self._bucket(packed), packed) >= 0

    def __iter__(self) -> Iterator[str]:
        for bucket in self._buckets:
            for at in range(0, len(bucket), _WIDTH):
                yield bucket[at : at + _WIDTH].hex()
        yield from self._others

    def __len__(self) -> int:
        return self._size + len(self._others)

    def add(self, key: str) -> None:
        """Add a key; nothing happens if it is present."""
        packed = _pack(key)
        if packed is None:
            self._others.add(key)
        else:
            self._add_packed(packed)

    def discard(self, key: str) -> None:
        """Remove a key; nothing happens if it is not present."""
        packed = _pack(key)
        if packed is None:
            self._others.discard(key)
        elif (at := _find(bucket := self._bucket(packed), packed)) >= 0:
            self._buckets[packed[0] << 8 | packed[1]] = bucket[:at] + bucket[at + _WIDTH :]
            self._size -= 1

    def update(self, keys: pa.ChunkedArray) -> None:
        """Add the keys in a column of a table."""
        for chunk in keys.chunks:
            digests = _unhex(chunk)
            if digests is None:
                for key in chunk.to_pylist():
                    self.add(unescape(key))
            else:
                packed = digests.tobytes()
                for at in range(0, len(packed), _WIDTH):
                    self._add_packed(packed[at : at + _WIDTH])

    def _add_packed(self, packed: bytes) -> None:
        bucket = self._bucket(packed)
        if _find(bucket, packed) < 0:
            self._buckets[packed[0] << 8 | packed[1]] = bucket + packed
            self._size += 1

    def _bucket(self, packed: bytes) -> bytes:
        return self._buckets[packed[0] << 8 | packed[1]]

    @classmethod
    def _from_iterable(cls, keys: Iterable[str]) -> AbstractSet[str]:  # type: ignore[override]
        return set(keys)


def _pack(key: str) -> bytes | None:
    """The bytes of a key of 64 hex digits; None for any other string."""
    if len(key) != 2 * _WIDTH:
        return None
    try:
        packed = bytes.fromhex(key)
    except ValueError:
        return None
    return packed if packed.hex() == key else None


def _find(bucket: bytes, packed: bytes) -> int:
    """Position of a packed key in a bucket, -1 if it is not there; a match that begins inside a key does not count."""
    at = bucket.find(packed)
    while at > 0 and at % _WIDTH:
        at = bucket.find(packed, at + 1)
    return at


def fingerprints(keys: pa.Array) -> IntArray:
    """128 bits of each key: the first of a hash, or those of the hash of another string; shape [keys, 2], uint64."""
    digests = _unhex(keys)
    if digests is None:
        hashed = b"".join(map(_fingerprint, keys.to_pylist()))
        return np.frombuffer(hashed, np.uint64).reshape(len(keys), 2)
    return np.ascontiguousarray(digests[:, :_FINGERPRINT]).view(np.uint64)


def line_fingerprints(data: bytes) -> IntArray:
    """Fingerprints of the keys in a text, one key a line; shape [keys, 2], uint64."""
    line, blocks = 2 * _WIDTH + 1, [np.empty((0, 2), np.uint64)]
    for at in range(0, len(data), line * _BUCKETS):
        block = data[at : at + line * _BUCKETS]
        text = np.frombuffer(block[: len(block) // line * line], np.uint8).reshape(-1, line)
        digests = _unhex_lines(text[:, :-1])
        if len(block) % line or digests is None or (text[:, -1] != ord("\n")).any():
            # a key that `key_of` did not make, or damage
            return fingerprints(pa.array(data.decode("utf-8", "replace").split(), pa.string()))
        blocks.append(np.ascontiguousarray(digests[:, :_FINGERPRINT]).view(np.uint64))
    return np.concatenate(blocks)


def first_match(wanted: IntArray, keys: IntArray) -> IntArray:
    """For each fingerprint the number of the first equal one among `keys`, -1 if there is none; shape [wanted]."""
    matches: IntArray = pc.index_in(_as_binary(wanted), value_set=_as_binary(keys)).fill_null(-1).to_numpy()
    return matches


def _as_binary(fingerprints: IntArray) -> pa.FixedSizeBinaryArray:
    data = pa.py_buffer(np.ascontiguousarray(fingerprints))
    return pa.FixedSizeBinaryArray.from_buffers(pa.binary(_FINGERPRINT), len(fingerprints), [None, data])


def is_first(keys: IntArray) -> BoolArray:
    """Whether each fingerprint, shape [keys, 2], is the first of its kind; shape [keys]."""
    first: BoolArray = first_match(keys, keys) == np.arange(len(keys))
    return first


def _fingerprint(key: str) -> bytes:
    packed = _pack(key)
    if packed is None:
        return hashlib.blake2b(key.encode(), digest_size=_FINGERPRINT, person=b"verax key").digest()
    return packed[:_FINGERPRINT]


def _unhex(keys: pa.Array) -> IntArray | None:
    """Bytes of an array of keys, shape [keys, 32], uint8; None if not all of them are 64 hex digits."""
    _, offsets, data = keys.buffers()
    ends = np.frombuffer(offsets, np.int32)[keys.offset : keys.offset + len(keys) + 1]
    if not len(keys) or (np.diff(ends) != 2 * _WIDTH).any():
        return None
    return _unhex_lines(np.frombuffer(data, np.uint8)[ends[0] : ends[-1]].reshape(len(keys), -1))


def _unhex_lines(text: IntArray) -> IntArray | None:
    nibbles = _NIBBLES[text]
    return None if (nibbles > 15).any() else nibbles[:, 0::2] << 4 | nibbles[:, 1::2]
