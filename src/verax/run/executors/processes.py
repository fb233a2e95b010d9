"""Workers as processes on this machine."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from multiprocessing.connection import wait

import torch

from verax.run.executors.child import Child
from verax.run.executors.worker import Assignment, Died, Message, Order, serve
from verax.run.placement import device_of_worker
from verax.types import UserError

AT_ONCE = 64
"""Messages of a worker that are read before the others have their turn."""


class Processes:
    """Workers in processes of their own, with the threads of this process divided among them.

    Args:
        assignment: of every worker; of several GPUs, each worker has its own.
        workers: their number.
    """

    def __init__(self, assignment: Assignment, workers: int) -> None:
        device = assignment.recipe.spec.model.device
        self._jobs = [
            pickled(partial(serve, replace(assignment, recipe=assignment.recipe.on_device(name))))
            for name in (device_of_worker(device, worker) for worker in range(workers))
        ]
        self.capacity = workers
        self._threads = max(1, torch.get_num_threads() // workers)
        self._alive: dict[int, Child] = {}

    def start(self, worker: int) -> None:
        """Start a process."""
        self._alive[worker] = Child(self._jobs[worker], self._threads)

    def send(self, worker: int, shard: tuple[Order, ...]) -> None:
        """Send work to a process."""
        self._alive[worker].send(pickle.dumps(shard))

    def receive(self) -> Iterator[tuple[int, Message | Died]]:
        """Messages that have arrived."""
        alive = {child.connection: (worker, child) for worker, child in self._alive.items()}
        for connection in wait(list(alive)):
            worker, child = alive[connection]  # type: ignore[index]
            for _ in range(AT_ONCE):
                try:
                    message = child.connection.recv()
                except (OSError, EOFError):  # the process has ended, perhaps in the middle of a message
                    del self._alive[worker]
                    yield worker, child.end() or Died("ended before its work was done")
                    break
                yield worker, message
                if not child.connection.poll():
                    break

    def name(self, worker: int) -> str:
        """The worker by its number, counted from 1."""
        return f"worker {worker + 1}"

    def close(self) -> None:
        """End all processes; rows that they have not sent are lost."""
        for child in self._alive.values():
            child.terminate()
        for child in self._alive.values():
            child.end()
        self._alive.clear()


def pickled(job: object) -> bytes:
    """A job as it is sent to another process; raises UserError if it can't be sent."""
    try:
        return pickle.dumps(job)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise UserError(
            f"workers: {error}; methods, metrics and data given as objects must be picklable, or given by name"
        ) from error
