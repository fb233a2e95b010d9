"""Peak memory of whole runs of different length: it should not grow with the number of rows.

    python -m bench.memory
    python -m bench.memory --rows 18000 54000 --json

A small random BERT on pairs of random words, explained, measured, stored and closed as by `verax run`, in a process of
its own. Peak memory is that of the process, with its modules and the model; the data and what is known of each row
(32 bytes of its key) grow with the run by design.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from bench.models import PairMaker, random_bert
from verax.run.execute_run import execute_run
from verax.run.prepare import prepare
from verax.run.spec import parse_spec
from verax.types import Dataset, Human

ROWS = (18_000, 54_000)
METHODS = ("random", "leave_one_out", "saliency", "input_x_gradient", "occlusion")
METRICS = ("comprehensiveness", "sufficiency", "agreement", "complexity")
PER_INPUT = 2 + len(METHODS) * (1 + len(METRICS))
"""Rows of an input: itself, its prediction, explanations and scores."""
MOST_GROWTH = 1.15
"""Largest peak of the longest run, relative to that of the shortest."""


def run(rows: int, folder: Path) -> dict[str, float]:
    """Compute a run of so many rows in this process; its rows and peak memory in MB, and what was needed to begin."""
    _, _, model = random_bert(layers=2, hidden=64)
    made = PairMaker(seed=2).instances(rows // PER_INPUT)
    data = Dataset("pairs", tuple(replace(i, human=Human(words=((0, 2), (1,)))) for i in made), ("a", "b", "c"))
    spec = parse_spec({"model": "random", "data": "pairs", "methods": METHODS, "metrics": METRICS})
    prepared = prepare(spec, model, data)
    start = _peak()
    done = execute_run(prepared, folder, command="bench.memory", console=Console(quiet=True))
    counts = done.manifest.counts
    return {"rows": 0 if counts is None else counts.rows + len(made), "start": start, "peak": _peak()}


def _peak() -> float:
    """Peak memory of this process in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def in_a_process(rows: int) -> dict[str, float]:
    """The same in a process of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "bench.memory", "--here", str(rows)]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure, and print the figures; exit 1 if memory grows with the rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="lengths of the runs")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--here", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here is not None:
        with tempfile.TemporaryDirectory(prefix="verax-memory-") as folder:
            print(json.dumps(run(options.here, Path(folder) / "run")))
        return
    found = [in_a_process(rows) for rows in options.rows]
    growth = max(one["peak"] for one in found) / found[0]["peak"]
    if options.json:
        print(json.dumps({"runs": found, "growth": growth}))
    else:
        for one in found:
            print(f"{one['rows']:>8,.0f} rows: peak {one['peak']:,.0f} MB ({one['start']:,.0f} MB at the start)")
        print(f"the longest run needs {growth:.2f} times the memory of the shortest (at most {MOST_GROWTH})")
    sys.exit(growth > MOST_GROWTH)


if __name__ == "__main__":
    main()
