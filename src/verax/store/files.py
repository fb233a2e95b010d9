"""Reading and writing files: atomically, durably, never through a link; and waiting while the disk is full."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from verax.store.lock import check_locks
from verax.types import UserError

Result = TypeVar("Result")

_TEMPORARY = re.compile(r"(.+?)(?:\.[0-9a-f]{16})?\.tmp")
_RANDOM = re.compile(r".+\.[0-9a-f]{16}\.tmp")
_DISK_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_PERMISSION = (errno.EACCES, errno.EPERM)
_DISK_ERRORS = (*_DISK_FULL, errno.EROFS, errno.EFBIG, *_NO_PERMISSION)
_PAUSE = 1.0


def replace_file(path: Path, data: bytes) -> None:
    """Write a whole file under a temporary name, force it to the disk, then give it its name, durably."""
    replace_by(path, lambda temporary: temporary.write_bytes(data))


def replace_by(path: Path, write: Callable[[Path], Result], ready: Callable[[Result], None] = lambda _: None) -> None:
    """Replace a file as `replace_file` does.

    The temporary file is new and has a random name, so nothing that is in the folder already is written to. Only a
    regular file is replaced.

    Args:
        write: is given the temporary name.
        ready: is called with the result of `write` when the new content is safe on the disk, before it is renamed.
    """
    check_locks(path)
    _require_regular(path)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666))
        result = write(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        ready(result)
        temporary.replace(path)
    except BaseException as error:
        with contextlib.suppress(OSError):  # a folder that cannot be written to has no such file
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            error.filename = str(path)
        raise
    sync_folder(path.parent)


def _require_regular(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(mode):
        kind = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
        raise UserError(f"{path} is {kind}, and is not replaced; remove it, or name another file")


def remove_file(path: Path) -> None:
    """Remove a file that may be missing from a folder that verax writes to."""
    check_locks(path)
    path.unlink(missing_ok=True)


def original_name(name: str) -> str | None:
    """The name of the file that a temporary name stands for; None if it is not a temporary name."""
    match = _TEMPORARY.fullmatch(name)
    return None if match is None else match[1]


def remove_temporary(folder: Path, names: str = "**/*.tmp") -> None:
    """Remove the temporary files in a folder that a killed process left; no other process may be writing there."""
    for path in folder.glob(names):
        if _RANDOM.fullmatch(path.name) and path.is_file():
            path.unlink()


def read_regular(path: Path) -> bytes:
    """The bytes of a regular file; an OSError for anything else, at once: a named pipe does not block."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        return file.read()


def check_links(folder: Path) -> None:
    """Raise UserError if a folder that verax writes to contains a link, at any depth."""
    for path in folder.rglob("*"):
        if path.is_symlink():
            raise UserError(f"{path} is a symbolic link, and verax does not write through it; remove it")


def make_folder(path: Path) -> None:
    """Create a folder inside one that verax writes to; a link to another folder is rejected."""
    check_locks(path / "x")
    path.mkdir(exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Force the names in a folder to the disk: a rename is not durable before."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def disk_problem(error: BaseException) -> str | None:
    """One line about an error that a full disk or a missing permission caused, whichever library raised it, or None."""
    seen: BaseException | None = error
    while seen is not None:
        number = next((code for code in _DISK_ERRORS if os.strerror(code) in str(seen)), None)
        if number is not None:
            path = seen.filename if isinstance(seen, OSError) and seen.filename else None
            what = "cannot read or write" if number in _NO_PERMISSION else "cannot write"
            where = f"{what} {path}" if path else what
            cure = "change its permissions" if number in _NO_PERMISSION else "free some space"
            advice = f"{cure} or choose another folder, and start the same command again"
            return f"{where}: {os.strerror(number)}; {advice}"
        seen = seen.__cause__ or seen.__context__
    return None


class DiskFullRetry:
    """Repeats a write each second while the disk is full, for at most `seconds`.

    After it has given up, or was interrupted while waiting, it does not wait again, so that a run can stop quickly.

    Args:
        say: called with one line when the disk is full and when writing continues.
    """

    def __init__(self, seconds: float, say: Callable[[str], None]) -> None:
        self._seconds = seconds
        self._say = say

    def __call__(self, path: Path, size: int, write: Callable[[], Result]) -> Result:
        """Call `write`, which must leave a consistent state when it fails, until it succeeds.

        The path and the size in bytes are for the message.
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
                    self._say(f"{path} can be written again: continuing")
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
