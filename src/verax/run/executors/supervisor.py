"""The driver's side of executors with workers: sends shards, receives rows, and replaces workers that die."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Protocol

from verax.run.execute import KeyedRow, Shard, Work
from verax.run.executors.dispatch import Dispatcher
from verax.run.executors.worker import Aborted, Begun, Computed, Died, Message, Order, Ready, orders
from verax.types import UserError

STARTS = 5
"""Workers that may die in a row before they have prepared the run."""


class Workers(Protocol):
    """Workers by number, wherever they run."""

    @property
    def capacity(self) -> int:
        """Number of workers that there is room for; it may change."""

    def start(self, worker: int) -> None:
        """Start a worker, or the one that replaces a dead one."""

    def send(self, worker: int, shard: tuple[Order, ...]) -> None:
        """Send work; that to a dead worker is dropped."""

    def receive(self) -> Iterable[tuple[int, Message | Died]]:
        """Messages that have arrived, each with the number of its worker; waits for the first one.

        Nothing of a worker comes after its death.
        """

    def name(self, worker: int) -> str:
        """The worker in messages to people."""

    def close(self) -> None:
        """End all workers."""


class WorkerExecutor:
    """Computes shards in several workers; a worker that dies is replaced.

    Args:
        workers: where they run; fewer are started than there is room for if there is less work.
        cost: estimated effort of the work on one input, in any unit.
        say: called with a line about each worker that dies.
    """

    def __init__(self, workers: Workers, cost: Callable[[Work], float], say: Callable[[str], None]) -> None:
        self._workers, self._cost, self._say = workers, cost, say
        self._ready: set[int] = set()
        self._started: set[int] = set()
        self._failed_starts = 0

    @property
    def live(self) -> int:
        """Workers that have prepared the run."""
        return len(self._ready)

    def map(self, shards: Iterable[Shard]) -> Iterator[KeyedRow]:
        """Rows of all shards, as they arrive."""
        dispatcher = Dispatcher(iter(chain.from_iterable(shards)), self._cost, self._workers.capacity)
        self._send(dispatcher)
        while not dispatcher.is_finished:
            for worker, message in self._workers.receive():
                yield from self._handle(dispatcher, worker, message)
            self._send(dispatcher)

    def close(self) -> None:
        """End all workers."""
        self._ready.clear()
        self._started.clear()
        self._workers.close()

    def _send(self, dispatcher: Dispatcher) -> None:
        """Start as many workers as there is work for, and send enough to each that is ready."""
        for worker in range(min(self._workers.capacity, len(self._started) + dispatcher.n_waiting)):
            if worker not in self._started:
                self._workers.start(worker)
                self._started.add(worker)
        for worker in self._ready:
            while (shard := dispatcher.next_shard(worker)) is not None:
                self._workers.send(worker, orders(shard))

    def _handle(self, dispatcher: Dispatcher, worker: int, message: Message | Died) -> Iterator[KeyedRow]:
        match message:
            case Computed(key, row):
                dispatcher.received(worker, key, row)
                yield key, row
            case Begun():
                dispatcher.begun(worker)
            case Ready():
                self._ready.add(worker)
                self._failed_starts = 0
            case Aborted(text, is_user_error):
                raise (UserError if is_user_error else RuntimeError)(f"{self._workers.name(worker)}: {text}")
            case Died():
                yield from self._bury(dispatcher, worker, message)

    def _bury(self, dispatcher: Dispatcher, worker: int, death: Died) -> Iterator[KeyedRow]:
        """Take the work of a dead worker back; the next `_send` replaces it."""
        name, words = self._workers.name(worker), f": {death.last_words}" if death.last_words else ""
        self._started.discard(worker)
        if worker in self._ready:
            self._ready.discard(worker)
        else:
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                raise UserError(
                    f"{name} {death.reason} while it was loading model and data, {STARTS} times in a row{words}; where "
                    "memory is short, use fewer workers"
                )
        failed = dispatcher.died(worker, death.reason)
        self._say(f"{name} {death.reason}{words}; it is replaced, and its unfinished inputs are computed again")
        yield from failed
