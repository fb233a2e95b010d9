"""What workers gain and cost: rows per second, start-up, and the driver's memory.

    python -m bench.scale                     # speed: inline, processes, ray, in turn
    python -m bench.scale --memory            # the driver at 100,000 and 1,000,000 rows

Speed is measured on the same inputs in turn, without start-up and without the store. The memory of the driver is that
of a process whose workers answer at once: all that remains is receiving, accounting and storing rows.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from verax.run.execute import Execution, Shard, Work, engine_of
from verax.run.executors import Executor, InlineExecutor
from verax.run.executors.opening import open_executor
from verax.run.executors.supervisor import WorkerExecutor
from verax.run.executors.worker import Begun, Computed, Message, Order, Ready
from verax.run.placement import ExecutorName, Placement
from verax.run.plan import Plan
from verax.run.prepare import Prepared, prepare
from verax.run.spec import parse_spec
from verax.store.store import Store
from verax.types import Score

QUIET = Console(quiet=True)
METHODS = ["random", "leave_one_out", "integrated_gradients", "kernel_shap"]
METRICS = ["comprehensiveness", "sufficiency", "complexity"]


def prepared_run(limit: int) -> Prepared:
    """A run of the shipped model."""
    data = {"name": "world/nli", "split": "train", "limit": limit}
    spec = {"model": {"name": "world/nli", "device": "cpu"}, "data": data, "methods": METHODS, "metrics": METRICS}
    return prepare(parse_spec(spec))


def shards_of(plan: Plan, first: int, last: int) -> Iterator[Shard]:
    """The whole work on some inputs, in shards of 16."""
    instances = plan.run.data.instances[first:last]
    works = [Work(planned, set(planned.row_keys()), {}, {}) for planned in map(plan.planned, instances)]
    return (tuple(works[i : i + 16]) for i in range(0, len(works), 16))


def timed(executor: Executor, plan: Plan, first: int, last: int) -> tuple[int, float]:
    """Rows of some inputs, and seconds until the last one."""
    start = time.perf_counter()
    rows = sum(1 for _ in executor.map(shards_of(plan, first, last)))
    return rows, time.perf_counter() - start


def speed(inputs: int, repeats: int, names: list[ExecutorName]) -> dict[str, Any]:
    """Rows per second of executors in turn, and seconds until their workers answer."""
    prepared = prepared_run(inputs * repeats + 8)
    plan = prepared.plan
    inline = InlineExecutor(Execution(plan, engine_of(plan)))
    executors: dict[str, Executor] = {}
    start_up: dict[str, float] = {}
    for name in names:
        placement = Placement(name, None if name == "inline" else 2)
        executors[name] = open_executor(placement, prepared, plan, frozenset(), QUIET, inline)
        start_up[name] = timed(executors[name], plan, 0, 8)[1]
    per_second: dict[str, list[float]] = {name: [] for name in names}
    for repeat in range(repeats):
        for name in names:
            rows, seconds = timed(executors[name], plan, 8 + repeat * inputs, 8 + (repeat + 1) * inputs)
            per_second[name].append(rows / seconds)
            print(f"  {name:10} {rows} rows in {seconds:.1f} s", flush=True)
    for name in names:
        executors[name].close()
    medians = {name: statistics.median(values) for name, values in per_second.items()}

    def ratio(name: str, other: str) -> float | None:
        both = zip(per_second.get(name, ()), per_second.get(other, ()), strict=True)
        ratios = [one / two for one, two in both]
        return round(statistics.median(ratios), 3) if ratios else None

    return {
        "threads": torch.get_num_threads(),
        "rows_per_second": {name: round(value, 1) for name, value in medians.items()},
        "first_rows_after_s": {name: round(value, 1) for name, value in start_up.items()},
        "processes_over_inline": ratio("processes", "inline"),
        "ray_over_processes": ratio("ray", "processes"),
    }


class Instant:
    """Workers that answer at once, with rows of a plausible size."""

    capacity = 2

    def __init__(self) -> None:
        self._waiting: list[tuple[int, Message]] = []

    def start(self, worker: int) -> None:
        """Be ready."""
        self._waiting.append((worker, Ready()))

    def send(self, worker: int, shard: tuple[Order, ...]) -> None:
        """Answer every row."""
        self._waiting.append((worker, Begun()))
        for order in shard:
            for key in order.todo:
                row = Score(order.instance, "method", "metric", 0.5, curve=(0.1, 0.2, 0.3, 0.4, 0.5))
                self._waiting.append((worker, Computed(key, row)))

    def receive(self) -> Iterator[tuple[int, Message]]:
        """Everything so far."""
        waiting, self._waiting = self._waiting, []
        yield from waiting

    def name(self, worker: int) -> str:
        """Never shown."""
        return str(worker)

    def close(self) -> None:
        """Nothing to end."""


def memory_at(rows: int) -> None:
    """Store rows of instant workers, and print the peak memory of this process above what it was before."""
    prepared = prepared_run(100)
    planned = list(prepared.plan)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    each = 20

    def shards() -> Iterator[Shard]:
        for number in range(rows // each):
            one = planned[number % len(planned)]
            instance = one.instance.__class__(f"i{number}", one.instance.parts)
            keys = {f"{number * each + i:064x}" for i in range(each)}
            yield (Work(one.__class__(instance, "", None, ()), keys, {}, {}),)

    start = time.perf_counter()
    with tempfile.TemporaryDirectory() as scratch, Store.open(Path(scratch) / "run") as store:
        with closing(WorkerExecutor(Instant(), lambda _: 1.0, print)) as executor:
            for key, row in executor.map(shards()):
                store.append(key, row)
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(json.dumps({"rows": rows, "seconds": round(seconds, 1), "mb_above_start": round((peak - before) / 1024)}))


def main() -> None:
    """Measure what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--rows", type=int, help="with --memory: one size, in this process")
    parser.add_argument("--inputs", type=int, default=60, help="inputs of one measurement")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--without-ray", action="store_true")
    given = parser.parse_args()
    if given.rows:
        memory_at(given.rows)
    elif given.memory:
        for rows in (100_000, 1_000_000):
            subprocess.run([sys.executable, "-m", "bench.scale", "--rows", str(rows)], check=True)
    else:
        names: list[ExecutorName] = ["inline", "processes"]
        if not given.without_ray:
            names.append("ray")
        print(json.dumps(speed(given.inputs, given.repeats, names), indent=1))


if __name__ == "__main__":
    main()
