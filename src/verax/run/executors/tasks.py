"""Tasks that are computed at the same time: trainings, agents, stages of ROAR."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing.connection import wait
from queue import SimpleQueue
from typing import Any

import torch
from rich.console import Console

from verax.run.executors.child import Child
from verax.run.executors.processes import pickled
from verax.run.placement import Placement
from verax.run.progress import progress_counter
from verax.types import UserError

Task = Callable[[int], object]
"""Work that can be pickled; it is called with the number of the worker, from 0. Its results are files."""


def run_tasks(tasks: Mapping[str, Task], placement: Placement, what: str, console: Console) -> dict[str, str]:
    """Run tasks at the same time, at most one for each worker, and return why some failed, by name.

    A task that fails, or whose worker dies, stops no other one.

    Args:
        what: of the progress bar.
    """
    with progress_counter(what, len(tasks), console) as advance:
        if placement.executor == "ray":
            from verax.run.executors.ray import run_ray_tasks  # noqa: PLC0415 - it imports this module

            return run_ray_tasks(tasks, placement, advance)
        return _in_processes(tasks, placement.workers or 1, advance)


def raise_failed(what: str, failed: Mapping[str, str]) -> None:
    """Raise the first failure of some tasks, if there is one."""
    if failed:
        name, problem = next(iter(failed.items()))
        more = f" (and {len(failed) - 1} more)" if len(failed) > 1 else ""
        raise UserError(f"{what}: {name}: {problem}{more}; the others are finished, the same command continues it")


def _in_processes(tasks: Mapping[str, Task], workers: int, advance: Callable[[], None]) -> dict[str, str]:
    waiting, free = dict(tasks), list(range(workers))
    threads = max(1, torch.get_num_threads() // workers)
    running: dict[Any, tuple[str, int, Child]] = {}
    failed: dict[str, str] = {}
    try:
        while waiting or running:
            while waiting and free:
                name, worker = next(iter(waiting)), free.pop(0)
                child = Child(pickled(partial(_work, waiting.pop(name), worker)), threads)
                running[child.connection] = name, worker, child
            for connection in wait(list(running)):
                name, worker, child = running[connection]
                try:
                    failed[name] = child.connection.recv()
                except (OSError, EOFError):
                    del running[connection]
                    free.append(worker)
                    advance()
                    if (death := child.end()) is not None:
                        failed.setdefault(name, f"the process {death.reason}")
    finally:
        for _, _, child in running.values():
            child.terminate()
            child.end()
    return failed


def _work(task: Task, worker: int, send: Callable[[Any], None], _: SimpleQueue[Any]) -> None:
    """Do one task; a failure is sent to the parent."""
    problem = outcome(task, worker)
    if problem is not None:
        send(problem)


def outcome(task: Task, worker: int) -> str | None:
    """Do one task; returns why it failed, if so."""
    try:
        task(worker)
    except Exception as error:  # noqa: BLE001 - reported with the others
        return str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
    return None
