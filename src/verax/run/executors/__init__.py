"""Executors: where the work of a run is computed. The driver that maps over them is the store's only writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Protocol

from verax.run.execute import Execution, KeyedRow, Shard


class Executor(Protocol):
    """Computes shards, in any order and anywhere; rows do not depend on it."""

    @property
    def live(self) -> int:
        """Workers that compute at the moment."""

    def map(self, shards: Iterable[Shard]) -> Iterator[KeyedRow]:
        """Rows of all shards as they are computed, with their keys; shards are taken as they are needed."""

    def close(self) -> None:
        """End all workers."""


class InlineExecutor:
    """Computes everything in this process; the work of all shards is pooled."""

    live = 1

    def __init__(self, execution: Execution) -> None:
        self._execution = execution

    def map(self, shards: Iterable[Shard]) -> Iterator[KeyedRow]:
        """Rows of all shards."""
        return self._execution.rows(chain.from_iterable(shards))

    def close(self) -> None:
        """Nothing to end: there is no worker but this process."""
