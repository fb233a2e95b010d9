"""A full disk: say so, wait, and go on when there is room."""

from __future__ import annotations

import errno
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from verax.types import UserError

Answer = TypeVar("Answer")

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_PAUSE = 1.0


class Patience:
    """Tries a write again each second while the disk is full, for at most `seconds`.

    After it gave up, or was interrupted while it waited, it does not wait again: whoever stops should stop quickly.
    """

    def __init__(self, seconds: float, say: Callable[[str], None]) -> None:
        self._seconds = seconds
        self._say = say

    def retry_while_disk_full(self, path: Path, needs: int, attempt: Callable[[], Answer]) -> Answer:
        """Do what `attempt` does; it must leave things whole when it fails, so that it can be tried again.

        Args:
            path: what is written, for the message.
            needs: about how many bytes it takes, for the message.
            attempt: the write.
        """
        since = time.monotonic()
        waited = False
        while True:
            try:
                answer = attempt()
            except OSError as error:
                if error.errno not in _NO_ROOM:
                    raise UserError(f"cannot write {path}: {error.strerror or error}") from error
                self._wait(since, path, needs, first=not waited)
                waited = True
            else:
                if waited:
                    self._say(f"there is room again for {path}: going on")
                return answer

    def _wait(self, since: float, path: Path, needs: int, *, first: bool) -> None:
        full = f"the disk is full: {path} needs about {_size(needs)} more. Everything written so far is safe"
        left = since + self._seconds - time.monotonic()
        if left <= 0:
            self._seconds = 0.0
            raise UserError(f"{full}; make room and start the same command again: it goes on from there")
        if first:
            self._say(
                f"{full}. Waiting up to {left:.0f} s for room; Ctrl-C stops safely, and the same command goes on later."
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
