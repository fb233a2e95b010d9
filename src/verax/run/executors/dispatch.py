"""Which worker computes what: costly inputs first, and what a dead worker left unfinished again."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from itertools import count

from verax.engine.engine import TaskResult
from verax.run.execute import KeyedRow, Shard, Work
from verax.run.rows import as_score, as_skip
from verax.store.tables import Row
from verax.types import PREDICTION, Cost, Measured, Score

WINDOW = 128
"""Inputs per worker among which the costly ones come first; more are not planned ahead."""
LARGEST = 16
"""Inputs in a shard at most."""
AHEAD = 2
"""Shards that a worker has not begun yet, at most: it never waits for the next one."""


class WorkerDied(BrokenExecutor):
    """A worker ended before its work was finished."""


@dataclass(slots=True)
class _OpenWork:
    """One input that a worker computes: the rows that are still missing, and what has arrived of the others."""

    work: Work
    missing: set[str]
    rows: dict[str, Row] = field(default_factory=dict)

    def rest(self) -> Work:
        """What is left to compute."""
        return self.work._replace(todo=self.missing, rows={**self.work.rows, **self.rows})


@dataclass(slots=True)
class _OpenShard:
    """A shard that a worker has, by the id of the input; `alone` if the worker gets nothing else until it is done."""

    works: dict[str, _OpenWork]
    alone: bool
    begun: bool = False


class Dispatcher:
    """Hands out work in shards, keeps account of what is missing, and isolates inputs that kill workers.

    An input that a worker was computing when it died is computed again, by a worker that computes nothing else at the
    time. If that one dies too, the rows of the input are recorded as failed.

    Args:
        works: the work, taken as it is needed.
        cost: estimated effort of the work on one input, in any unit.
        workers: number of workers.
    """

    def __init__(self, works: Iterator[Work], cost: Callable[[Work], float], workers: int) -> None:
        self._works, self._cost, self._workers = works, cost, workers
        self._waiting: list[tuple[float, int, Work]] = []
        self._number = count()
        self._total = 0.0
        self._suspects: deque[Work] = deque()
        self._held: dict[int, deque[_OpenShard]] = {}

    @property
    def is_finished(self) -> bool:
        """Whether all rows have arrived."""
        self._refill()
        return not self._waiting and not self._suspects and not any(self._held.values())

    @property
    def n_waiting(self) -> int:
        """Inputs that no worker has, among those that are planned so far."""
        self._refill()
        return len(self._waiting) + len(self._suspects)

    def next_shard(self, worker: int) -> Shard | None:
        """Work for a worker; None if it has enough, or if there is none for it at the moment."""
        held = self._held.setdefault(worker, deque())
        if any(shard.alone for shard in held) or sum(not shard.begun for shard in held) >= AHEAD:
            return None
        self._refill()
        if self._waiting:
            works, alone = self._costliest(), False
        elif self._suspects and not held:
            works, alone = (self._suspects.popleft(),), True
        else:
            return None
        held.append(_OpenShard({one.planned.instance.id: _OpenWork(one, set(one.todo)) for one in works}, alone))
        return works

    def begun(self, worker: int) -> None:
        """Record that a worker has begun its next shard."""
        next(shard for shard in self._held[worker] if not shard.begun).begun = True

    def received(self, worker: int, key: str, row: Row) -> None:
        """Record a row that a worker has computed."""
        held, instance = self._held[worker], row.instance_id  # type: ignore[union-attr]
        shard = next(shard for shard in held if instance in shard.works)
        open_work = shard.works[instance]
        open_work.missing.remove(key)
        if not isinstance(row, Score):  # scores of this input may need it
            open_work.rows[key] = row
        if not open_work.missing:
            del shard.works[instance]
        if not shard.works:
            held.remove(shard)

    def died(self, worker: int, reason: str) -> list[KeyedRow]:
        """Take back the work of a dead worker; returns the rows of an input that has killed two, as failed."""
        failed: list[KeyedRow] = []
        for shard in self._held.pop(worker, ()):
            for open_work in shard.works.values():
                if shard.begun and shard.alone:
                    error = WorkerDied(f"two workers died of this input, the last one {reason}")
                    failed += failed_rows(open_work.rest(), error)
                elif shard.begun or shard.alone:
                    self._suspects.append(open_work.rest())
                else:
                    self._push(open_work.rest())
        return failed

    def _push(self, work: Work) -> None:
        cost = self._cost(work)
        self._total += cost
        heapq.heappush(self._waiting, (-cost, next(self._number), work))

    def _refill(self) -> None:
        while len(self._waiting) < WINDOW * self._workers and (work := next(self._works, None)) is not None:
            self._push(work)

    def _costliest(self) -> Shard:
        """The costliest inputs that wait, for a small share of the cost of all: the last shards are small ones."""
        works: list[Work] = []
        share, cost = self._total / (4 * self._workers), 0.0
        while self._waiting and len(works) < LARGEST and (not works or cost - self._waiting[0][0] <= share):
            negative, _, work = heapq.heappop(self._waiting)
            cost -= negative
            works.append(work)
        self._total -= cost
        return tuple(works)


def failed_rows(work: Work, error: Exception) -> list[KeyedRow]:
    """The missing rows of an input, as failed."""
    planned, todo, id_ = work.planned, work.todo, work.planned.instance.id
    rows: list[KeyedRow] = []
    if planned.prediction is not None and planned.prediction in todo:
        rows.append((planned.prediction, as_skip(id_, PREDICTION, error)))
    for explanation in planned.explanations:
        if explanation.key in todo:
            rows.append((explanation.key, as_skip(id_, explanation.label, error)))
        for score in explanation.scores:
            if score.key in todo:
                result: TaskResult[Measured] = TaskResult(None, error, Cost())
                rows.append((score.key, as_score(id_, explanation.label, score.metric.label, result)))
    return rows
