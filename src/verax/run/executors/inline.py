"""The executor of this process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from verax.run.execute import Execution, KeyedRow, Shard


class InlineExecutor:
    """Computes everything in this process; the work of all shards is pooled into one stream."""

    def __init__(self, execution: Execution) -> None:
        self._execution = execution

    def map(self, shards: Iterable[Shard]) -> Iterator[KeyedRow]:
        """As `Executor.map`."""
        return self._execution.rows(chain.from_iterable(shards))
