"""Workers as actors of a Ray cluster, on one machine or many."""

from __future__ import annotations

import logging
import os
import pickle
import platform
import re
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Empty, Queue, SimpleQueue
from threading import Thread
from typing import Any

from verax.run.executors.processes import pickled
from verax.run.executors.tasks import Failed, Task, result_of
from verax.run.executors.worker import Aborted, Assignment, Died, Incoming, Message, Order, enter, serve
from verax.run.placement import Placement
from verax.types import UserError
from verax.types.errors import first_line

IN_FLIGHT = 256
"""Messages that an actor holds until the driver takes them; it waits when there are more."""
POLL, LOOK = 2.0, 10.0
"""Seconds after which an actor without a message answers, and after which the cluster's size is looked up again."""
_REACHED = 5.0
"""Seconds for the head of a cluster to answer."""


class Actor:
    """The worker on a node of the cluster.

    Args:
        assignment: of the run.
        threads: that it computes in.
    """

    def __init__(self, assignment: Assignment, threads: int) -> None:
        import torch  # noqa: PLC0415 - on the node, not where the actor is started

        torch.set_num_threads(threads)
        self._incoming: Incoming = SimpleQueue()
        self._outgoing: Queue[Message] = Queue(IN_FLIGHT)
        Thread(target=serve, args=(assignment, self._emit, self._incoming), daemon=True).start()

    def _emit(self, message: Message) -> None:
        if isinstance(message, Aborted):
            message = message._replace(message=f"on {platform.node()}: {message.message}")
        self._outgoing.put(message)

    def send(self, shard: tuple[Order, ...]) -> None:
        """Take work."""
        self._incoming.put(shard)

    def receive(self) -> list[Message]:
        """All messages so far; waits a while for the first one."""
        messages = []
        try:
            messages.append(self._outgoing.get(timeout=POLL))
            while len(messages) < IN_FLIGHT:
                messages.append(self._outgoing.get_nowait())
        except Empty:
            pass
        return messages


class RayWorkers:
    """Actors of a Ray cluster, one for each GPU or group of cores; nodes may leave and join.

    Args:
        assignment: of every worker.
        placement: of the run.
        say: called with a line if the cluster has no room for the requested workers.
    """

    def __init__(self, assignment: Assignment, placement: Placement, say: Callable[[str], None]) -> None:
        pickled(assignment)  # a clear message in place of Ray's
        self._ray, self._disconnect = connect(placement)
        self._assignment, self._placement = assignment, placement
        self._gpus = _uses_gpus(self._ray, assignment.recipe.spec.model.device)
        if (line := _no_room(_room(self._ray.nodes(), placement, gpus=self._gpus), placement)) is not None:
            say(line)
        resources = {"num_cpus": placement.cpus_per_worker, "num_gpus": int(self._gpus)}
        # both methods at the same time, and the calls of each in their order
        self._actor = self._ray.remote(concurrency_groups={"send": 1, "receive": 1}, **resources)(Actor)
        self._alive: dict[int, Any] = {}
        self._receiving: dict[Any, int] = {}
        self._capacity, self._looked = 0, -LOOK

    @property
    def capacity(self) -> int:
        """Number of workers: as requested, or as many as the cluster has room for at the moment."""
        if self._placement.workers is not None:
            return self._placement.workers
        if time.monotonic() - self._looked >= LOOK:
            self._capacity = max(1, _room(self._ray.nodes(), self._placement, gpus=self._gpus))
            self._looked = time.monotonic()
        return self._capacity

    def start(self, worker: int) -> None:
        """Start an actor; it waits in the cluster until there is room for it."""
        actor = self._actor.remote(self._assignment, self._placement.cpus_per_worker)
        self._alive[worker] = actor
        self._listen(worker, actor)

    def _listen(self, worker: int, actor: Any) -> None:
        self._receiving[actor.receive.options(concurrency_group="receive").remote()] = worker

    def send(self, worker: int, shard: tuple[Order, ...]) -> None:
        """Send work to an actor; if it has died, `receive` finds that."""
        self._alive[worker].send.options(concurrency_group="send").remote(shard)

    def receive(self) -> Iterator[tuple[int, Message | Died]]:
        """Messages that have arrived."""
        ready, _ = self._ray.wait(list(self._receiving), num_returns=1, timeout=LOOK)
        for reference in ready:
            worker = self._receiving.pop(reference)
            try:
                messages = self._ray.get(reference)
            except self._ray.exceptions.RayError as error:
                # one that only can't be reached must not go on: messages of it are lost
                self._ray.kill(self._alive.pop(worker))
                yield worker, _death(error)
                continue
            self._listen(worker, self._alive[worker])
            yield from ((worker, message) for message in messages)

    def name(self, worker: int) -> str:
        """The worker by its number, counted from 1."""
        return f"Ray worker {worker + 1}"

    def close(self) -> None:
        """End all actors, and the cluster if it was started for them."""
        for actor in self._alive.values():
            self._ray.kill(actor)
        self._alive.clear()
        self._receiving.clear()
        self._disconnect()


def run_ray_tasks(tasks: Mapping[str, Task], placement: Placement) -> Iterator[tuple[str, Any]]:
    """Run tasks in a Ray cluster, as many at a time as it has room for; as `run_tasks`.

    A task whose worker or node dies is run again elsewhere, where it continues from its files.
    """
    with connected(placement) as ray:
        gpus = int(_uses_gpus(ray, "auto"))
        remote = ray.remote(_result_on_node).options(num_cpus=placement.cpus_per_worker, num_gpus=gpus, max_retries=2)
        running = {remote.remote(str(Path.cwd()), sys.path, pickled(task)): name for name, task in tasks.items()}
        while running:
            (reference,), _ = ray.wait(list(running), num_returns=1)
            name = running.pop(reference)
            try:
                yield name, ray.get(reference)
            except ray.exceptions.RayError as error:
                yield name, Failed(f"the process {_death(error).reason}")


def _result_on_node(folder: str, paths: Sequence[str], task: bytes) -> Any:
    """The result of a pickled task of a driver; of the GPUs of a node, Ray shows a task its own."""
    enter(folder, paths)
    return result_of(pickle.loads(task), 0)  # noqa: S301 - sent by the driver


@contextmanager
def connected(placement: Placement) -> Iterator[Any]:
    """Ray, connected to the cluster of a placement."""
    ray, disconnect = connect(placement)
    try:
        yield ray
    finally:
        disconnect()


def connect(placement: Placement) -> tuple[Any, Callable[[], None]]:
    """Ray, connected to the cluster of a placement, and the function that ends the connection.

    A connection that exists already, as in a notebook, is used and kept.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no message to its makers
    try:
        import ray  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UserError("executor: ray is not installed: pip install 'verax[ray]'") from error
    if ray.is_initialized():
        return ray, lambda: None
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if placement.address is None:
        cpus = (placement.workers or 0) * placement.cpus_per_worker or None
        cores = os.cpu_count() or 1
        if cpus is not None and cpus > cores:
            raise UserError(f"workers: {cpus} cores are requested, and this machine has {cores}")
        # `local`: otherwise Ray joins a cluster that anyone has started on this machine
        options |= {"address": "local", "num_cpus": cpus, "include_dashboard": False}
    else:
        _check_reachable(placement.address)
        options["address"] = placement.address
    if not (placement.address or "").startswith("ray://"):  # whose server adds no folder
        options["job_config"] = _job(ray)
    try:
        ray.init(**options)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise UserError(
            f"address: no Ray cluster at {placement.address or 'this machine'}: {first_line(error)}"
        ) from error
    return ray, ray.shutdown


def _job(ray: Any) -> Any:
    """The job for Ray, with the path of this process for modules that are not installed.

    Ray would add the current folder to the path of all workers: a module there would shadow an installed one.
    """
    installed = (sys.prefix, sys.base_prefix)
    paths = [str(Path(path).absolute()) for path in reversed(sys.path)]  # each is put before those before it
    job = ray.job_config.JobConfig(_py_driver_sys_path=[path for path in paths if not path.startswith(installed)])
    job._runtime_env_has_working_dir = lambda: True
    return job


def _check_reachable(address: str) -> None:
    """Reject an address at which nothing answers, or something other than Ray: Ray would wait for minutes."""
    match = re.fullmatch(r"(?:ray://)?(\[[^\]]+\]|[^:/]+):(\d+)", address)
    if match is None:
        if address != "auto":
            raise UserError(f"address: got {address!r}; use auto, HOST:PORT or ray://HOST:PORT")
        return
    try:
        with socket.create_connection((match[1].strip("[]"), int(match[2])), timeout=_REACHED) as connection:
            if os.environ.get("RAY_USE_TLS", "0") == "0" and not _speaks_http2(connection):
                raise UserError(f"address: no Ray cluster at {address}: another program listens there")
    except (OSError, OverflowError) as error:
        raise UserError(f"address: no Ray cluster at {address}: {first_line(error)}") from error


def _speaks_http2(connection: socket.socket) -> bool:
    """Whether the other side answers the beginning of HTTP/2, as Ray's servers do, with its settings."""
    connection.settimeout(_REACHED)
    connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
    answer = b""
    while len(answer) < 4 and (more := connection.recv(9)):
        answer += more
    return answer[3:4] == b"\x04"  # the type of its first frame


def _uses_gpus(ray: Any, device: str) -> bool:
    """Whether workers have a GPU each: if the cluster has any, unless another device is named."""
    if device.startswith("cuda"):
        return True
    return device == "auto" and ray.cluster_resources().get("GPU", 0) >= 1


def _room(nodes: Iterable[Mapping[str, Any]], placement: Placement, *, gpus: bool) -> int:
    """Workers that the nodes of a cluster have room for; none is spread over two nodes."""

    def on_node(resources: Mapping[str, float]) -> int:
        by_cores = int(resources.get("CPU", 0) // placement.cpus_per_worker)
        return min(by_cores, int(resources.get("GPU", 0))) if gpus else by_cores

    return sum(on_node(node["Resources"]) for node in nodes if node["Alive"])


def _no_room(room: int, placement: Placement) -> str | None:
    """A line for a person if a cluster has room for fewer workers than requested; None if it has not."""
    if room >= (placement.workers or 1):
        return None
    if not room:
        cores = "one core" if placement.cpus_per_worker == 1 else f"{placement.cpus_per_worker} cores"
        return f"workers: no node of the cluster has room for a worker of {cores}; the run waits for one to join"
    return (
        f"workers: {placement.workers} are requested, and the cluster has room for {room}; the others start when nodes "
        "join"
    )


def _death(error: Exception) -> Died:
    """How an actor or task died, in a line of Ray's many."""
    if type(error).__name__ == "ActorUnavailableError":
        return Died("can't be reached any more")
    text = " ".join(str(error).split())
    detail = re.search(r"Worker exit detail: (.*?)(?:\. There are|$)", text)
    return Died(f"died: {detail[1] if detail else text[:200]}")
