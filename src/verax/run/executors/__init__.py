"""Executors: where shards of instances are computed. The driver that maps over them is the store's only writer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from verax.run.execute import KeyedRow, Shard


class Executor(Protocol):
    """Computes shards, in any order and anywhere; rows do not depend on it."""

    def map(self, shards: Iterable[Shard]) -> Iterator[KeyedRow]:
        """Rows of all shards as they are computed, with their keys; shards are taken as they are needed."""
