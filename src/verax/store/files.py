"""Writing files atomically and durably, and waiting while the disk is full."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from verax.types import UserError

Result = TypeVar("Result")

TEMPORARY = ".tmp"
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_PAUSE = 1.0


def replace_file(path: Path, data: bytes) -> None:
    """Write a whole file under a temporary name, force it to the disk, then give it its name, durably."""
    replace_by(path, lambda temporary: temporary.write_bytes(data))


def replace_by(path: Path, write: Callable[[Path], object]) -> None:
    """Replace a file as `replace_file` does; `write` is given the temporary name."""
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


class DiskFullRetry:
    """Repeats a write each second while the disk is full, for at most `seconds`.

    After it has given up, or was interrupted while waiting, it does not wait again: a run that stops should stop
    quickly.

    Args:
        seconds: how long to wait for space.
        say: called with one line when the disk is full and when writing continues.
    """

    def __init__(self, seconds: float, say: Callable[[str], None]) -> None:
        self._seconds = seconds
        self._say = say

    def __call__(self, path: Path, size: int, write: Callable[[], Result]) -> Result:
        """Call `write`, which must leave a consistent state when it fails, until it succeeds.

        Args:
            path: what is written, for the message.
            size: about how many bytes it takes, for the message.
            write: the write.
        """
        start = time.monotonic()
        waited = False
        while True:
            try:
                result = write()
            except OSError as error:
                if error.errno not in _DISK_FULL:
                    raise UserError(f"cannot write {path}: {error.strerror or error}") from error
                self._wait(start, path, size, first=not waited)
                waited = True
            else:
                if waited:
                    self._say(f"there is space again for {path}: continuing")
                return result

    def _wait(self, start: float, path: Path, size: int, *, first: bool) -> None:
        full = f"the disk is full: {path} needs about {_size(size)} more. All rows written so far are safe"
        left = start + self._seconds - time.monotonic()
        if left <= 0:
            self._seconds = 0.0
            raise UserError(f"{full}; free some space and start the same command again: it continues from there")
        if first:
            self._say(
                f"{full}. Waiting up to {left:.0f} s for space; Ctrl-C stops safely, and the same command continues."
            )
        try:
            time.sleep(min(_PAUSE, left))
        except BaseException:
            self._seconds = 0.0
            raise


def _size(count: int) -> str:
    for unit, size in (("MB", 1_000_000), ("kB", 1_000)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"
