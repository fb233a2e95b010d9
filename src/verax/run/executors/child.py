"""Processes that compute for this one, and end with it.

Each is a fresh interpreter rather than a fork or a `multiprocessing` process: torch does not survive a fork, and the
script that calls verax is not imported again, so it needs no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import os
import pickle
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from verax.run.executors.worker import Died

_COMMAND = "from verax.run.executors.child import main; main({})"
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")

Job = Callable[[Callable[[Any], None], "SimpleQueue[Any]"], None]
"""What a child does: it is given the function that sends to its parent, and the queue of what the parent sends."""


class Child:
    """A process of its own that does a job.

    Args:
        job: pickled; what it does.
        threads: that it computes in.
    """

    def __init__(self, job: bytes, threads: int) -> None:
        ours, theirs = socket.socketpair()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - read when the process ends
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter
                # -P: nothing is imported from the current folder
                [sys.executable, "-P", "-c", _COMMAND.format(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env={**os.environ, **dict.fromkeys(_THREADS, str(threads))},
            )
        self.connection: Connection[Any, Any] = Connection(ours.detach())
        self.send(pickle.dumps(sys.path))
        self.send(job)

    def send(self, message: bytes) -> None:
        """Send a pickled object; to a process that has ended, nothing is sent."""
        try:
            self.connection.send_bytes(message)
        except OSError:  # reading from it finds its end, after all that it sent
            return

    def end(self) -> Died | None:
        """How the process ended, which has closed its connection; None if it did its job."""
        self.connection.close()
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        with self._errors as errors:
            errors.seek(0)
            lines = errors.read().decode(errors="replace").strip().splitlines()
        if not code:
            return None
        reason = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return Died(reason, lines[-1] if lines else "")

    def terminate(self) -> None:
        """Ask the process to end; `end` waits for it."""
        self._process.terminate()


def main(descriptor: int) -> None:
    """The child's side.

    Args:
        descriptor: file descriptor of the socket to the parent.
    """
    for number in (signal.SIGINT, signal.SIGHUP):  # the parent ends its children
        signal.signal(number, signal.SIG_IGN)
    connection: Connection[Any, Any] = Connection(descriptor)
    incoming: SimpleQueue[Any] = SimpleQueue()
    sys.path[:] = connection.recv()
    received = connection.recv_bytes()
    threading.Thread(target=_read, args=(connection, incoming), daemon=True).start()
    job: Job = pickle.loads(received)  # noqa: S301 - sent by the process that started this one
    job(connection.send, incoming)
    sys.stderr.flush()
    os._exit(0)  # without waiting for threads of libraries


def _read(connection: Connection[Any, Any], incoming: SimpleQueue[Any]) -> None:
    """Read all that is sent, so that the parent never waits, and end with the parent."""
    try:
        while True:
            incoming.put(connection.recv())
    except (OSError, EOFError):
        os._exit(1)
