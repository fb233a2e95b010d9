"""Keys: hashes of everything that a row depends on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from verax.types import UserError

JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"


def key_of(**parts: JSON) -> str:
    """SHA-256 (hex) of named parts, which does not depend on the order of the arguments or of the names in mappings.

    `1`, `1.0`, `True` and `"1"` are four different values. Numbers that are not finite are rejected.
    """
    return hash_bytes(canonical_json(parts))


def canonical_json(value: JSON) -> bytes:
    """JSON with sorted names and without spaces: equal values give equal bytes, different values different bytes."""
    text = json.dumps(_plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    # A lone surrogate is not valid UTF-8, but text from JSON may contain one: it must not end a run.
    return text.encode("utf-8", "surrogatepass")


def hash_bytes(*chunks: bytes) -> str:
    """SHA-256 (hex) of the concatenated chunks."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
    return digest.hexdigest()


def hash_files(paths: Iterable[Path]) -> str:
    """SHA-256 (hex) of the names and contents of files, in any order and without their folders.

    Files are read in pieces, so weights of any size need little memory.
    """
    return key_of(files=sorted([Path(path).name, hash_file(Path(path))] for path in paths))


def hash_file(path: Path) -> str:
    """The SHA-256 (hex) of a file's content."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error


def _plain(value: JSON) -> JSON:
    """The value in the types that `json` writes; a value that `json` would change silently is rejected."""
    if isinstance(value, Mapping):
        for name in value:
            if not isinstance(name, str):
                raise TypeError(f"the name of a part of a key must be a string, not {name!r}")
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, bytes | bytearray | memoryview):
        raise TypeError("bytes cannot be part of a key; use their hash")
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value
