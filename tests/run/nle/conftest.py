"""A rule in the place of every local generator, and the command line in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import text_runs
from rigged import Rigged
from verax.cli import main
from verax.models import self_explainer


class Said(NamedTuple):
    """What a command printed, and how it ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Rigged:
    """The generator that is loaded, whatever is named."""
    one = text_runs.rule()
    monkeypatch.setattr(self_explainer, "load_generator", lambda *_, **__: one)
    return one


@pytest.fixture
def verax(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Said]:
    """Call the command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "400")

    def call(*args: Any) -> Said:
        monkeypatch.setattr(sys, "argv", ["verax", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        out, err = capsys.readouterr()
        return Said(int(ended.value.code or 0), out, err)

    return call
