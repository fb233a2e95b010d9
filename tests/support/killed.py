"""Programs that kill their own trainings, one after the other, and report each death."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any


def deaths_of(program: Path, *arguments: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """What a program reports of each training that it killed, and of the last one, which it did not."""
    child = subprocess.run(
        [sys.executable, str(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )
    assert child.returncode == 0, child.stderr
    *killed, whole = [json.loads(line) for line in child.stdout.splitlines()]
    return killed, whole
