"""The command line, called in the process of the tests."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from verax.cli import main
from verax.cli.app import notes, out


class Answer(NamedTuple):
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


CallVerax = Callable[..., Answer]


@pytest.fixture
def call_verax(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> CallVerax:
    """Call the command line where the test is, in a terminal of 160 columns, whatever terminal the tests run in."""
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(sys, "path", list(sys.path))  # --import-from adds to it
    for console in (out, notes):  # else they keep the size that the environment gave when they were made
        monkeypatch.setattr(console, "_width", None)
        monkeypatch.setattr(console, "_height", None)

    def call(*args: str | Path) -> Answer:
        monkeypatch.setattr(sys, "argv", ["verax", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        return Answer(int(ended.value.code or 0), *capsys.readouterr())

    return call


@pytest.fixture
def verax(call_verax: CallVerax, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CallVerax:
    """Call the command line in the temporary folder."""
    monkeypatch.chdir(tmp_path)
    return call_verax
