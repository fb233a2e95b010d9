"""The command line, called in the process of the tests."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from verax.cli import main


class Answer(NamedTuple):
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


CallVerax = Callable[..., Answer]


@pytest.fixture
def verax(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> CallVerax:
    """Call the command line in the temporary folder, in a terminal of 160 columns."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "160")

    def call(*args: str | Path) -> Answer:
        monkeypatch.setattr(sys, "argv", ["verax", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Answer(int(ended.value.code or 0), out, err)

    return call
