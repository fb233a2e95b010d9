"""Open the executor that a placement names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from verax.run.endpoint import endpoint_of
from verax.run.execute import Work
from verax.run.executors import Executor, InlineExecutor
from verax.run.executors.processes import Processes
from verax.run.executors.ray import RayWorkers
from verax.run.executors.supervisor import WorkerExecutor
from verax.run.executors.worker import Assignment
from verax.run.placement import Placement, check_workers, gpu_count
from verax.run.plan import Plan, length
from verax.run.prepare import Prepared
from verax.types import UserError


def open_executor(
    placement: Placement,
    prepared: Prepared,
    plan: Plan,
    again: frozenset[str],
    console: Console,
    inline: InlineExecutor,
) -> Executor:
    """The executor of a run; no worker is started before there is work.

    Args:
        plan: of the run, with other keys for the stored rows in `again`.
        inline: the executor of this process.
    """
    if placement.executor == "inline":
        return inline
    recipe = prepared.recipe
    if recipe.model is not None:
        raise UserError(
            f"workers: each loads the model itself, and {plan.run.model.name!r} is an object in this process; save it "
            "to a folder and name that, name a function as python:module:function, or use the executor inline"
        )
    if endpoint_of(plan.run.model) is not None:
        raise UserError(
            "workers: an endpoint is asked by one process, many requests at a time; set model.endpoint.concurrency"
        )
    if recipe.spec.model.device_map is not None:
        raise UserError("workers: device_map spreads one model over all devices; leave one of the two out")
    device = recipe.spec.model.device
    assignment = Assignment.of(recipe, plan, again)

    def cost(work: Work) -> float:
        present = set(work.planned.row_keys()) - set(work.todo)
        loads = list(plan.missing(work.planned, present))
        passes = sum(1 + load.passes.forward + 2 * load.passes.backward + load.inputs for load in loads)
        return float(passes * (1 + length(work.planned.instance)))

    def say(line: str) -> None:
        console.print(Text(line, "yellow"), soft_wrap=True)

    if placement.executor == "ray":
        return WorkerExecutor(RayWorkers(assignment, placement, say), cost, say)
    workers = placement.workers or gpu_count(device) or os.cpu_count() or 1
    check_workers(workers, device)
    return WorkerExecutor(Processes(assignment, workers), cost, say)


class SharedExecutor:
    """The executor of a run; workers of a run until decided are kept from look to look.

    Args:
        prepared: the run with all its inputs.
    """

    def __init__(self, placement: Placement, prepared: Prepared, console: Console) -> None:
        self.placement, self._prepared, self._console = placement, prepared, console
        self._opened: tuple[frozenset[str], Executor] | None = None

    @contextmanager
    def open(self, again: frozenset[str], inline: InlineExecutor) -> Iterator[Executor]:
        """The executor for some of the inputs; workers are replaced if other rows are to be computed again."""
        if self.placement.executor == "inline":
            yield inline
            return
        if self._opened is None or self._opened[0] != again:
            self.close()
            plan = self._prepared.plan_again(again)
            executor = open_executor(self.placement, self._prepared, plan, again, self._console, inline)
            self._opened = (again, executor)
        yield self._opened[1]
        if self._prepared.run.until_decided is None:
            self.close()

    def close(self) -> None:
        """End all workers."""
        if self._opened is not None:
            self._opened[1].close()
            self._opened = None
