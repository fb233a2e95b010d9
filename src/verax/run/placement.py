"""Where a run is computed: the executor, its workers and their devices."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal, cast, get_args

import torch

from verax.models.devices import resolve_device
from verax.types import UserError

ExecutorName = Literal["inline", "processes", "ray"]


@dataclass(frozen=True)
class Placement:
    """Where a run is computed; its rows do not depend on it.

    Args:
        executor: `inline` in this process, `processes` in workers on this machine, `ray` in actors of a Ray cluster.
        workers: number of workers; by default one for each GPU or, on a CPU, for each core (`ray`: whatever the
            cluster has room for).
        address: of a running Ray cluster; by default one is started on this machine.
        cpus_per_worker: cores of a Ray worker.
    """

    executor: ExecutorName = "inline"
    workers: int | None = None
    address: str | None = None
    cpus_per_worker: int = 1

    def __post_init__(self) -> None:
        if self.executor == "inline" and (self.workers or 1) > 1:
            raise UserError(f"workers: got {self.workers}, and `inline` computes in this process; use `processes`")
        if self.executor != "ray" and (self.address is not None or self.cpus_per_worker != 1):
            raise UserError(f"address and cpus_per_worker are for the executor `ray`, not for {self.executor!r}")


INLINE = Placement()


def placement_of(executor: str | None, workers: int | None, address: str | None, cpus_per_worker: int) -> Placement:
    """The placement that options name; several workers are processes unless they are said to be Ray's."""
    if executor not in {None, *get_args(ExecutorName)}:
        raise UserError(f"executor: got {executor!r}; use one of {', '.join(get_args(ExecutorName))}")
    implied = "ray" if address is not None else "inline" if workers is None else "processes"
    return Placement(cast("ExecutorName", executor or implied), workers, address, cpus_per_worker)


def check_workers(workers: int, device: str = "cpu") -> None:
    """Reject more workers than this machine has cores or, where they compute on GPUs, GPUs."""
    if resolve_device(device).type == "cuda":
        gpus = torch.cuda.device_count()
        if workers > gpus:
            raise UserError(
                f"workers: got {workers}, and this machine has {gpus} GPUs; use at most one worker for each"
            )
    cores = os.cpu_count() or 1
    if workers > cores:
        raise UserError(f"workers: got {workers}, and this machine has {cores} cores; use at most as many")


def device_of_worker(device: str, worker: int) -> str:
    """The device of a worker: of several GPUs, each worker has its own."""
    found = str(resolve_device(device))
    return f"cuda:{worker % torch.cuda.device_count()}" if found == "cuda" else found
