"""The driver of a run: plans, hands shards to an executor, and is the only one to write to the store."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from rich.console import Console

from verax.engine.reproducible import reproducible
from verax.models.subject import Subject
from verax.results.manifest import Counts, Manifest
from verax.results.run import Run
from verax.run.card import closing_manifest, opening_manifest
from verax.run.endpoint import endpoint_of, moved, unanswered, with_requests
from verax.run.execute import Execution, Shard, Work, engine_of
from verax.run.executors import Executor, InlineExecutor
from verax.run.executors.opening import SharedExecutor
from verax.run.placement import INLINE, Placement
from verax.run.plan import Plan, PlanKeys, PlannedExplanation, PlannedInstance, PlannedScore, Remaining
from verax.run.prepare import Prepared, Recipe
from verax.run.progress import progress_bar
from verax.run.providers import Request, Stage
from verax.run.rows import TEMPORARY
from verax.run.until_decided import continued, look_sizes, looked
from verax.store.read import RunTables, read_keys, read_reasons, read_rows, read_run_card
from verax.store.store import Store
from verax.store.tables import Row
from verax.types import FAILED, Highlight, Nle, Score, Skip, Undefined, UserError

SHARD = 16
"""Instances in a shard."""
MOST_READ, MOST_PLANNED = 20_000, 200_000
"""Stored rows and planned rows that are held in memory at a time."""


def execute_run(
    prepared: Prepared,
    folder: Path,
    *,
    command: str,
    console: Console,
    announce: Callable[[Remaining], None] = lambda _: None,
    retry_failed: bool = False,
    fail_on_error: int | None = None,
    stop_at: float | None = None,
    placement: Placement = INLINE,
) -> Run:
    """Compute every row that a folder does not hold yet, or those of its first inputs until a ranking is decided.

    Args:
        folder: stored rows are not computed again, except those whose failure may have been temporary.
        command: the command that repeats the run.
        console: for progress and notices.
        announce: called with the remaining work before anything is computed.
        retry_failed: compute all rows again that failed.
        fail_on_error: stop with `TooManyFailures` after this many failed rows.
        stop_at: stop with `OutOfTime` at the first row after this time, as `time.monotonic` tells it.
        placement: where the rows are computed.
    """
    test = continued(prepared.run.until_decided, Manifest.read(read_run_card(folder))[0].until_decided)
    with closing(SharedExecutor(placement, prepared, console)) as shared:
        compute = partial(
            _compute,
            folder=folder,
            command=command,
            console=console,
            retry_failed=retry_failed,
            fail_on_error=fail_on_error,
            stop_at=stop_at,
            shared=shared,
        )
        if test is None:
            return compute(prepared, announce=announce)
        whole = prepared.plan_again(to_retry(prepared.run.model, folder, retry_failed))
        announce(whole.remaining(read_keys(folder)))
        for inputs in look_sizes(test.max_inputs, min(test.inputs, test.max_inputs)):
            run = compute(prepared.first(inputs, test.looks), announce=lambda _: None)
            test = run.manifest.until_decided or test
            open_questions = sum(map(len, test.undecided.values()))
            left = f", {open_questions} of its comparisons open" if open_questions else ""
            console.print(f"{test.outcome}{left}", markup=False, highlight=False, soft_wrap=True)
            if test.finished:
                break
        return run


def _compute(
    prepared: Prepared,
    folder: Path,
    *,
    command: str,
    console: Console,
    announce: Callable[[Remaining], None],
    retry_failed: bool,
    fail_on_error: int | None,
    stop_at: float | None,
    shared: SharedExecutor,
) -> Run:
    """Compute every missing row of a run, or of its first inputs."""
    model = prepared.run.model
    with _frozen(), reproducible(model), Store.open(folder, say=console.print) as store:
        for line in store.repaired:
            console.print(line, markup=False)
        again = to_retry(model, folder, retry_failed)
        plan = prepared.plan_again(again)
        left = plan.remaining(store.keys)
        announce(left)
        earlier, _ = Manifest.read(store.card)
        manifest = opening_manifest(plan, rows=left.rows, command=command, earlier=earlier)
        for line in moved(manifest.model):
            console.print(line, style="yellow", markup=False, highlight=False)
        store.write_card(manifest.card())
        store.write_plan(PlanKeys(plan))
        endpoint = endpoint_of(model)
        sent = 0 if endpoint is None else endpoint.requests
        try:
            if endpoint is not None:
                endpoint.use_store(store)
            driver = Driver(plan, prepared.recipe, store, console, shared.placement, fail_on_error, stop_at)
            driver.run(left, partial(shared.open, again))
        finally:  # also where `max_requests` or invalid input ends the run
            if endpoint is not None:
                manifest = with_requests(manifest, endpoint.requests - sent, earlier)
                store.write_card(manifest.card())
        store.seal()
        manifest = closing_manifest(manifest, RunTables.open(folder))
        _check_counts(manifest.counts, left.rows)
        store.write_card(looked(manifest, Run(folder)).card())
    return Run(folder)


def to_retry(model: Any, folder: Path, retry_failed: bool) -> frozenset[str]:
    """Keys of stored rows without a result that are computed again: all that failed, or those that may work now."""
    failed = {
        key
        for key, reason, detail in read_reasons(folder)
        if reason == FAILED and (retry_failed or detail.startswith(TEMPORARY))
    }
    return unanswered(model, read_rows(folder)) | failed


class TooManyFailures(UserError):
    """So many rows failed that the run was stopped, as requested; all rows so far are stored."""


class OutOfTime(UserError):
    """The time of a run is over; all rows so far are stored."""


class Driver:
    """Computes and stores the missing rows of a plan."""

    def __init__(
        self,
        plan: Plan,
        recipe: Recipe,
        store: Store,
        console: Console,
        placement: Placement,
        fail_on_error: int | None = None,
        stop_at: float | None = None,
    ) -> None:
        self._plan, self._recipe, self._placement = plan, recipe, placement
        self._store, self._console = store, console
        self._failed, self._fail_on_error, self._stop_at = 0, fail_on_error, stop_at

    def run(self, left: Remaining, open_executor: Callable[[InlineExecutor], AbstractContextManager[Executor]]) -> None:
        """Compute all missing rows.

        Args:
            open_executor: returns the executor of immediate rows, given that of this process.
        """
        engine = engine_of(self._plan)
        if left.done < left.rows:
            for provider in self._plan.providers:
                provider.prepare(engine, self._console)
        inline = InlineExecutor(Execution(self._plan, engine))
        with open_executor(inline) as executor:
            self.run_immediate(executor, left)
        self.run_deferred(inline, left)  # quick to compute, but of much data: it stays here

    def run_immediate(self, executor: Executor, left: Remaining) -> None:
        """Compute rows that depend on one instance only."""
        workers = None if isinstance(executor, InlineExecutor) else lambda: executor.live
        with progress_bar(left.rows - left.deferred, left.done, self._console, workers) as on_row:
            for key, row in executor.map(self._shards(deferred=False)):
                self._append(key, row)
                on_row(row)

    def run_deferred(self, executor: Executor, left: Remaining) -> None:
        """Compute rows that had to wait until every explanation is stored."""
        read = partial(self._with_stored, self._plan)
        stage = Stage(
            self._plan, self._store.keys, read, self._store.folder, self._console, self._placement, self._recipe
        )
        for provider in self._plan.providers:
            for key, row in provider.after(stage):
                self._store.append(key, row)
        if left.deferred:
            for key, row in executor.map(self._shards(deferred=True)):
                self._append(key, row)

    def _append(self, key: str, row: Row) -> None:
        self._store.append(key, row)
        self._failed += isinstance(row, (Skip, Score)) and row.reason == FAILED
        if self._failed == self._fail_on_error:
            detail = row.detail if isinstance(row, (Skip, Score)) else ""
            raise TooManyFailures(f"stopped after {self._failed} failed rows (--fail-on-error), the last: {detail}")
        if self._stop_at is not None and time.monotonic() > self._stop_at:
            raise OutOfTime("the time of the run is over")

    def _shards(self, *, deferred: bool) -> Iterator[Shard]:
        """The missing work in shards, generated as they are needed."""
        works = self._works(deferred=deferred)
        while shard := tuple(islice(works, SHARD)):
            yield shard

    def _works(self, *, deferred: bool) -> Iterator[Work]:
        def wanted(planned: PlannedInstance) -> Iterator[str]:
            for explanation, score in self._missing(planned, deferred=deferred):
                yield explanation.key
                yield from score.rows

        for planned, rows in self._with_stored(self._instances(), wanted):
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
        """Planned instances; rows of new inputs are stored on the way."""
        for planned in self._plan:
            if planned.key not in self._store.keys:
                self._store.append(planned.key, planned.instance)
            yield planned

    def _missing(
        self, planned: PlannedInstance, *, deferred: bool
    ) -> Iterator[tuple[PlannedExplanation, PlannedScore]]:
        """Scores that are not stored, either the deferred ones or the others."""
        for explanation in planned.explanations:
            for score in explanation.scores:
                if score.deferred is deferred and score.key not in self._store.keys:
                    yield explanation, score

    def _with_stored(
        self, instances: Iterable[PlannedInstance], wanted: Callable[[PlannedInstance], Iterable[str]]
    ) -> Iterator[tuple[PlannedInstance, dict[str, Row]]]:
        """Planned instances, each with its wanted rows that are stored.

        Every read goes through the whole store, so rows of many instances are read at a time.
        """
        held: list[tuple[PlannedInstance, set[str]]] = []
        n_planned, keys = 0, set[str]()
        for planned in instances:
            own = {key for key in wanted(planned) if key in self._store.keys}
            if not own and not held:
                yield planned, {}
                continue
            held.append((planned, own))
            keys |= own
            n_planned += sum(1 + len(explanation.scores) for explanation in planned.explanations)
            if len(keys) >= MOST_READ or n_planned >= MOST_PLANNED:
                yield from self._read(held, keys)
                held, keys, n_planned = [], set(), 0
        yield from self._read(held, keys)

    def _read(
        self, held: Iterable[tuple[PlannedInstance, set[str]]], keys: set[str]
    ) -> Iterator[tuple[PlannedInstance, dict[str, Row]]]:
        rows = dict(self._store.rows(keys)) if keys else {}
        for planned, own in held:
            yield planned, {key: rows[key] for key in own}

    def _provided(
        self, planned: PlannedInstance, rows: Mapping[str, Row]
    ) -> Iterator[tuple[str, Mapping[str, Any] | Undefined]]:
        """Arguments from deferred providers for the scores of an instance."""
        x = Subject(planned.instance, self._plan.run.model, self._plan.run.parts)
        for explanation, score in self._missing(planned, deferred=True):
            row = rows[explanation.key]
            if isinstance(row, (Highlight, Nle)):
                request = Request(explanation, score, row, x, rows)
                try:
                    yield score.key, self._plan.providers.arguments(request, deferred=True)
                except Undefined as undefined:
                    yield score.key, undefined


@contextmanager
def _frozen() -> Iterator[None]:
    """Exclude existing objects (modules, model, data) from garbage collection."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _check_counts(counts: Counts | None, planned: int) -> None:
    """Every planned row is stored once, and is done, failed or skipped."""
    if counts is None or not planned == counts.rows == counts.done + counts.failed + counts.skipped:
        raise AssertionError(f"{planned} rows planned, but stored are: {counts}")
