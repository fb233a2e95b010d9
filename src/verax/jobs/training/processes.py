"""Trainings in processes of their own, several at a time."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

import torch
from rich.console import Console

from verax.models.devices import resolve_device
from verax.run.progress import progress_counter
from verax.types import UserError

TrainingTask = Callable[[int], object]
"""Work that can be pickled; it is called with the number of the worker, from 0."""


def check_workers(workers: int) -> None:
    """Reject more workers than this machine has cores."""
    cores = os.cpu_count() or 1
    if workers > cores:
        raise UserError(f"workers: got {workers}, and this machine has {cores} cores; use at most as many")


def device_of_worker(device: str, worker: int) -> str:
    """The device of a worker: of several GPUs, each worker has its own."""
    found = str(resolve_device(device))
    return f"cuda:{worker % torch.cuda.device_count()}" if found == "cuda" else found


def run_in_processes(tasks: Mapping[str, TrainingTask], workers: int, console: Console) -> dict[str, str]:
    """Run tasks in processes of their own, at most `workers` at a time, and return why some failed, by name.

    A process that dies stops no other one. If this process ends, however it does, so do they.
    """
    context, waiting, free = get_context("spawn"), dict(tasks), list(range(workers))
    threads = max(1, torch.get_num_threads() // workers)
    running: dict[SpawnProcess, tuple[int, Connection]] = {}
    failed: dict[str, str] = {}
    with progress_counter("training", len(tasks), console) as advance:
        try:
            while waiting or running:
                while waiting and free:
                    name, worker = next(iter(waiting)), free.pop(0)
                    told, telling = context.Pipe(duplex=False)
                    arguments = (waiting.pop(name), worker, threads, telling)
                    process = context.Process(target=_work, args=arguments, name=name)
                    process.start()
                    telling.close()
                    running[process] = worker, told
                wait([process.sentinel for process in running])
                for process in [process for process in running if process.exitcode is not None]:
                    worker, told = running.pop(process)
                    free.append(worker)
                    if process.exitcode:
                        failed[process.name] = _problem(process.exitcode, told)
                    advance()
        finally:
            for process in running:
                process.terminate()
                process.join()
    return failed


def _problem(exit_code: int, told: Connection) -> str:
    """Why a process ended with this code: its last words, or the signal that killed it."""
    if exit_code < 0:
        return f"killed by {signal.Signals(-exit_code).name}"
    try:
        return str(told.recv())
    except EOFError:
        return f"ended with exit code {exit_code}"


def _work(task: TrainingTask, worker: int, threads: int, telling: Connection) -> None:
    """Do the work of one process; Ctrl-C is left to the parent, which ends its workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    torch.set_num_threads(threads)
    try:
        task(worker)
    except Exception as error:  # noqa: BLE001 - reported by the parent, which goes on
        telling.send(str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}")
        sys.exit(1)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
