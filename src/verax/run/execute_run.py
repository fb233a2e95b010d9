"""The driver of a run: plans, hands shards to an executor, and is the only one to write to the store."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console

from verax.engine.engine import Engine
from verax.engine.protocols import needs
from verax.models.subject import Subject
from verax.results.run import Run
from verax.run.card import closing_card, opening_card
from verax.run.endpoint import endpoint_of, moved, unanswered, with_requests
from verax.run.execute import Execution, Shard, Work
from verax.run.executors import Executor
from verax.run.executors.inline import InlineExecutor
from verax.run.plan import Plan, PlannedExplanation, PlannedInstance, PlannedScore, Remaining
from verax.run.prepare import Prepared
from verax.run.progress import progress_bar
from verax.run.providers import Request, Stage
from verax.run.stored import with_stored
from verax.store.read import RunTables, read_card, read_keys, read_rows
from verax.store.store import Store
from verax.store.tables import Row
from verax.types import Highlight, Nle, Undefined

SHARD = 16
"""Instances in a shard."""
FEW_TASKS, TASKS_AT_ENDPOINT = 32, 8
"""Tasks that are open at the same time where text is generated: each asks much, so few fill a batch, and what is
finished is stored soon. At an endpoint they are twice its concurrency, if that is more, so that there is always another
request to send."""


def execute_run(
    prepared: Prepared,
    folder: Path,
    *,
    command: str,
    console: Console,
    announce: Callable[[Remaining], None] = lambda _: None,
) -> Run:
    """Compute every row that a folder does not hold yet.

    Args:
        prepared: the run.
        folder: of the run; rows that are there are not computed again, except what an endpoint failed to answer.
        command: what a person types to repeat the run.
        console: for progress and notices.
        announce: called with what is left before anything is computed.
    """
    model = prepared.run.model
    with _frozen(), Store.open(folder, say=console.print) as store:
        for line in store.repaired:
            console.print(line, markup=False)
        plan = prepared.plan_again(unanswered(model, store.rows()))
        left = plan.remaining(store.keys)
        announce(left)
        earlier = read_card(folder)[0]
        card = opening_card(plan, command=command, earlier=earlier)
        for line in moved(card["model"]):
            console.print(line, style="yellow", markup=False, highlight=False)
        store.write_card(card)
        store.write_plan(plan.keys())
        endpoint = endpoint_of(model)
        sent = 0 if endpoint is None else endpoint.requests
        try:
            if endpoint is not None:
                endpoint.open_with(store)
            Driver(plan, store, console).run(left)
        finally:  # also where `max_requests` or invalid input ends the run
            if endpoint is not None:
                card = with_requests(card, endpoint.requests - sent, earlier)
                store.write_card(card)
        store.seal()
        final = closing_card(card, RunTables.open(folder))
        check_counts(final["counts"], left.rows)
        store.write_card(final)
    return Run(folder)


def remaining_in(prepared: Prepared, folder: Path) -> Remaining:
    """What is to be computed in a folder that may hold some rows; nothing is written."""
    if endpoint_of(prepared.run.model) is None:
        return prepared.plan.remaining(read_keys(folder))
    rows = list(read_rows(folder))
    again = unanswered(prepared.run.model, rows)
    return prepared.plan_again(again).remaining({key for key, _ in rows})


class Driver:
    """Computes and stores the rows of a plan that are missing."""

    def __init__(self, plan: Plan, store: Store, console: Console) -> None:
        self._plan, self._store, self._console = plan, store, console

    def run(self, left: Remaining) -> None:
        """Compute all of them."""
        engine = _engine(self._plan)
        if left.done < left.rows:
            for provider in self._plan.providers:
                provider.prepare(engine, self._console)
        executor = InlineExecutor(Execution(self._plan, engine))
        self.run_immediate(executor, left)
        self.run_deferred(executor, left)

    def run_immediate(self, executor: Executor, left: Remaining) -> None:
        """Compute whatever depends on one instance alone."""
        with progress_bar(left.rows - left.deferred, left.done, self._console) as bar:
            for key, row in executor.map(self._shards(deferred=False)):
                self._store.append(key, row)
                bar.on_row(row)

    def run_deferred(self, executor: Executor, left: Remaining) -> None:
        """Compute what had to wait until every explanation is stored."""
        read = partial(self._read, self._plan)
        stage = Stage(self._plan, self._store.keys, read, self._store.folder, self._console)
        for provider in self._plan.providers:
            for key, row in provider.after(stage):
                self._store.append(key, row)
        if left.deferred:
            for key, row in executor.map(self._shards(deferred=True)):
                self._store.append(key, row)

    def _shards(self, *, deferred: bool) -> Iterator[Shard]:
        """The work that is left, in shards; rows of instances are stored on the way."""
        works = self._works(deferred=deferred)
        while shard := tuple(islice(works, SHARD)):
            yield shard

    def _works(self, *, deferred: bool) -> Iterator[Work]:
        def wanted(planned: PlannedInstance) -> Iterator[str]:
            for explanation, score in self._missing(planned, deferred=deferred):
                yield explanation.key
                yield from score.rows

        for planned, rows in self._read(self._instances(), wanted):
            todo = {score.key for _, score in self._missing(planned, deferred=deferred)}
            provided: dict[str, Mapping[str, Any] | Undefined] = {}
            if deferred:
                provided = dict(self._provided(planned, rows))
            else:
                own = (planned.prediction, *(explanation.key for explanation in planned.explanations))
                todo |= {key for key in own if key is not None and key not in self._store.keys}
            if todo:
                yield Work(planned, todo, rows, provided)

    def _instances(self) -> Iterator[PlannedInstance]:
        for planned in self._plan:
            if planned.key not in self._store.keys:
                self._store.append(planned.key, planned.instance)
            yield planned

    def _missing(
        self, planned: PlannedInstance, *, deferred: bool
    ) -> Iterator[tuple[PlannedExplanation, PlannedScore]]:
        """Scores that are not stored, those that are deferred or the others."""
        for explanation in planned.explanations:
            for score in explanation.scores:
                if score.deferred is deferred and score.key not in self._store.keys:
                    yield explanation, score

    def _read(
        self, instances: Iterable[PlannedInstance], wanted: Callable[[PlannedInstance], Iterable[str]]
    ) -> Iterator[tuple[PlannedInstance, dict[str, Row]]]:
        return with_stored(instances, wanted, self._store)

    def _provided(
        self, planned: PlannedInstance, rows: Mapping[str, Row]
    ) -> Iterator[tuple[str, Mapping[str, Any] | Undefined]]:
        """What deferred providers provide to the scores of an instance."""
        x = Subject(planned.instance, self._plan.run.model, self._plan.run.parts)
        for explanation, score in self._missing(planned, deferred=True):
            row = rows[explanation.key]
            if isinstance(row, (Highlight, Nle)):
                request = Request(explanation, score, row, x, rows)
                named = self._plan.providers.of(score.metric).items()
                deferred = {name: one for name, one in named if one.deferred and name in needs(score.metric.component)}
                try:
                    yield score.key, {name: provider.provide(request) for name, provider in deferred.items()}
                except Undefined as undefined:
                    yield score.key, undefined


def _engine(plan: Plan) -> Engine:
    """The engine of a run; fewer tasks are open at a time where only text is generated."""
    spec, model = plan.run.spec, plan.run.model
    if plan.run.scores_words:
        return Engine(token_budget=spec.token_budget)
    endpoint = endpoint_of(model)
    window = FEW_TASKS if endpoint is None else max(TASKS_AT_ENDPOINT, 2 * endpoint.concurrency)
    return Engine(token_budget=spec.token_budget, window=window)


@contextmanager
def _frozen() -> Iterator[None]:
    """Keep what is there by now (modules, model, data) out of the garbage collector's searches."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def check_counts(counts: Mapping[str, int], planned: int) -> None:
    """Every planned row is there once, and every row is done, failed or skipped."""
    summed = counts["done"] + counts["failed"] + counts["skipped"]
    if not planned == counts["rows"] == summed:
        raise AssertionError(f"{planned} rows planned, {counts['rows']} stored, {summed} done, failed or skipped")
