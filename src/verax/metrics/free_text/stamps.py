"""Stamps of files, as keys of what is cached of their content."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

Stamps = tuple[tuple[str, int, int], ...]


def stamps_of(paths: Iterable[Path]) -> Stamps:
    """Name, time of the last change and size of each file, sorted; other paths are ignored."""
    found = ((path.name, path.stat()) for path in paths if path.is_file())
    return tuple(sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in found))
