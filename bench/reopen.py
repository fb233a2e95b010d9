"""Open a run again and again, with one new row each time, and measure what opening it costs.

python -m bench.reopen --times 1000
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from pathlib import Path

from verax.store.keys import key_of
from verax.store.shards import read_index
from verax.store.store import Store
from verax.types import Score

LAST = 20
"""Openings at the end whose time is reported."""


def reopen(folder: Path, times: int) -> dict[str, float]:
    """Open a run so many times; the median time of the last openings in seconds, and the number of its shards."""
    seconds = []
    for number in range(times):
        start = time.perf_counter()
        store = Store.open(folder)
        seconds.append(time.perf_counter() - start)
        store.append(key_of(number=number), Score(f"x{number}", "m", "s", float(number)))
        store.close()
    with Store.open(folder) as store:
        rows = len(store.keys)
    return {"rows": rows, "shards": len(read_index(folder).shards), "open": statistics.median(seconds[-LAST:])}


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=1000, help="how many openings")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="verax-reopen-") as folder:
        found = reopen(Path(folder) / "run", options.times)
    if options.json:
        print(json.dumps(found))
    else:
        print(f"{found['rows']:.0f} rows in {found['shards']:.0f} shards; opening takes {found['open'] * 1000:.1f} ms")


if __name__ == "__main__":
    main()
