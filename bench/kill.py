"""Kill a run with SIGKILL at random points, again and again, and look whether it keeps its promises.

    python -m bench.kill --times 200

A child process executes a small run and writes down, outside the run's folder, each row that it computed and each
row that the store acknowledged. It is killed; what it acknowledged must be there, and the next child must not compute
it again. When a child comes through alive, the finished run must equal one that was never disturbed, bit for bit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from bench.models import PairMaker, random_bert
from verax.results.run import Run
from verax.run import execute_run as driver
from verax.run.prepare import Prepared, prepare
from verax.run.spec import parse_spec
from verax.store.read import read_keys
from verax.store.store import Store
from verax.types import Dataset, Human

METHODS = ("random", "leave_one_out", "saliency")
METRICS = ("comprehensiveness", "agreement", "complexity")
SEAL_EVERY = 50


@dataclass
class Verdict:
    """What a campaign found; all but the first two must be zero."""

    kills: int = 0
    finished: int = 0
    lost: int = 0
    recomputed: int = 0
    doubled: int = 0
    different: int = 0

    @property
    def holds(self) -> bool:
        """Whether every promise was kept."""
        return not (self.lost or self.recomputed or self.doubled or self.different)


class Witness:
    """A file next to the run that outlives the child: what was computed (+) and what was acknowledged (!)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch()

    def write(self, mark: str, keys: Iterable[str]) -> None:
        """One write for all keys, so that a kill can't tear a line that says `acknowledged`."""
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        os.write(descriptor, "".join(f"{mark}{key}\n" for key in keys).encode())
        os.close(descriptor)

    def read(self, mark: str) -> list[str]:
        """All keys under a mark, in the order they were written."""
        return [line[1:] for line in self._path.read_text().splitlines() if line.startswith(mark)]


def prepare_pairs(instances: int) -> Prepared:
    """A small run: a random model in float64 on pairs of random words."""
    # in float64 rows are equal to the bit; in float32 the rounding of another batch can swap two words
    _, _, model = random_bert(layers=2, hidden=64, dtype=torch.float64)
    made = PairMaker(seed=2).instances(instances)
    data = Dataset("pairs", tuple(replace(i, human=Human(words=((0, 2), (1,)))) for i in made), ("a", "b", "c"))
    spec = parse_spec({"model": "random", "data": "pairs", "methods": METHODS, "metrics": METRICS, "token_budget": 512})
    return prepare(spec, model, data)


def _execute(prepared: Prepared, folder: Path, witness: Witness | None) -> None:
    class Watched(Store):
        """Writes down what it is given, and what it has acknowledged."""

        _fresh: list[str]

        @classmethod
        def open(cls, folder: Path, **options: Any) -> Any:
            return super().open(folder, **{**options, "seal_every": SEAL_EVERY})

        def append(self, key: str, value: Any) -> None:
            self.__dict__.setdefault("_fresh", []).append(key)
            if witness is not None:
                witness.write("+", [key])
            super().append(key, value)

        def flush(self) -> None:
            appended = [key for key in self.__dict__.get("_fresh", []) if key in self.keys]
            super().flush()
            if witness is not None:
                witness.write("!", appended)
            self._fresh = []

    setattr(driver, "Store", Watched)  # noqa: B010 - the child is its own process: nobody else sees this
    driver.execute_run(prepared, folder, command="bench.kill", console=Console(quiet=True))


def _numbers(folder: Path) -> dict[tuple[str, ...], list[float]]:
    """Every number that a run holds, by what it is about."""
    run = Run(folder)
    found: dict[tuple[str, ...], list[float]] = {
        ("counts",): [float(run.tables.card["counts"][name]) for name in ("rows", "done", "failed", "skipped")]
    }
    for prediction in run.predictions():
        found["prediction", prediction.instance_id] = list(prediction.probabilities)
    for highlight in run.highlights():
        found["highlight", highlight.instance_id, highlight.method] = list(highlight.scores)
    for score in run.score_rows():
        found[score.instance_id, score.method, score.metric] = [float("inf") if score.value is None else score.value]
    return found


def _child(prepared: Prepared, folder: Path, witness: Witness) -> int:
    """Fork, so that a round does not pay for importing torch; the parent never computed in more than one thread."""
    pid = os.fork()
    if pid == 0:
        try:
            _execute(prepared, folder, witness)
            os._exit(0)
        except BaseException as error:  # noqa: BLE001 - a child that fails must be seen by its parent, by exit code
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    return pid


def campaign(times: int, seed: int, instances: int, minutes: float | None = None) -> Verdict:
    """Kill so many times, or for so many minutes; a run that comes through is checked and a new one begun."""
    torch.set_num_threads(1)
    rng, verdict, prepared = random.Random(seed), Verdict(), prepare_pairs(instances)
    with tempfile.TemporaryDirectory(prefix="verax-kill-") as name:
        root = Path(name)
        start = time.perf_counter()
        pid = _child(prepared, root / "undisturbed", Witness(root / "undisturbed.log"))
        if os.waitpid(pid, 0)[1] != 0:
            raise RuntimeError("the undisturbed run failed")
        whole = time.perf_counter() - start
        expected = _numbers(root / "undisturbed")
        end = time.perf_counter() + 60 * (minutes or math.inf)
        while verdict.kills < times and time.perf_counter() < end:
            folder = root / f"run-{verdict.finished}"
            witness = Witness(root / f"run-{verdict.finished}.log")
            acknowledged = set(witness.read("!"))
            computed_before = len(witness.read("+"))
            pid = _child(prepared, folder, witness)
            if _killed(pid, rng.uniform(0, whole / 2)):
                verdict.kills += 1
            else:
                verdict.finished += 1
                verdict.different += _numbers(folder) != expected
            again = witness.read("+")[computed_before:]
            verdict.recomputed += len(acknowledged.intersection(again))
            present = _all_keys(folder)
            verdict.doubled += len(present) - len(set(present))
            verdict.lost += len(set(witness.read("!")) - set(present))
    return verdict


def _all_keys(folder: Path) -> list[str]:
    """Each key as often as the run holds it; none if the child was killed before the folder was a run."""
    if not read_keys(folder):
        return []
    with Store.open(folder) as store:
        return [key for key, _ in store.rows()]


def _killed(pid: int, after: float) -> bool:
    """Kill a child after some seconds, unless it has come to its end by then; an end that is no success is raised."""
    end = time.perf_counter() + after
    while time.perf_counter() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if status != 0:
                raise RuntimeError(f"a child ended with status {status}")
            return False
        time.sleep(0.001)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


def main() -> None:
    """Run a campaign and print what it found; exit 1 if a promise was broken."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=100, help="how many kills")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--instances", type=int, default=24)
    parser.add_argument("--minutes", type=float, help="stop after so many minutes")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    verdict = campaign(options.times, options.seed, options.instances, options.minutes)
    found = asdict(verdict)
    print(json.dumps(found) if options.json else ", ".join(f"{name} {value}" for name, value in found.items()))
    sys.exit(0 if verdict.holds else 1)


if __name__ == "__main__":
    main()
