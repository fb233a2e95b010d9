"""Time to the first page of a large run in the viewer, and of each search, over HTTP.

    python -m bench.view
    python -m bench.view --instances 20000 --json

A synthetic run has a prediction of each instance, an explanation by each of three methods, and two scores of each
explanation. It is written through the store; its values are random numbers. The server runs in this process and opens
the run at the first request.
"""

from __future__ import annotations

import argparse
import http.client
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.models import PairMaker
from verax.store import store as writing
from verax.store.keys import key_of
from verax.store.store import Store
from verax.store.tables import Row
from verax.types import Highlight, Instance, Prediction, Score, Target
from verax.view.library import Library
from verax.view.serve import Service

METHODS = ("random", "leave_one_out", "saliency")
METRICS = ("comprehensiveness", "sufficiency")
CARD = {
    "model": {"name": "synthetic", "labels": ["a", "b", "c"]},
    "data": {"name": "pairs"},
    "methods": [{"label": name, "name": name, "random": name == "random"} for name in METHODS],
    "metrics": [{"label": name, "name": name, "higher_is_better": name == METRICS[0]} for name in METRICS],
}
PAGES = {
    "run": "",
    "instances": "/instances",
    "last page": "/instances?page=9999999",
    "search": "/instances?q=boat",
    "wrong predictions": "/instances?wrong=1",
    "methods disagree": "/instances?order=disagreement",
    "gap between metrics": "/instances?order=gap",
    "one instance": "/instances/7",
    "results": "/findings",
}
"""What is asked for, in this order: what a page reads first serves the ones after it."""
TARGET = 2.0
"""Seconds to the page of a run of 100,000 instances, and to its instances."""


def rows_of(instance: Instance, rng: np.random.Generator) -> Iterator[Row]:
    """All rows of one instance."""
    yield instance
    yield Prediction(instance.id, "abc"[rng.integers(3)], ("a", "b", "c"), (0.5, 0.25, 0.25))
    for method in METHODS:
        scores = tuple(rng.standard_normal(len(instance.units)).tolist())
        yield Highlight(instance.id, method, "token", Target(), instance.units, scores)
        yield from (Score(instance.id, method, metric, float(rng.standard_normal())) for metric in METRICS)


def write(folder: Path, instances: int) -> None:
    """Write the run."""
    writing.SYNC_ROWS = writing.SEAL_ROWS  # nothing here is worth an fsync for every 32 rows
    rng = np.random.default_rng(0)
    with Store.open(folder) as store:
        store.write_card(CARD)
        for place, instance in enumerate(PairMaker(seed=2).instances(instances)):
            for number, row in enumerate(rows_of(instance, rng)):
                store.append(key_of(instance=place, row=number), row)


def measure(folder: Path) -> dict[str, tuple[float, float]]:
    """Seconds until the last byte of each page, and seconds of the processor."""
    service = Service.open([folder])
    thread = threading.Thread(target=service.run)
    thread.start()
    try:
        (entry,) = Library([folder]).runs()
        return {name: _seconds(service, f"/runs/{entry.name}{path}") for name, path in PAGES.items()}
    finally:
        service.server.should_exit = True
        thread.join()


def _seconds(service: Service, path: str) -> tuple[float, float]:
    access = service.access
    start, start_cpu = time.perf_counter(), time.process_time()
    connection = http.client.HTTPConnection("127.0.0.1", access.port)
    connection.request("GET", path, headers={"Cookie": f"{access.cookie}={access.session}"})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    if answer.status != 200:
        raise AssertionError(f"{path}: {answer.status}")
    return time.perf_counter() - start, time.process_time() - start_cpu


def main() -> None:
    """Write a run, measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--instances", type=int, default=100_000)
    parser.add_argument("--folder", type=Path, help="keep the run here, or measure the one that is here")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary) / "run"
        if not folder.exists():
            write(folder, given.instances)
        seconds = measure(folder)
    if given.json:
        print(json.dumps(seconds))
        return
    for name, (wall, cpu) in seconds.items():
        print(f"{name:20} {wall:7.2f} s {cpu:7.2f} s of the processor")
    print(f"target for run and instances: {TARGET:.0f} s at 100,000 instances")


if __name__ == "__main__":
    main()
