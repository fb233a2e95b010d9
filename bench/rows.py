"""Time and peak memory of a large run: planning, writing, resuming, reading columns, closing, showing, reporting.

    python -m bench.rows
    python -m bench.rows --rows 1000000 --stages close show --json

A synthetic run has 25 explanations of each instance and five scores of each explanation: a million scores belong to
8,000 instances and 200,000 explanations. It is planned by a small random BERT and written through the store, but its
values are random numbers. Each stage runs in a process of its own, and memory is its peak above what the process needed
before the stage, with all modules imported. Times should grow linearly with the rows, and memory more slowly.
"""
# ruff: noqa: PLC0415 - each stage imports what it needs before it is measured

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verax.run.prepare import Prepared
    from verax.store.store import Store

ROWS = (100_000, 1_000_000)
METHODS = ("random", *({"integrated_gradients": {"steps": 10 * number}} for number in range(1, 25)))
METRICS = (
    "comprehensiveness",
    "sufficiency",
    "complexity",
    {"comprehensiveness_flips": {"words": [1, 3, 5]}},
    {"sufficiency_flips": {"words": [1, 3, 5]}},
)
SCORES = len(METHODS) * len(METRICS)
"""Of each instance."""
TOGETHER = 64
"""Instances whose rows come mixed, as the engine computes them."""
TARGETS = {"close": (20.0, 700.0), "show": (20.0, 700.0)}
"""At most so many seconds and megabytes at a million scores."""

Work = Callable[[], object]


def plan(rows: int, _: Path) -> Work:
    """Lay out the rows of the run; model and data are there."""
    prepare = _preparation(rows)

    def work() -> None:
        planned = sum(1 for instance in prepare().plan for _ in instance.row_keys())
        _check(planned, rows + rows // SCORES * (len(METHODS) + 1))

    return work


def write(rows: int, folder: Path) -> Work:
    """Write the run, with its card and its plan."""
    from verax.results.manifest import Manifest
    from verax.run.card import opening_manifest
    from verax.run.plan import PlanKeys
    from verax.store import store as writing
    from verax.store.store import Store

    writing.SYNC_ROWS = writing.SEAL_ROWS  # nothing here is worth an fsync for every 32 rows
    prepared = _preparation(rows)()
    counted = prepared.plan.remaining(()).rows

    def work() -> None:
        planned = prepared.plan
        with Store.open(folder) as store:
            manifest = opening_manifest(planned, rows=counted, command="python -m bench.rows", earlier=Manifest())
            store.write_card(manifest.card())
            store.write_plan(PlanKeys(planned))
            _append(store, prepared)

    return work


def resume(rows: int, folder: Path) -> Work:
    """Open the run for writing, plan it, look each planned row up, and write the plan again."""
    from verax.run.plan import PlanKeys
    from verax.store.store import Store

    prepared = _preparation(rows)()

    def work() -> None:
        with Store.open(folder) as store:
            left = prepared.plan.remaining(store.keys)
            _check(left.rows - left.done, 0)
            store.write_plan(PlanKeys(prepared.plan))

    return work


def columns(rows: int, folder: Path) -> Work:
    """Read what an analysis of scores needs."""
    from verax.store.read import RunTables

    names = ("instance_id", "method", "metric", "value", "reason")
    return lambda: _check(RunTables.open(folder).table("scores", names).num_rows, rows)


def close(rows: int, folder: Path) -> Work:
    """Seal the run and count its rows into the card, as at the end of `verax run`."""
    from verax.results.manifest import Manifest
    from verax.run.card import closing_manifest
    from verax.store.read import RunTables
    from verax.store.store import Store

    def work() -> None:
        with Store.open(folder) as store:
            store.seal()
            final = closing_manifest(Manifest.read(store.card)[0], RunTables.open(folder)).card()
            store.write_card(final)
        _check(final["counts"]["rows"], rows + rows // SCORES * (len(METHODS) + 1))

    return work


def show(_: int, folder: Path) -> Work:
    """Print the leaderboard."""
    import verax.cli.show  # noqa: F401 - what the command imports

    return _command("show", str(folder))


def report(_: int, folder: Path) -> Work:
    """Write the report."""
    import verax.report.page  # noqa: F401 - what the command imports

    return _command("report", str(folder), "--output", str(folder.parent / "report.html"))


STAGES = {stage.__name__: stage for stage in (plan, write, resume, columns, close, show, report)}


def _preparation(rows: int) -> Callable[[], Prepared]:
    """The function that plans the run; the model and the data are made first."""
    from bench.models import PairMaker, random_bert
    from verax.run.prepare import prepare
    from verax.run.spec import parse_spec
    from verax.types import Dataset

    _, _, model = random_bert(layers=2, hidden=64)
    data = Dataset("pairs", tuple(PairMaker(seed=2).instances(rows // SCORES)), ("a", "b", "c"))
    spec = parse_spec({"model": "random", "data": "pairs", "methods": METHODS, "metrics": METRICS})
    return lambda: prepare(spec, model, data)


def _append(store: Store, prepared: Prepared) -> None:
    """Append all rows of the plan, group by group: predictions first, then explanations, then scores."""
    import numpy as np

    from verax.types import Cost, Highlight, Prediction, Score, Target

    rng = np.random.default_rng(0)
    instances = iter(prepared.plan)
    while group := list(islice(instances, TOGETHER)):
        for planned in group:
            store.append(planned.key, planned.instance)
            prediction = Prediction(planned.instance.id, "a", ("a", "b", "c"), (0.5, 0.25, 0.25), Cost(1, 1))
            store.append(planned.prediction or "", prediction)
        explanations = [(planned.instance, one) for planned in group for one in planned.explanations]
        for instance, one in explanations:
            scores, units = rng.standard_normal(len(instance.units)), instance.units
            notes = {"completeness_error": float(rng.exponential(0.01))}
            cost = Cost(9, 8, 7, 6, float(rng.random()))
            store.append(
                one.key, Highlight(instance.id, one.label, "token", Target(), units, tuple(scores), cost, notes)
            )
        for number in range(len(METRICS)):
            for instance, one in explanations:
                score, cost = one.scores[number], Cost(9, 8, 0, 0, float(rng.random()))
                value, names = float(rng.standard_normal()), (instance.id, one.label, score.metric.label)
                row = Score(*names, value, cost=cost) if value < 2.5 else Score(*names, None, "empty", cost=cost)
                store.append(score.key, row)


def _command(*arguments: str) -> Work:
    from verax.cli import main

    def work() -> None:
        sys.argv = ["verax", *arguments]
        try:
            main()
        except SystemExit as end:
            _check(int(end.code or 0), 0)

    return work


def _check(got: int, expected: int) -> None:
    if got != expected:
        raise AssertionError(f"got {got}, expected {expected}")


def _peak() -> float:
    """Peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def _measure(stage: str, rows: int, folder: Path) -> dict[str, float]:
    """Run a stage in this process."""
    work = STAGES[stage](rows, folder)
    bare, start, cpu = _peak(), time.perf_counter(), time.process_time()
    work()
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {"seconds": seconds, "cpu_seconds": cpu, "megabytes": _peak() - bare, "bare": bare}


def _in_a_process(stage: str, rows: int, folder: Path) -> dict[str, float]:
    """Run a stage in a process of its own, and return what it measured: its last line."""
    command = [sys.executable, "-m", "bench.rows", "--stage", stage, "--rows", str(rows), "--folder", str(folder)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "160"}
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, text=True, check=True)
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def main() -> None:
    """Measure the stages at each size, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="numbers of scores")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES), help="all by default")
    parser.add_argument("--folder", type=Path, help="where runs are kept and used again; a temporary one by default")
    parser.add_argument("--stage", choices=STAGES, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    if options.stage:
        print(json.dumps(_measure(options.stage, options.rows[0], options.folder)))
        return
    measured: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="verax-rows-") as temporary:
        for rows in options.rows:
            folder = (options.folder or Path(temporary)) / f"run-{rows}"
            written = (folder / "run.json").exists()
            for stage in STAGES:
                if stage in options.stages or (stage == "write" and not written):
                    if stage == "write" and written:
                        continue
                    measured.append({"rows": rows, "stage": stage, **_in_a_process(stage, rows, folder)})
                    if not options.json:
                        _print(measured[-1])
    if options.json:
        print(json.dumps(measured))


def _print(row: dict[str, Any]) -> None:
    target = TARGETS.get(row["stage"]) if row["rows"] == max(ROWS) else None
    aim = "" if target is None else f"   (target: {target[0]:.0f} s, {target[1]:.0f} MB)"
    print(
        f"{row['rows']:>9,} scores  {row['stage']:<8}{row['seconds']:8.1f} s (CPU {row['cpu_seconds']:.1f} s)"
        f"{row['megabytes']:8.0f} MB above {row['bare']:.0f}{aim}",
        flush=True,
    )


if __name__ == "__main__":
    main()
