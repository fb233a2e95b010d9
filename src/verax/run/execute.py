"""Execution: from planned instances to rows. It knows neither the store nor the console."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import as_generator
from verax.engine.questions import QuestionGenerator
from verax.models.subject import Subject
from verax.run.context import TEXT
from verax.run.endpoint import endpoint_of
from verax.run.plan import Plan, PlannedExplanation, PlannedInstance
from verax.run.providers import Request
from verax.run.rows import as_explanation, as_score, as_skip, explain, predict, skipped_score
from verax.store.tables import Row
from verax.types import PREDICTION, Highlight, Nle, Skip, Undefined, UserError

Explained = Highlight | Nle | Skip
KeyedRow = tuple[str, Row]


class Work(NamedTuple):
    """The missing rows of one instance.

    Args:
        todo: keys of the rows to compute.
        rows: stored rows that they need, by key.
        provided: arguments from deferred providers by the score's key, or the reason why there are none.
    """

    planned: PlannedInstance
    todo: AbstractSet[str]
    rows: Mapping[str, Row]
    provided: Mapping[str, Mapping[str, Any] | Undefined]


Shard = tuple[Work, ...]

FEW_TASKS, TASKS_AT_ENDPOINT = 32, 8
"""Tasks that are open at a time where text is generated: each asks much, so few fill a batch, and finished rows are
stored soon. At an endpoint twice its concurrency, if that is more, so that there is always a request to send."""


def engine_of(plan: Plan) -> Engine:
    """The engine of a run; fewer tasks are open at a time where only text is generated."""
    spec, model = plan.run.spec, plan.run.model
    if plan.run.scores_words:
        return Engine(token_budget=spec.token_budget)
    endpoint = endpoint_of(model)
    window = FEW_TASKS if endpoint is None else max(TASKS_AT_ENDPOINT, 2 * endpoint.concurrency)
    return Engine(token_budget=spec.token_budget, window=window)


class Execution:
    """Computes rows.

    Args:
        plan: of the run.
        engine: asks the models.
    """

    def __init__(self, plan: Plan, engine: Engine) -> None:
        self._plan, self._engine = plan, engine
        self._rows: deque[KeyedRow] = deque()

    def rows(self, works: Iterable[Work]) -> Iterator[KeyedRow]:
        """Rows as they are computed; work of several instances is pooled."""
        try:
            for _ in self._engine.rounds(task for work in works for task in self._tasks(work)):
                yield from self._drain()
        except GeneratorExit:
            raise
        except BaseException:
            yield from self._drain()  # finished rows are stored even if an error ends the run
            raise
        yield from self._drain()

    def _drain(self) -> Iterator[KeyedRow]:
        while self._rows:
            yield self._rows.popleft()

    def _tasks(self, work: Work) -> Iterator[Task[Any]]:
        instance = _InstanceWork(work, Subject(work.planned.instance, self._plan.run.model, self._plan.run.parts))
        unreadable = self._unreadable(instance)
        prediction = work.planned.prediction
        if prediction is not None and prediction in work.todo:
            if unreadable is not None:
                self._add(prediction, as_skip(work.planned.instance.id, PREDICTION, unreadable))
            else:
                yield self._prediction(prediction, instance.x)
        for explanation in work.planned.explanations:
            if explanation.key in work.rows:
                yield from self._measure(instance, explanation, work.rows[explanation.key])  # type: ignore[arg-type]
            elif explanation.key in work.todo:
                yield from self._explain(instance, explanation, unreadable)

    def _unreadable(self, instance: _InstanceWork) -> Exception | None:
        """The error of a model that cannot encode an instance with missing rows, which become skips; else None."""
        planned, todo = instance.work.planned, instance.work.todo
        words = [explanation for explanation in planned.explanations if explanation.kind != TEXT]
        if planned.prediction not in todo and not any(_concerns(explanation, todo) for explanation in words):
            return None
        try:
            instance.x.encoded()
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - a tokenizer that fails on one text must not end the run
            return error
        return None

    def _add(self, key: str, row: Row) -> None:
        self._rows.append((key, row))

    def _prediction(self, key: str, x: Subject) -> Task[Any]:
        def done(outcome: TaskResult[Any]) -> Iterable[Task[Any]]:
            if outcome.value is None:
                self._add(key, as_skip(x.instance.id, PREDICTION, outcome.error))
            else:
                self._add(key, replace(outcome.value, cost=outcome.cost))
            return ()

        return Task(predict(x), done)

    def _explain(
        self, instance: _InstanceWork, explanation: PlannedExplanation, unreadable: Exception | None
    ) -> Iterator[Task[Any]]:
        x, label, method = instance.x, explanation.label, explanation.method
        if unreadable is not None and explanation.kind != TEXT:
            yield from self._settle(instance, explanation, as_skip(x.instance.id, label, unreadable))
        elif method is None:
            why = ("not_given", "the file has no explanation of this instance")
            yield from self._settle(instance, explanation, explanation.given or Skip(x.instance.id, label, *why))
        else:

            def done(outcome: TaskResult[Any]) -> Iterable[Task[Any]]:
                if outcome.value is None:
                    return self._settle(instance, explanation, as_skip(x.instance.id, label, outcome.error))
                row = as_explanation(x.instance, method, outcome.value, x.model.labels, outcome.cost)
                return self._settle(instance, explanation, row)

            yield Task(explain(x, method), done)

    def _settle(self, instance: _InstanceWork, explanation: PlannedExplanation, row: Explained) -> Iterator[Task[Any]]:
        self._add(explanation.key, row)
        return self._measure(instance, explanation, row)

    def _measure(self, instance: _InstanceWork, explanation: PlannedExplanation, row: Explained) -> Iterator[Task[Any]]:
        """Measure an explanation and scores that waited for it; scores that need other rows wait for those."""
        instance.rows[explanation.key] = row
        for score in explanation.scores:
            if score.key not in instance.work.todo:
                continue
            if isinstance(row, Skip):
                self._add(score.key, skipped_score(row, score.metric.label))
            else:
                instance.waiting.append(Request(explanation, score, row, instance.x, instance.rows))
        for request in instance.ready():
            yield self._score(instance, request)

    def _score(self, instance: _InstanceWork, request: Request) -> Task[Any]:
        row, score = request.row, request.score

        def done(outcome: TaskResult[Any]) -> Iterable[Task[Any]]:
            self._add(score.key, as_score(row.instance_id, row.method, score.metric.label, outcome))
            return ()

        return Task(self._measuring(request, instance.work.provided.get(score.key, {})), done)

    def _measuring(self, request: Request, provided: Mapping[str, Any] | Undefined) -> QuestionGenerator[Any]:
        """Call a metric with the arguments from its providers."""
        if isinstance(provided, Undefined):
            raise provided
        arguments = {**provided, **self._plan.providers.arguments(request, deferred=False)}
        return (yield from as_generator(partial(request.metric.component, **arguments), request.x, request.row))


@dataclass(slots=True)
class _InstanceWork:
    """The state of one instance: its rows so far, and the scores that wait for more."""

    work: Work
    x: Subject
    rows: dict[str, Row] = field(init=False)
    waiting: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows = dict(self.work.rows)

    def ready(self) -> list[Request]:
        """Scores whose needed rows are all available; they wait no longer."""
        ready: list[Request] = []
        waiting: list[Request] = []
        for request in self.waiting:
            (ready if all(key in self.rows for key in request.score.rows) else waiting).append(request)
        self.waiting = waiting
        return ready


def _concerns(explanation: PlannedExplanation, todo: AbstractSet[str]) -> bool:
    """Whether an explanation or one of its scores is to be computed."""
    return explanation.key in todo or any(score.key in todo for score in explanation.scores)
