"""Workers, actors, nodes and drivers are killed, and every row arrives once and is the undisturbed run's."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


@pytest.mark.parametrize(("executor", "seed"), [("processes", 1), ("ray", 4)])
def test_kills_at_random_times(executor: str, seed: int) -> None:
    """A small part of `python -m bench.faults --kills 200`."""
    options = ["--kills", "3", "--executor", executor, "--limit", "24", "--seed", str(seed), "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "bench.faults", *options], capture_output=True, text=True, check=False, timeout=600
    )
    assert done.stdout, done.stderr[-4000:]
    verdict = json.loads(done.stdout)
    assert sum(verdict["killed"].values()) == 3
    assert (verdict["lost"], verdict["doubled"], verdict["different"]) == (0, 0, 0)
