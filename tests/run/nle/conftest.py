"""A rule in the place of every local generator, and the command line in this process."""

from __future__ import annotations

import pytest

from support import text_runs
from support.cli import CallVerax
from support.rigged import Rigged
from verax.models import self_explainer


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Rigged:
    """The generator that is loaded, whatever is named."""
    one = text_runs.rule()
    monkeypatch.setattr(self_explainer, "load_generator", lambda *_, **__: one)
    return one


@pytest.fixture
def verax(verax: CallVerax, monkeypatch: pytest.MonkeyPatch) -> CallVerax:
    """Call the command line in the temporary folder, in a terminal so wide that no line is wrapped."""
    monkeypatch.setenv("COLUMNS", "400")
    return verax
