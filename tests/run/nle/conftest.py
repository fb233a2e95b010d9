"""A rule in the place of every local generator, and the command line in this process."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from support import text_runs
from support.rigged import Rigged
from verax.cli import main
from verax.cli.app import notes, out
from verax.models import self_explainer


class Answer(NamedTuple):
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
def verax(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Answer]:
    """Call the command line in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    for console in (out, notes):  # whatever terminal the tests run in, no line is wrapped
        monkeypatch.setattr(console, "_width", 400)
        monkeypatch.setattr(console, "_height", 50)

    def call(*args: Any) -> Answer:
        monkeypatch.setattr(sys, "argv", ["verax", *map(str, args)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Answer(int(ended.value.code or 0), said.out, said.err)

    return call
