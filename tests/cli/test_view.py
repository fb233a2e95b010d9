"""`verax view` as a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

from support.cli import CallVerax
from support.runs import word_run


def test_it_serves_until_it_is_interrupted(tmp_path: Path) -> None:
    word_run(tmp_path / "runs" / "one")
    command = [sys.executable, "-m", "verax", "view", str(tmp_path / "runs")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        found = re.fullmatch(r"Open (http://127\.0\.0\.1:\d+/\?token=\S+)\n", line)
        assert found is not None, line
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with opener.open(found[1], timeout=60) as answer:
            assert "runs/one" in answer.read().decode()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")


def test_invalid_input_is_one_line(verax: CallVerax, tmp_path: Path) -> None:
    answer = verax("view", tmp_path / "none")
    assert answer.code == 2
    assert answer.err.startswith("error: ")
    assert "is not a folder" in answer.err
    answer = verax("view", tmp_path, "--host", "host.invalid")
    assert answer.code == 2
    assert "cannot listen on host.invalid" in answer.err
    answer = verax("view", tmp_path, "--host", "a\x9bb")
    assert answer.code == 2
    assert "not a host name" in answer.err
