"""Requests under way at an endpoint: sent from a thread of their own, delivered in the thread that submitted them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import NamedTuple, Self

from verax.models.endpoint.client import THREAD, Client, Stopped
from verax.models.generator import ConcurrentRequest, Deliver
from verax.types import Generated, Undefined

_TICK = 0.5
"""Seconds between two looks for Ctrl-C where the operating system does not interrupt a wait."""
_LAST_WAIT = 1.0


class Job(NamedTuple):
    """The body of a request, and the function that takes its answer."""

    body: bytes
    deliver: Callable[[Generated | Undefined], None]


JobResult = Generated | Exception | None
"""Result of a job: an answer or the reason why there is none (Undefined), a failure of every job, or None if unsent."""


class EndpointSession:
    """Keeps up to `concurrency` requests under way, until its context ends.

    A request occupies its place until its answer is delivered, so a killed process loses at most `concurrency` answers,
    however slow the code is that stores them. `job_of` makes a job of a request and the function that takes its answer.
    """

    def __init__(self, client: Client, job_of: Callable[[ConcurrentRequest, Deliver], Job], concurrency: int) -> None:
        self._client, self._job_of, self._concurrency = client, job_of, concurrency
        self._queue: deque[Job] = deque()
        self._under_way = 0
        self._inbox: SimpleQueue[tuple[Job, JobResult]] = SimpleQueue()
        self._sender: _Sender | None = None
        self._failure: Exception | None = None
        self._is_delivering = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """Cancel requests under way. Answers that have arrived are delivered, unless delivering failed."""
        kind = error[0]
        if self._sender is not None:
            self._sender.close()
        if kind is not None and (kind is KeyboardInterrupt or not self._is_delivering):
            while not self._inbox.empty():
                job, result = self._inbox.get()
                if isinstance(result, Generated | Undefined):
                    job.deliver(result)

    @property
    def outstanding(self) -> int:
        """Number of requests whose answers were not delivered yet."""
        return len(self._queue) + self._under_way

    def submit(self, request: ConcurrentRequest, deliver: Deliver) -> None:
        """Send a request as soon as there is a place for it; `collect` will call `deliver` with its answer."""
        self._queue.append(self._job_of(request, deliver))
        self._fill()

    def collect(self, timeout: float | None = None) -> None:
        """Wait for an answer, `timeout` seconds at most, and deliver all that have arrived.

        A failure that every request would meet is raised when the requests under way have ended and their answers,
        which are paid for, are delivered. Nothing new is sent meanwhile.
        """
        has_delivered = False
        while self._under_way and (self._failure or not has_delivered or not self._inbox.empty()):
            is_patient = timeout is None or self._failure is not None
            try:
                job, result = self._inbox.get(timeout=_TICK if is_patient else timeout)
            except Empty:
                if is_patient:
                    continue
                return
            self._receive(job, result)
            has_delivered = True
        if self._failure is not None:
            raise self._failure

    def _receive(self, job: Job, result: JobResult) -> None:
        if isinstance(result, Generated | Undefined):
            self._is_delivering = True
            job.deliver(result)
            self._is_delivering = False
        elif result is not None:
            self._failure = self._failure or result
        self._under_way -= 1
        self._fill()

    def _fill(self) -> None:
        while self._queue and self._under_way < self._concurrency and self._failure is None:
            self._sender = self._sender or _Sender(self._client, self._inbox)
            self._under_way += 1
            self._sender.start(self._queue.popleft())


class _Sender:
    """A thread with an event loop that sends requests and puts every job with its result into the inbox."""

    def __init__(self, client: Client, inbox: SimpleQueue[tuple[Job, JobResult]]) -> None:
        self._client, self._inbox, self._http = client, inbox, client.open()
        self._tasks: set[asyncio.Task[None]] = set()
        self._stop, self._closing = asyncio.Event(), asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name=THREAD, daemon=True)
        self._thread.start()

    def start(self, job: Job) -> None:
        """Send a request."""
        self._loop.call_soon_threadsafe(self._begin, job)

    def close(self) -> None:
        """Cancel all requests and end the thread. One that looks up a host name can't be interrupted: it is left."""
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(_LAST_WAIT)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        async with self._http:
            await self._closing.wait()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, job: Job) -> None:
        task = self._loop.create_task(self._send(job))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _send(self, job: Job) -> None:
        result: JobResult
        try:
            result = await self._client.ask(self._http, job.body, self._stop)
        except Stopped:
            result = None
        except Undefined as error:
            # kept as the answer, it would keep alive what was sent and received
            error.__traceback__ = error.__context__ = error.__cause__ = None
            result = error
        except Exception as error:  # noqa: BLE001 - raised by `collect`
            self._stop.set()
            result = error
        self._inbox.put((job, result))
