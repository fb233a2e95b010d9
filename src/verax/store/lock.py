"""One writer at a time: a lock that the kernel releases when its owner dies."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import time
import weakref
from pathlib import Path

from verax.store.interrupt import check_interrupted
from verax.types import UserError

_TRIES = 5
_PAUSE = 0.05


class Lock:
    """An exclusive `flock` on a file that contains the id of the process that holds it."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor: int | None = descriptor
        self._path, self._folder = path, path.parent.absolute()
        _HELD.add(self)

    @classmethod
    def take(cls, path: Path) -> Lock:
        """Take the lock; `UserError` within a second if another process holds it, with its id."""
        check_interrupted()  # before any long work
        while True:
            descriptor = _open(path)
            try:
                _seize(descriptor, path)
                current = _is_at(path, descriptor)
                if current:
                    os.ftruncate(descriptor, 0)
                    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            except BaseException:
                os.close(descriptor)
                raise
            if current:
                return cls(descriptor, path)
            os.close(descriptor)  # its former owner removed the file: take the new one

    @property
    def held(self) -> bool:
        """Whether this process holds the lock; a fork of it does not hold it."""
        return self._descriptor is not None

    def check(self) -> None:
        """Raise UserError if the lock file was removed or replaced: another process may hold the new one."""
        if self._descriptor is not None and not _is_at(self._path, self._descriptor):
            raise UserError(
                f"{self._path} was removed or replaced while this process was writing to {self._path.parent}: another "
                "process may be writing there, so this one stops; start the same command again when no other runs"
            )

    def check_path(self, path: Path) -> None:
        """Do the same before a write to a path in the folder; a folder in between that is a link is rejected too."""
        parent = path.parent  # of a journal, which is written row by row, the folder itself
        if self._descriptor is None or not (parent == self._folder or parent.is_relative_to(self._folder)):
            return
        self.check()
        while parent != self._folder:
            if parent.is_symlink():
                raise UserError(f"{parent} is a symbolic link, and verax does not write through it; remove it")
            parent = parent.parent

    def release(self, *, remove: bool = False) -> None:
        """Release the lock; the file stays, empty, unless it is to be removed."""
        if self._descriptor is not None:
            try:
                if remove and _is_at(self._path, self._descriptor):
                    self._path.unlink(missing_ok=True)
                elif not remove:
                    os.ftruncate(self._descriptor, 0)
            finally:
                self.close_copy()

    def close_copy(self) -> None:
        """Close the descriptor of this process; the lock is free when every copy of it is closed."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def check_locks(path: Path) -> None:
    """Check the locks of this process on the folders that a file is in, before it is written."""
    for lock in list(_HELD):
        lock.check_path(path.absolute())


def _open(path: Path) -> int:
    """Open the lock file; anything but a regular file with this one name is rejected, since it is written to."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
    except OSError as error:
        if error.errno not in {errno.ELOOP, errno.EISDIR}:
            raise
        raise UserError(f"{path} is not a regular file; remove it") from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
        os.close(descriptor)
        raise UserError(f"{path} is not a regular file of its own; remove it")
    return descriptor


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether an open file is still the one at this path."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def _seize(descriptor: int, path: Path) -> None:
    for attempt in range(_TRIES):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # A process that was just killed may need a moment to end.
            if attempt < _TRIES - 1:
                time.sleep(_PAUSE)
        else:
            return
    pid = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip()
    owner = f"process {pid}" if pid else "another process"
    raise UserError(f"{owner} is writing to {path.parent}; wait for it to end, or stop it, then try again")


_HELD: weakref.WeakSet[Lock] = weakref.WeakSet()


def _close_in_child() -> None:
    # A fork shares the lock: with its copy open, a worker that outlives a killed owner would block the next run.
    for lock in list(_HELD):
        lock.close_copy()


os.register_at_fork(after_in_child=_close_in_child)
