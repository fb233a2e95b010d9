"""Tasks that are computed at the same time: trainings, agents, stages of ROAR."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from multiprocessing.connection import wait
from queue import SimpleQueue
from typing import Any, NamedTuple

from rich.console import Console

from verax.run.executors.child import Child
from verax.run.executors.processes import pickled
from verax.run.placement import Placement, threads_of_worker
from verax.run.progress import progress_counter
from verax.types import UserError

Task = Callable[[int], Any]
"""Work that can be pickled, as can its result; it is called with the number of the worker, from 0."""


class Failed(NamedTuple):
    """Why a task has no result."""

    problem: str


def run_tasks(
    tasks: Mapping[str, Task], placement: Placement, what: str, console: Console
) -> Iterator[tuple[str, Any]]:
    """Run tasks at the same time, one for each worker; yields the name and the result of each, or `Failed`.

    A task that fails, or whose worker dies, stops no other one. A process does one task after the other.

    Args:
        what: of the progress bar.
    """
    with progress_counter(what, len(tasks), console) as advance:
        if placement.executor == "ray":
            from verax.run.executors.ray import run_ray_tasks  # noqa: PLC0415 - it imports this module

            results = run_ray_tasks(tasks, placement)
        else:
            results = _in_processes(tasks, placement.workers or 1)
        for name, result in results:
            advance()
            yield name, result


def finish_tasks(tasks: Mapping[str, Task], placement: Placement, what: str, console: Console) -> None:
    """Run tasks whose results are files; raises UserError if some failed, when the others are finished."""
    results = list(run_tasks(tasks, placement, what, console))
    failed = [(name, result.problem) for name, result in results if isinstance(result, Failed)]
    if failed:
        name, problem = failed[0]
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise UserError(f"{what}: {name}: {problem}{more}; the others are finished, the same command continues it")


def _in_processes(tasks: Mapping[str, Task], workers: int) -> Iterator[tuple[str, Any]]:
    waiting = dict(tasks)
    threads = threads_of_worker(workers)
    free: dict[int, Child | None] = dict.fromkeys(range(workers))
    running: dict[Any, tuple[str, int, Child]] = {}
    try:
        while waiting or running:
            while waiting and free:
                name, worker = next(iter(waiting)), next(iter(free))
                task = pickle.dumps(pickled(waiting.pop(name)))  # twice: it is unpickled where its errors are caught
                child = free.pop(worker) or Child(pickled(partial(_work, worker)), threads)
                running[child.connection] = name, worker, child
                child.send(task)
            for connection in wait(list(running)):
                name, worker, child = running.pop(connection)
                try:
                    result = child.connection.recv()
                    free[worker] = child
                except (OSError, EOFError):
                    death = child.end()
                    result = Failed(f"the process {death.reason if death else 'ended before its task was done'}")
                    free[worker] = None
                yield name, result
    finally:
        for child in [child for _, _, child in running.values()] + [child for child in free.values() if child]:
            child.terminate()
            child.end()


def _work(worker: int, send: Callable[[Any], None], incoming: SimpleQueue[bytes]) -> None:
    """Do the pickled tasks that arrive, one after the other, and send their results."""
    while True:
        send(result_of(partial(_do, incoming.get()), worker))


def _do(task: bytes, worker: int) -> Any:
    return pickle.loads(task)(worker)  # noqa: S301 - sent by the process that started this one


def result_of(task: Task, worker: int) -> Any:
    """Do one task; `Failed` if it raises."""
    try:
        return task(worker)
    except Exception as error:  # noqa: BLE001 - reported with the others
        return Failed(str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}")
