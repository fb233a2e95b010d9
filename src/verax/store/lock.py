"""One writer at a time: a lock that the kernel releases when its owner dies."""

from __future__ import annotations

import fcntl
import os
import time
import weakref
from pathlib import Path

from verax.types import UserError

_TRIES = 5
_PAUSE = 0.05


class Lock:
    """An exclusive `flock` on a file that contains the id of the process that holds it."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor: int | None = descriptor
        self._path = path
        _HELD.add(self)

    @classmethod
    def take(cls, path: Path) -> Lock:
        """Take the lock; `UserError` within a second if another process holds it, with its id."""
        while True:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            try:
                _seize(descriptor, path)
                there = _is_at(path, descriptor)
                if there:
                    os.ftruncate(descriptor, 0)
                    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
            except BaseException:
                os.close(descriptor)
                raise
            if there:
                return cls(descriptor, path)
            os.close(descriptor)  # its former owner removed the file: take the new one

    @property
    def held(self) -> bool:
        """Whether this process holds the lock; a fork of it does not hold it."""
        return self._descriptor is not None

    def release(self, *, remove: bool = False) -> None:
        """Let go; the file stays, empty, unless it is to be removed."""
        if self._descriptor is not None:
            try:
                if remove:
                    self._path.unlink(missing_ok=True)
                else:
                    os.ftruncate(self._descriptor, 0)
            finally:
                self.close_copy()

    def close_copy(self) -> None:
        """Close the descriptor of this process; the lock is free when every copy of it is closed."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether an open file is still the one at this path."""
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
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
