"""Files that are either the old one or the new one, whatever happens in between."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

TEMPORARY = ".tmp"


def replace_file(path: Path, data: bytes) -> None:
    """Write a whole file under a temporary name, force it to the disk, then give it its name, durably."""
    replace_by(path, lambda temporary: temporary.write_bytes(data))


def replace_by(path: Path, write: Callable[[Path], object]) -> None:
    """The same for what is not at hand as bytes: `write` is handed the temporary name."""
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk: a rename is not durable before."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
