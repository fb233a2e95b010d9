"""Workers as processes on this machine.

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
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from typing import IO, Any

import torch

from verax.run.executors import device_of_worker
from verax.run.executors.supervisor import Died
from verax.run.executors.worker import Assignment, Incoming, Message, Order, serve
from verax.types import UserError

AT_ONCE = 64
"""Messages of a worker that are read before the others have their turn."""
_COMMAND = "from verax.run.executors.processes import main; main({})"
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


@dataclass(frozen=True)
class _Worker:
    process: subprocess.Popen[bytes]
    connection: Connection[Any, Any]
    errors: IO[bytes]

    def death(self) -> Died:
        """How the process ended; one that only closed its connection is ended."""
        self.connection.close()
        try:
            code = self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        reason = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        self.errors.close()
        return Died(reason, lines[-1] if lines else "")


class Processes:
    """Workers in processes of their own, with the threads of this process divided among them.

    They end with this process, however it ends.

    Args:
        assignment: of every worker; of several GPUs, each worker has its own.
        workers: their number.
    """

    def __init__(self, assignment: Assignment, workers: int) -> None:
        device = assignment.recipe.spec.model.device
        self._payloads = [
            _pickled(replace(assignment, recipe=assignment.recipe.on_device(device_of_worker(device, worker))))
            for worker in range(workers)
        ]
        threads = str(max(1, torch.get_num_threads() // workers))
        self._environment = {**os.environ, **dict.fromkeys(_THREADS, threads)}
        self._alive: dict[int, _Worker] = {}

    def start(self, worker: int) -> None:
        """Start a process."""
        ours, theirs = socket.socketpair()
        errors = tempfile.TemporaryFile()  # noqa: SIM115 - read when the worker dies
        with theirs:
            process = subprocess.Popen(  # noqa: S603 - this interpreter
                # -P: nothing is imported from the current folder
                [sys.executable, "-P", "-c", _COMMAND.format(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                env=self._environment,
            )
        self._alive[worker] = _Worker(process, Connection(ours.detach()), errors)
        self._write(worker, pickle.dumps(sys.path))
        self._write(worker, self._payloads[worker])

    def send(self, worker: int, shard: tuple[Order, ...]) -> None:
        """Send work to a process."""
        self._write(worker, pickle.dumps(shard))

    def _write(self, worker: int, message: bytes) -> None:
        try:
            self._alive[worker].connection.send_bytes(message)
        except OSError:  # it has died, which `receive` finds after what it sent before
            return

    def receive(self) -> Iterator[tuple[int, Message | Died]]:
        """Messages that have arrived."""
        numbers = {worker.connection: number for number, worker in self._alive.items()}
        for connection in wait(list(numbers)):
            number = numbers[connection]  # type: ignore[index]
            worker = self._alive[number]
            for _ in range(AT_ONCE):
                try:
                    message = worker.connection.recv()
                except (OSError, EOFError):  # the process has ended, perhaps in the middle of a message
                    del self._alive[number]
                    yield number, worker.death()
                    break
                yield number, message
                if number not in self._alive or not worker.connection.poll():
                    break

    def name(self, worker: int) -> str:
        """The worker by its number, counted from 1."""
        return f"worker {worker + 1}"

    def close(self) -> None:
        """End all processes; the rows that they have not sent are lost."""
        for worker in self._alive.values():
            worker.process.terminate()
        for worker in self._alive.values():
            worker.death()
        self._alive.clear()


def _pickled(assignment: Assignment) -> bytes:
    try:
        return pickle.dumps(assignment)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UserError(
            f"workers: {error}; methods, metrics and data given as objects must be picklable, or given by name"
        ) from error


def main(descriptor: int) -> None:
    """The process of a worker.

    Args:
        descriptor: file descriptor of the socket to the driver.
    """
    for number in (signal.SIGINT, signal.SIGHUP):  # the driver ends its workers
        signal.signal(number, signal.SIG_IGN)
    connection: Connection[Any, Any] = Connection(descriptor)
    sys.path[:] = connection.recv()
    assignment = connection.recv()
    incoming: Incoming = SimpleQueue()
    threading.Thread(target=_read, args=(connection, incoming), daemon=True).start()
    torch.set_num_threads(int(os.environ[_THREADS[0]]))
    serve(assignment, incoming, connection.send)
    os._exit(0)  # without waiting for threads of libraries


def _read(connection: Connection[Any, Any], incoming: Incoming) -> None:
    """Read all that is sent, so that the driver never waits, and end with the driver."""
    try:
        while True:
            incoming.put(connection.recv())
    except (OSError, EOFError):
        os._exit(1)
