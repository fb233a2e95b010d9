"""CPU time until the first result: imports, invalid names, listing, showing and explaining.

python -m bench.startup
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

PAIR = ("The small red boat is on the lake.", "The boat is green.")


def cases(run: str) -> dict[str, list[str]]:
    """Commands by what they show; `run` is the folder of a small run."""
    verax = [sys.executable, "-m", "verax"]
    return {
        "import verax": [sys.executable, "-c", "import verax"],
        "from verax import explain": [sys.executable, "-c", "from verax import explain"],
        "verax --help": [*verax, "--help"],
        "verax list": [*verax, "list"],
        "verax show": [*verax, "show", run],
        "misspelt method": [*verax, "explain", *PAIR, "--method", "leave_one_uot"],
        "misspelt parameter": [*verax, "explain", *PAIR, "--method", "lime", "--set", "smaples=5"],
        "misspelt model": [*verax, "explain", *PAIR, "--model", "world/nil"],
        "misspelt preset": [*verax, "run", "--preset", "attribution-tabel"],
        "verax explain": [*verax, "explain", *PAIR],
    }


def cpu_seconds(command: list[str]) -> float:
    """User and system time of a command and its children."""
    done = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, _, used = os.wait4(done.pid, 0)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=5, help="how often each command is run; the median is printed")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="verax-startup-") as folder:
        run = str(Path(folder) / "run")
        subprocess.run(
            [sys.executable, "-m", "verax", "demo", "--limit", "20", "--out", run], check=True, capture_output=True
        )
        found = {
            name: statistics.median(cpu_seconds(command) for _ in range(options.times))
            for name, command in cases(run).items()
        }
    if options.json:
        print(json.dumps(found))
        return
    for name, seconds in found.items():
        print(f"{name:26} {seconds:5.2f} s of CPU")


if __name__ == "__main__":
    main()
