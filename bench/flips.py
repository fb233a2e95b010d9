"""Damage the files of a run at random, again and again, and look whether every fault is named.

    python -m bench.flips --times 10000

Each time a copy of a run gets one fault: a bit of a random file is flipped. The runs are a finished one with its
report, one that was stopped half-way, one made by `verax audit`, and one that was computed by workers and has trained
agents. Every file is also deleted, truncated, emptied, and swapped with every other file and with its namesake of
another run. The run is then read as `verax show` reads it, verified, repaired, and read again. A fault is silent if
what is read differs and nothing says so; a crash is any error that is not one clear line.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.console import Console

from bench.kill import prepare_pairs
from verax.report.page import write_report
from verax.results.render.plain import to_json
from verax.results.run import Run
from verax.run.audit import execute_audit, plan_audit
from verax.run.execute_run import execute_run
from verax.run.placement import Placement
from verax.run.prepare import prepare
from verax.run.spec import parse_spec
from verax.store.journal import read_journal, unpack
from verax.store.shards import read_index, read_shard
from verax.store.store import Store
from verax.store.tables import TABLES
from verax.store.verify import verify_folder
from verax.types import UserError

INSTANCES = 6
REBUILT_BY_THE_COMMAND = {"plan.txt", "report.html"}


@dataclass
class Verdict:
    """Faults by their outcome; silent, crashes, lost, changed and unrepaired must be zero.

    Args:
        named: reading or verifying says which file is damaged.
        harmless: the fault changes nothing that is read, such as a bit of the lock file.
        lost: rows that are gone after the repair though the fault was not in their file.
        changed: rows that differ after the repair.
        unrepaired: files that are still damaged after the repair, other than those that the command writes again.
    """

    faults: int = 0
    other_faults: int = 0
    named: int = 0
    harmless: int = 0
    silent: int = 0
    crashes: int = 0
    lost: int = 0
    changed: int = 0
    unrepaired: int = 0

    @property
    def holds(self) -> bool:
        """Whether every fault was noticed and cost no more than its own file."""
        return not (self.silent or self.crashes or self.lost or self.changed or self.unrepaired)


class Sample(NamedTuple):
    """An intact run: what is read from it, its problems, its rows by key, and the keys of the rows of each file."""

    folder: Path
    content: str
    problems: tuple[str, ...]
    rows: dict[str, str]
    keys: dict[str, set[str]]


def make_samples(root: Path) -> list[Sample]:
    """A finished run with its report, a run that was stopped half-way, and another run to swap files with."""
    for name, instances in (("finished", INSTANCES), ("other", INSTANCES + 1)):
        execute_run(prepare_pairs(instances), root / name, command="bench.flips", console=Console(quiet=True))
        write_report(root / name)
    with Store.open(root / "finished") as whole:
        rows, card = list(whole.rows()), whole.card
    with Store.open(root / "writing") as store:
        store.write_card(card)
        store.write_plan((root / "finished" / "plan.txt").read_text().split())
        for number, (key, row) in enumerate(rows[: len(rows) * 2 // 3]):
            store.append(key, row)
            if number == len(rows) // 3:
                store.seal()
        store.flush()
        shutil.copytree(root / "writing", root / "stopped")
    return [_sample(root / "finished"), _sample(root / "stopped")]


def make_more_samples(root: Path) -> list[Sample]:
    """A run made by `verax audit` (until decided), and one that was computed by two workers and has trained agents."""
    quiet = Console(quiet=True)
    audit = {"model": {"name": "world/nli"}, "data": {"name": "world/nli", "limit": INSTANCES}, "seed": 0}
    execute_audit(plan_audit(audit), root / "audited", console=quiet)
    agents = {"simulatability": {"seeds": 1, "epochs": 1, "learning_rate": 1e-3}}
    spec = {
        "model": "world/nli",
        "data": {"name": "world/nli", "limit": 25},
        "methods": ["random", "attention", {"louvain": {"over": "attention_interaction"}}],
        "metrics": ["comprehensiveness", agents],
    }
    workers = Placement("processes", workers=2)
    execute_run(prepare(parse_spec(spec)), root / "workers", command="bench.flips", console=quiet, placement=workers)
    return [_sample(root / name) for name in ("audited", "workers")]


def _sample(folder: Path) -> Sample:
    index = read_index(folder)
    keys = {f"shards/{shard.name}": set(read_shard(folder, shard)["key"].to_pylist()) for shard in index.shards}
    keys[index.journal] = {unpack(payload)[1]["key"] for payload in read_journal(folder / index.journal).payloads}
    content, problems = read(folder)
    copy = folder.with_name(f"{folder.name}-rows")
    shutil.copytree(folder, copy)
    with Store.open(copy) as store:
        return Sample(folder, content, problems, {key: repr(row) for key, row in store.rows()}, keys)


def read(folder: Path, known: dict[bytes, str] = {}) -> tuple[str, tuple[str, ...]]:  # noqa: B006 - kept on purpose
    """Everything that a run shows, and its problems.

    Args:
        known: what studies find, by a hash of all that they read: many faults leave the same rows.
    """
    run = Run(folder)
    rows = {name: [repr(row) for row in run.tables.rows(name)] for name in TABLES}
    stored = json.dumps([run.manifest.card(), rows, run.problems], default=str)
    key = hashlib.sha256(stored.encode("utf-8", "surrogatepass")).digest()
    if key not in known:
        known[key] = json.dumps(to_json(run.findings()), default=str)
    return json.dumps([run.manifest.card(), rows, known[key]], default=str), run.problems


def flips(sample: Sample, rng: random.Random) -> Iterator[tuple[list[str], Callable[[Path], None]]]:
    """Endless faults: one bit of one file."""
    names = [str(path.relative_to(sample.folder)) for path in _files(sample.folder)]
    while True:
        name = rng.choice(names)
        at = rng.randrange(max(1, (sample.folder / name).stat().st_size))
        yield [name], partial(_flip, name, at, rng.randrange(8))


def other_faults(sample: Sample, other: Path, rng: random.Random) -> Iterator[tuple[list[str], Callable[[Path], None]]]:
    """Deletions, truncations, and swaps."""
    names = [str(path.relative_to(sample.folder)) for path in _files(sample.folder)]
    for name in names:
        cut = rng.random()
        foreign = other / name if (other / name).is_file() else next(iter(_files(other)))
        yield [name], partial(_delete, name)
        yield [name], partial(_truncate, name, 0.0)
        yield [name], partial(_truncate, name, cut)
        yield [name], partial(_copy, name, foreign)
    for one, two in combinations(names, 2):
        yield [one, two], partial(_swap, one, two)


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _flip(name: str, at: int, bit: int, folder: Path) -> None:
    data = bytearray((folder / name).read_bytes() or b"\0")
    data[at] ^= 1 << bit
    (folder / name).write_bytes(data)


def _delete(name: str, folder: Path) -> None:
    (folder / name).unlink()


def _truncate(name: str, share: float, folder: Path) -> None:
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[: int(len(data) * share)])


def _copy(name: str, source: Path, folder: Path) -> None:
    (folder / name).write_bytes(source.read_bytes())


def _swap(one: str, two: str, folder: Path) -> None:
    data = (folder / one).read_bytes()
    (folder / one).write_bytes((folder / two).read_bytes())
    (folder / two).write_bytes(data)


def judge(verdict: Verdict, sample: Sample, damaged: list[str], folder: Path) -> list[str]:
    """Read, verify and repair a damaged copy; returns what went wrong, a line each."""
    verdict.faults += 1
    wrong = []
    try:
        named, same = _look(sample, folder)
        verdict.named += named
        verdict.harmless += same and not named
        if not named and not same:
            verdict.silent += 1
            wrong.append(f"silent: {damaged}")
        wrong += _repair(verdict, sample, damaged, folder)
    except UserError as error:
        verdict.crashes += 1
        wrong.append(f"not repaired: {damaged}: {error}")
    except Exception as error:  # noqa: BLE001 - this is what the campaign looks for
        verdict.crashes += 1
        wrong.append(f"crash: {damaged}: {type(error).__name__}: {error}")
    return wrong


def _look(sample: Sample, folder: Path) -> tuple[bool, bool]:
    """Whether something is said about a damaged run, and whether it reads as before."""
    try:
        content, problems = read(folder)
        checked = [file for file in verify_folder(folder) if file.problem is not None]
    except UserError:
        return True, False
    return problems != sample.problems or bool(checked), content == sample.content


def _repair(verdict: Verdict, sample: Sample, damaged: list[str], folder: Path) -> list[str]:
    with Store.open(folder, rebuild=True) as store:
        rows = {key: repr(row) for key, row in store.rows()}
        lines = store.repaired
    hit = set[str]().union(*(sample.keys.get(name, set()) for name in damaged))
    lost = sample.rows.keys() - rows.keys() - hit
    changed = [key for key, row in rows.items() if key in sample.rows and sample.rows[key] != row]
    left = [
        file.name
        for file in verify_folder(folder)
        if file.problem is not None and file.name not in REBUILT_BY_THE_COMMAND
    ]
    read(folder)
    verdict.lost += len(lost)
    verdict.changed += len(changed)
    verdict.unrepaired += len(left)
    return [f"repair: {damaged}: {lines}: lost {len(lost)}, {changed}, {left}"] if lost or changed or left else []


def campaign(times: int, seed: int, *, more: bool = False, minutes: float | None = None) -> tuple[Verdict, list[str]]:
    """Every other fault once, and so many flipped bits.

    Args:
        minutes: flip no more bits after so many.
        more: also damage an audit, and a run with workers and agents.
    """
    torch.set_num_threads(1)
    rng, verdict, wrong = random.Random(seed), Verdict(), list[str]()
    with tempfile.TemporaryDirectory(prefix="verax-flips-") as name:
        root = Path(name)
        samples = make_samples(root) + (make_more_samples(root) if more else [])

        def apply(sample: Sample, damaged: list[str], fault: Callable[[Path], Any]) -> None:
            shutil.copytree(sample.folder, root / "copy")
            fault(root / "copy")
            wrong.extend(judge(verdict, sample, damaged, root / "copy"))
            shutil.rmtree(root / "copy")

        endless = [flips(sample, rng) for sample in samples]
        end = time.perf_counter() + 60 * (minutes or math.inf)
        for sample in samples:
            for damaged, fault in other_faults(sample, root / "other", rng):
                verdict.other_faults += 1
                apply(sample, damaged, fault)
        for number in range(times):
            if time.perf_counter() > end:
                break
            place = number % len(samples)
            apply(samples[place], *next(endless[place]))
    return verdict, wrong


def main() -> None:
    """Run a campaign and print what it found; exit 1 if a fault was silent or a crash."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=1000, help="how many flipped bits")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, help="flip no more bits after so many minutes")
    parser.add_argument("--two-runs", action="store_true", help="only the finished run and the stopped one")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    verdict, wrong = campaign(options.times, options.seed, more=not options.two_runs, minutes=options.minutes)
    for line in wrong[:20]:
        print(line, file=sys.stderr)
    found = asdict(verdict)
    print(json.dumps(found) if options.json else ", ".join(f"{name} {value}" for name, value in found.items()))
    sys.exit(0 if verdict.holds else 1)


if __name__ == "__main__":
    main()
