from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from verax.store.journal import read_journal, unpack
from verax.store.store import Store

_CHILDREN = Path(__file__).with_name("children.py")


class Nursery:
    """Starts writers in processes of their own; one at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(_CHILDREN)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._running: int | None = None

    def start(self, do: str, **order: object) -> int:
        assert self._process.stdin is not None
        self._end_last()
        plain = {name: str(value) if isinstance(value, Path) else value for name, value in order.items()}
        self._process.stdin.write(json.dumps({"do": do, **plain}) + "\n")
        self._process.stdin.flush()
        self._running = self._answer()
        return self._running

    def wait(self) -> int:
        """The status of the child that was started last, once it has ended."""
        status = self._answer()
        self._running = None
        return status

    def close(self) -> None:
        self._end_last()
        self._process.communicate()

    def _end_last(self) -> None:
        """End a child that a failed test has left."""
        if self._running is not None:
            os.kill(self._running, signal.SIGKILL)
            self.wait()

    def _answer(self) -> int:
        assert self._process.stdout is not None
        return int(self._process.stdout.readline())


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    nursery = Nursery()
    yield nursery
    nursery.close()


@pytest.fixture(scope="session")
def make_row() -> Callable:
    """The row of a number, the same that the children write."""
    spec = importlib.util.spec_from_file_location("store_children", _CHILDREN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.make_row


@pytest.fixture
def fill(make_row: Callable) -> Callable:
    """Append the rows of some numbers to the run in a folder, and seal them if wanted."""

    def fill(folder: Path, numbers: range, *, seal: bool) -> None:
        with Store.open(folder) as store:
            for number in numbers:
                store.append(f"k{number}", make_row(number))
            if not seal:
                store.flush()
                store.seal = lambda: None  # type: ignore[method-assign]

    return fill


@pytest.fixture
def keys_on_disk() -> Callable:
    """How often each key stands in the files that the manifest names, read without the code under test."""

    def keys_on_disk(folder: Path) -> Counter[str]:
        manifest = json.loads((folder / "manifest.json").read_text())
        found: Counter[str] = Counter()
        for shard in manifest["shards"]:
            found.update(pq.read_table(folder / "shards" / shard["name"])["key"].to_pylist())
        found.update(unpack(payload)[1]["key"] for payload in read_journal(folder / manifest["journal"]).payloads)
        return found

    return keys_on_disk
