"""Runs written by hand, for reports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from support import runs
from verax.results.run import Run
from verax.types import Skip, Text


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """A run of `support.runs.word_run` in a folder of its own."""

    def make(*args: Any, **changes: Any) -> Run:
        return runs.word_run(tmp_path_factory.mktemp("run"), *args, **changes)

    return make


@pytest.fixture(scope="session")
def text() -> Callable[..., Text]:
    return runs.text_of


@pytest.fixture
def skipped_only(run: Callable[..., Run]) -> Run:
    """A run in which nothing could be explained."""
    skips = [Skip(f"id-{i}", "loo", "empty", "no word", failed=i == 0) for i in range(7)]
    return run(7, highlights=[], scores=[], predictions=[], skips=skips)
