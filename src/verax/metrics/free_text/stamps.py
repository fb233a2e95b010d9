"""Whether files are still those that were read: what is kept of them in memory is kept under their stamps."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

Stamps = tuple[tuple[str, int, int], ...]


def stamps_of(paths: Iterable[Path]) -> Stamps:
    """Name, time of the last change and size of each file, sorted; what is no file is left out."""
    found = ((path.name, path.stat()) for path in paths if path.is_file())
    return tuple(sorted((name, told.st_mtime_ns, told.st_size) for name, told in found))
