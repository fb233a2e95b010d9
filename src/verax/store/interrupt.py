"""Signals that end a command: they interrupt it like Ctrl-C, so that finished work is stored."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_received: list[int] = []


class Interrupted(KeyboardInterrupt):
    """A signal arrived."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise `Interrupted` when SIGINT, SIGTERM or SIGHUP arrives; one that is ignored, as by nohup, stays ignored."""
    _received.clear()
    before: dict[int, Any] = {number: signal.getsignal(number) for number in _SIGNALS}
    heard = [number for number in _SIGNALS if before[number] is not signal.SIG_IGN]
    for number in heard:
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in heard:
            signal.signal(number, before[number])


def received_signal() -> int | None:
    """The first signal that arrived, if any."""
    return _received[0] if _received else None


def check_interrupted() -> None:
    """Raise `Interrupted` if a signal arrived: a library that was being imported may have swallowed the exception."""
    if _received:
        raise Interrupted


def _interrupt(number: int, _: FrameType | None) -> None:
    _received.append(number)
    raise Interrupted
