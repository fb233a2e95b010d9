"""Killed at random points, a run loses nothing, doubles nothing and computes nothing again that was acknowledged."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest


@pytest.mark.parametrize("seed", [1, 2])
def test_twenty_kills(seed: int) -> None:
    """Ten for each of two seeds, side by side; `python -m bench.kill --times N` is the campaign."""
    command = [sys.executable, "-m", "bench.kill", "--times", "10", "--seed", str(seed), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.stdout, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict.pop("kills") == 10
    verdict.pop("finished")
    assert verdict == {"lost": 0, "recomputed": 0, "doubled": 0, "different": 0}
    assert done.returncode == 0
