"""Stop runs at several points, resume them, and compare every row with that of an undisturbed run, bit for bit.

    python -m bench.resume
    python -m bench.resume --dtype float32 --cases words masking

The cases hold every kind of row: predictions, scores of words, word pairs and span pairs, free text, and the scores of
every kind of metric. Each resumed run is stopped `--stops` times, and every other part of it runs with another number
of threads. Numbers are compared as they are stored; only costs may differ, since what the memo of a stopped run knew is
computed again. For float32 the largest difference is printed, and nothing is expected.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from verax.run import execute_run as driver
from verax.run.prepare import Prepared, prepare
from verax.run.spec import parse_spec, preset_spec
from verax.store.read import read_rows
from verax.store.store import Store

AGENTS = {"seeds": 1, "epochs": 2, "learning_rate": 1e-3}
CASES: dict[str, tuple[str | None, dict[str, Any]]] = {
    "words": ("attribution-table", {"model": "world/nli", "data": {"name": "world/nli", "limit": 4}}),
    "masking": (
        "faithfulness-measurable",
        {"model": "world/opinion-masked", "data": {"name": "world/opinion", "limit": 6}},
    ),
    "unified": (
        "unified",
        {
            "model": "world/nli",
            "data": {"name": "world/nli", "limit": 3},
            "metrics": ["comprehensiveness_flips", "sufficiency_flips", {"agreement": {"within": "budget"}}],
        },
    ),
    "agents": (
        None,
        {
            "model": "world/nli",
            "data": {"name": "world/nli", "limit": 25},
            "methods": ["attention", {"louvain": {"over": "attention_interaction"}}],
            "metrics": [{"simulatability": AGENTS}],
        },
    ),
    "languages": (
        "crosslingual",
        {"model": "world/xnli", "data": {"name": "world/xnli", "limit": 3, "langs": ["en", "de"]}},
    ),
    "text": ("nle", {"model": "world/nli-mt-ra", "data": {"name": "world/nli", "limit": 4}}),
}
"""A preset, and what of it is changed."""


class Stopped(Exception):
    """The run was stopped."""


def opened(name: str, dtype: str) -> Prepared:
    """A case that is ready to run."""
    preset, content = CASES[name]
    content = {**content, "model": {"name": content["model"], "dtype": dtype, "device": "cpu"}}
    return prepare(parse_spec(content if preset is None else preset_spec(preset, content)))


def execute(prepared: Prepared, folder: Path, stop_after: int | None = None) -> None:
    """Compute what is missing in a folder; stop after so many new rows."""

    class Stopping(Store):
        appended = 0

        def append(self, key: str, value: Any) -> None:
            if self.appended == stop_after:
                raise Stopped
            self.appended += 1
            super().append(key, value)

    setattr(driver, "Store", Stopping)  # noqa: B010 - of this process alone
    driver.execute_run(prepared, folder, command="bench.resume", console=Console(quiet=True))


def resumed(name: str, dtype: str, folder: Path, rows: int, stops: int) -> None:
    """A run that was stopped at equal distances; every part has a memo and a number of threads of its own."""
    for part in range(stops + 1):
        torch.set_num_threads(1 + part % 2)
        try:
            execute(opened(name, dtype), folder, rows // (stops + 1) if part < stops else None)
        except Stopped:
            continue
        if part < stops:
            raise RuntimeError(f"{name}: the run ended before it was stopped {stops} times")


def numbers(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Everything that a row holds, by its place, except costs."""
    if is_dataclass(value):
        for field in fields(value):
            if field.name != "cost":
                yield from numbers(getattr(value, field.name), (*path, field.name))
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from numbers(item, (*path, str(key)))
    elif isinstance(value, (list, tuple)) or hasattr(value, "tolist"):
        for place, item in enumerate(value if isinstance(value, (list, tuple)) else value.tolist()):
            yield from numbers(item, (*path, str(place)))
    else:
        yield path, value


def contents(folder: Path) -> dict[str, dict[tuple[str, ...], Any]]:
    """Content of all rows by key."""
    return {key: dict(numbers(row, (type(row).__name__,))) for key, row in read_rows(folder)}


def compare(one: dict[str, dict[tuple[str, ...], Any]], other: dict[str, dict[tuple[str, ...], Any]]) -> dict[str, Any]:
    """Number of rows, how many differ in any bit, and the largest difference of two numbers."""
    different, largest, what = 0, 0.0, set[str]()
    for key in one.keys() | other.keys():
        left, right = one.get(key, {}), other.get(key, {})
        if repr(left) == repr(right):  # repr gives every bit of a float
            continue
        different += 1
        for place in left.keys() | right.keys():
            a, b = left.get(place), right.get(place)
            if repr(a) != repr(b):
                what.add(f"{place[0]}.{place[1]}" if len(place) > 1 else place[0])
                both = isinstance(a, float) and isinstance(b, float)
                largest = max(largest, abs(a - b) if both else math.inf)  # type: ignore[operator]
    return {"rows": len(one), "different": different, "largest": largest, "what": sorted(what)}


def main() -> None:
    """Run the cases and print what differs; exit 1 if a row does, in float64."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dtype", default="float64", choices=("float64", "float32"))
    parser.add_argument("--stops", type=int, default=4, help="how often each run is stopped")
    parser.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES))
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found: dict[str, Any] = {}
    for name in options.cases:
        with tempfile.TemporaryDirectory(prefix="verax-resume-") as root:
            os.environ["XDG_CACHE_HOME"] = root  # what in-distribution tests learn is kept there
            torch.set_num_threads(2)
            execute(opened(name, options.dtype), Path(root) / "undisturbed")
            expected = contents(Path(root) / "undisturbed")
            (Path(root) / "verax").exists() and (Path(root) / "verax").rename(Path(root) / "other")
            resumed(name, options.dtype, Path(root) / "resumed", len(expected), options.stops)
            found[name] = compare(expected, contents(Path(root) / "resumed"))
        if not options.json:
            print(name, found[name], flush=True)
    if options.json:
        print(json.dumps(found))
    sys.exit(1 if options.dtype == "float64" and any(case["different"] for case in found.values()) else 0)


if __name__ == "__main__":
    main()
