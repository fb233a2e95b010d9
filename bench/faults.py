"""Kill workers, actors, nodes and drivers at random times: every row arrives once and is the undisturbed run's.

    python -m bench.faults --kills 200              # both executors
    python -m bench.faults --kills 10 --executor ray --seed 3

A driver process runs a spec of float64 rows on the shipped model. Again and again something is killed: a worker or all
of them at once, sometimes the driver, which is then started again in the same folder, and under Ray sometimes a node of
three, in whose place another one joins. When the number is reached or the run is over, it is finished by processes or
inline, and compared with a run that nothing disturbed; then the next run begins.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import yaml

from verax.run.executors.supervisor import STARTS
from verax.store.read import read_rows
from verax.store.tables import Row, encode
from verax.types import Cost

SPEC: dict[str, Any] = {
    "model": {"name": "world/nli", "dtype": "float64", "device": "cpu"},
    "data": {"name": "world/nli"},
    "methods": ["random", "leave_one_out", "saliency"],
    "metrics": ["comprehensiveness", "complexity"],
}
WORKERS = 2
PATIENCE = 180.0
"""Seconds in which a driver has rows to show after it was started."""


class Campaign:
    """One folder of a run, and what is done to the processes that fill it.

    Args:
        place: a folder for the run and its spec.
        options: of `verax run`, which name the executor.
        limit: number of inputs.
    """

    def __init__(self, place: Path, options: list[str], limit: int) -> None:
        self.out, self._spec, self._options = place / "run", place / "spec.yaml", options
        self._spec.write_text(yaml.safe_dump({**SPEC, "data": {**SPEC["data"], "limit": limit}}))
        self._driver: subprocess.Popen[bytes] | None = None
        self._log = place / "log.txt"

    def command(self, *options: str, out: Path | None = None) -> list[str]:
        """The command that fills the folder."""
        return [sys.executable, "-m", "verax", "run", str(self._spec), "--out", str(out or self.out), *options]

    def driver(self) -> psutil.Process | None:
        """The driver, started if there is none; None if it has finished the run."""
        if self._driver is None:
            with self._log.open("ab") as log:
                self._driver = subprocess.Popen(self.command(*self._options), stdout=log, stderr=log)
        code = self._driver.poll()
        if code is None:
            return psutil.Process(self._driver.pid)
        if code not in {0, 1}:  # 1: finished, but an input killed two workers
            raise RuntimeError(f"the driver ended with {code}: {self._log.read_text()[-2000:]}")
        return None

    def stored(self) -> int:
        """Bytes in the folder of the run, which grow with its rows."""
        files = [path for path in self.out.rglob("*") if path.suffix in {".log", ".parquet"}]
        return sum(path.stat().st_size for path in files if path.exists())

    def kill_driver(self, number: int, workers: list[psutil.Process]) -> None:
        """End the driver by a signal, and see its workers end."""
        assert self._driver is not None  # noqa: S101 - `driver` has started it
        self._driver.send_signal(number)
        self._driver.wait(timeout=PATIENCE)
        self._driver = None
        orphans = psutil.wait_procs(workers, timeout=60)[1]
        if orphans:
            raise RuntimeError(f"orphans of the driver: {[one.cmdline() for one in orphans]}")

    def finish(self, *options: str) -> None:
        """Let the run end, if need be by another executor, and once more for rows whose worker was killed twice."""
        if self._driver is not None and (driver := self.driver()) is not None:
            driver.send_signal(signal.SIGTERM)
        if self._driver is not None:
            self._driver.wait()
        if subprocess.run(self.command(*options), check=False, capture_output=True).returncode:
            subprocess.run(self.command(), check=True, capture_output=True)


def rows_in(folder: Path) -> Counter[tuple[str, str]]:
    """How often each row is stored: its key and its content without what it cost."""
    found: Counter[tuple[str, str]] = Counter()
    for key, row in read_rows(folder):
        found[key, str(encode(key, 0, _without_cost(row)))] += 1
    return found


def _without_cost(row: Row) -> Row:
    changes: dict[str, Any] = {"cost": Cost()} if hasattr(row, "cost") else {}
    return replace(row, **changes)


def compare(folder: Path, undisturbed: Path) -> dict[str, int]:
    """Rows that are lost, doubled and different."""
    rows, expected = rows_in(folder), rows_in(undisturbed)
    keys, wanted = Counter(key for key, _ in rows.elements()), {key for key, _ in expected}
    return {
        "lost": len(wanted - set(keys)),
        "doubled": sum(count - 1 for count in keys.values()),
        "different": sum(key in keys and (key, text) not in rows for key, text in expected),
    }


def workers_of(driver: psutil.Process) -> list[psutil.Process]:
    """The worker processes of a driver."""
    return [one for one in driver.children() if "executors.child" in " ".join(one.cmdline())]


def actors(_: psutil.Process) -> list[psutil.Process]:
    """The actors of the cluster that this process has started, whichever node they belong to."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if process.name().startswith("ray::Actor"):
                found.append(process)
    return found


def disturb(
    campaign: Campaign,
    kills: int,
    rng: random.Random,
    workers: Callable[[psutil.Process], list[psutil.Process]],
    kill_node: Callable[[], None] | None,
) -> Counter[str]:
    """Kill until the number is reached or the run is finished; returns what was killed how often."""
    killed: Counter[str] = Counter()
    since_rows = 0  # workers killed since the last new row: of five in a row that die while they load the run ends
    while killed.total() < kills and (driver := campaign.driver()) is not None:
        # at any time, while workers load, too; but half of the time not before there are new rows
        before, patience = campaign.stored(), rng.choice([rng.uniform(0, 8), PATIENCE])
        until = time.monotonic() + (PATIENCE if since_rows + WORKERS >= STARTS else patience)
        while campaign.stored() == before and time.monotonic() < until and campaign.driver() is not None:
            time.sleep(0.1)
        time.sleep(rng.uniform(0, 2))
        if campaign.stored() != before:
            since_rows = 0
        choice, alive = rng.random(), _alive(workers, driver)
        if campaign.driver() is None:
            break
        if choice < 0.1:
            campaign.kill_driver(rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT]), alive)
            killed["driver"] += 1
        elif choice < 0.2 and kill_node is not None:
            kill_node()
            killed["node"] += 1
        elif alive and since_rows + WORKERS < STARTS:
            # both at the same time, too
            victims = rng.sample(alive, min(rng.choice([1, len(alive)]), kills - killed.total()))
            died = sum(_kill(one, rng) for one in victims)
            killed["worker"] += died
            since_rows += died
        print(f"{campaign.stored()} bytes, {dict(killed)}", file=sys.stderr, flush=True)
    return killed


def _alive(workers: Callable[[psutil.Process], list[psutil.Process]], driver: psutil.Process) -> list[psutil.Process]:
    try:
        return workers(driver)
    except psutil.NoSuchProcess:
        return []


def _kill(process: psutil.Process, rng: random.Random) -> bool:
    """Kill a process in one of several ways; False if it has ended."""
    try:
        process.send_signal(rng.choice([signal.SIGKILL, signal.SIGSEGV, signal.SIGABRT, signal.SIGILL]))
    except psutil.NoSuchProcess:
        return False
    return True


@contextmanager
def ray_cluster() -> Iterator[tuple[str, Callable[[], None]]]:
    """The address of a cluster of three nodes on this machine, and a function that replaces one of them."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    from ray.cluster_utils import Cluster  # noqa: PLC0415 - an extra

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
    cluster.wait_for_nodes()

    def replace_node() -> None:
        cluster.remove_node(nodes.pop(0), allow_graceful=False)
        nodes.append(cluster.add_node(num_cpus=1))

    try:
        yield cluster.address, replace_node
    finally:
        cluster.shutdown()


def campaign(executor: str, kills: int, limit: int, seed: int, undisturbed: Path) -> dict[str, Any]:
    """One campaign against an executor; `undisturbed` is the folder of a run that nothing disturbed."""
    rng, killed, start = random.Random(seed), Counter[str](), time.monotonic()
    totals: Counter[str] = Counter()
    while killed.total() < kills:
        with tempfile.TemporaryDirectory() as place:
            killed += _one_run(executor, Path(place), kills - killed.total(), limit, rng)
            totals.update(compare(Path(place) / "run", undisturbed))
            totals["runs"] += 1
        so_far = f"{executor}: {dict(killed)}, {dict(totals)} after {(time.monotonic() - start) / 60:.1f} min"
        print(so_far, file=sys.stderr, flush=True)
    return {"executor": executor, "killed": dict(killed), **totals}


def _one_run(executor: str, place: Path, kills: int, limit: int, rng: random.Random) -> Counter[str]:
    others: list[list[str]] = [[], ["--workers", str(WORKERS)]]
    if executor == "processes":
        run = Campaign(place, ["--workers", str(WORKERS)], limit)
        killed = disturb(run, kills, rng, workers_of, None)
        run.finish(*rng.choice(others))
        return killed
    with ray_cluster() as (address, replace_node):
        run = Campaign(place, ["--executor", "ray", "--address", address], limit)
        killed = disturb(run, kills, rng, actors, replace_node)
        run.finish(*rng.choice(others))
    return killed


def main() -> None:
    """Run the campaign of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--executor", choices=["processes", "ray", "both"], default="both")
    parser.add_argument("--limit", type=int, default=200, help="inputs of a run")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background, and so by drivers
    names = ["processes", "ray"] if given.executor == "both" else [given.executor]
    bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        undisturbed = Campaign(Path(scratch), [], given.limit)
        subprocess.run(undisturbed.command(), check=True, capture_output=True)
        for name in names:
            verdict = campaign(name, given.kills // len(names), given.limit, given.seed, undisturbed.out)
            bad += verdict["lost"] + verdict["doubled"] + verdict["different"]
            print(json.dumps(verdict) if given.json else verdict, flush=True)
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
