"""Carry out a plan: every row that is not there yet is computed, once, and appended to the store."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import softmax

from verax.engine.engine import Engine, Outcome, Task
from verax.engine.protocols import Method, Metric, as_generator, needs
from verax.engine.questions import Outputs, QuestionGenerator
from verax.metrics.budget import budget_of
from verax.models.classifier import Classifier
from verax.models.subject import Subject
from verax.run.parameters import Configured
from verax.run.plan import Plan, PlannedExplanation, PlannedInstance, PlannedScore, explain_again
from verax.stats.masf import InDistributionTest
from verax.store.store import Store
from verax.types import (
    Attribution,
    Cost,
    FloatArray,
    Highlight,
    Instance,
    Measured,
    Prediction,
    Score,
    Skip,
    Target,
    Undefined,
    UserError,
)

FAILED = "failed"
PREDICTION = "prediction"
"""The method of a skip that concerns the instance as a whole: the model could not be asked about it at all."""

Explained = Highlight | Skip


@dataclass
class Execution:
    """One process's work on a plan.

    Args:
        plan: what the run consists of.
        store: where its rows go, and where those that are there already come from.
        engine: runs the tasks.
        model: the model that is explained.
        on_row: called after each row.
        on_explained: called with each explanation that was made, and its key.
        references: what was learned from a validation set, for each metric that needs it, by its label.
    """

    plan: Plan
    store: Store
    engine: Engine
    model: Classifier
    on_row: Callable[[], None] = lambda: None
    on_explained: Callable[[str, Explained], None] = lambda *_: None
    references: Mapping[str, InDistributionTest] = field(default_factory=dict)
    _found: dict[str, Explained] = field(default_factory=dict)

    def run(self) -> None:
        """Do all that is left."""
        present = self.store.keys
        todo = [planned for planned in self.plan.instances if any(key not in present for key in planned.row_keys())]
        for planned in self.plan.instances:
            if planned.key not in present:
                self.store.append(planned.key, planned.instance)
        self._found = self._explanations_with_scores_to_do(todo)
        self.engine.run(task for planned in todo for task in self._tasks(planned))

    def _explanations_with_scores_to_do(self, todo: Iterable[PlannedInstance]) -> dict[str, Explained]:
        """Stored explanations that some metric has yet to measure."""
        present = self.store.keys
        wanted = {
            explanation.key
            for planned in todo
            for explanation in planned.explanations
            if explanation.key in present and _wanted(explanation, planned, present)
        }
        if not wanted:
            return {}
        return {key: row for key, row in self.store.rows(wanted) if isinstance(row, (Highlight, Skip))}

    def _tasks(self, planned: PlannedInstance) -> Iterator[Task[Any]]:
        """The tasks of one instance, or none if the model can't be asked about it: then all its rows are skips."""
        try:
            x = Subject(planned.instance, self.model, self.plan.parts).encoded()
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - a tokenizer that fails on one text must not end the run
            self._skip_instance(planned, error)
            return
        if planned.prediction not in self.store.keys:
            yield self._prediction(planned, x)
        made = _Made()
        for explanation in planned.explanations:
            found = self._found.pop(explanation.key, None)
            if found is not None:
                yield from self._measure(x, explanation, found, made)
            elif explanation.key not in self.store.keys:
                yield from self._explain(x, explanation, made)

    def _add(self, key: str, row: Prediction | Highlight | Skip | Score) -> None:
        self.store.append(key, row)
        self.on_row()
        if isinstance(row, (Highlight, Skip)):
            self.on_explained(key, row)

    def _skip_instance(self, planned: PlannedInstance, error: Exception) -> None:
        instance_id, present = planned.instance.id, self.store.keys
        if planned.prediction not in present:
            self._add(planned.prediction, as_skip(instance_id, PREDICTION, error))
        for explanation in planned.explanations:
            skip = as_skip(instance_id, explanation.label, error)
            if explanation.key not in present:
                self._add(explanation.key, skip)
            self._skip_scores(explanation, skip)

    def _skip_scores(self, explanation: PlannedExplanation, skip: Skip) -> None:
        for planned in explanation.scores:
            if planned.key not in self.store.keys and not is_deferred(planned.metric):
                score = Score(skip.instance_id, skip.method, planned.metric.label, None, skip.reason, skip.detail)
                self._add(planned.key, score)

    def _prediction(self, planned: PlannedInstance, x: Subject) -> Task[Any]:
        def done(outcome: Outcome[Prediction]) -> Iterable[Task[Any]]:
            row: Prediction | Skip = as_skip(planned.instance.id, PREDICTION, outcome.error)
            if outcome.value is not None:
                row = replace(outcome.value, cost=outcome.cost)
            self._add(planned.prediction, row)
            return ()

        return Task(predict(x), done)

    def _explain(self, x: Subject, explanation: PlannedExplanation, made: _Made) -> Iterator[Task[Any]]:
        instance = x.instance
        if explanation.method is None:
            missing = Skip(instance.id, explanation.label, "not_given", "the file has no explanation of this instance")
            row: Explained = explanation.given or missing
            self._add(explanation.key, row)
            yield from self._measure(x, explanation, row, made)
            return
        method = explanation.method

        def done(outcome: Outcome[Attribution]) -> Iterable[Task[Any]]:
            row: Explained
            if outcome.value is None:
                row = as_skip(instance.id, method.label, outcome.error)
            else:
                row = as_highlight(instance, method, outcome.value, outcome.cost)
            self._add(explanation.key, row)
            return self._measure(x, explanation, row, made)

        yield Task(as_generator(method.component, x), done)

    def _measure(self, x: Subject, explanation: PlannedExplanation, row: Explained, made: _Made) -> Iterator[Task[Any]]:
        """The scores of an explanation, those that wait for others only once these are made."""
        made.rows[explanation.label] = row
        if isinstance(row, Skip):
            self._skip_scores(explanation, row)
        else:
            made.waiting += [
                (score, row, explanation.method)
                for score in explanation.scores
                if score.key not in self.store.keys and not is_deferred(score.metric)
            ]
        ready = [one for one in made.waiting if all(label in made.rows for label in one[0].spans)]
        made.waiting = [one for one in made.waiting if one not in ready]
        for score, highlight, method in ready:
            yield self._score(x, score, highlight, method, made)

    def _score(
        self, x: Subject, planned: PlannedScore, highlight: Highlight, method: Configured[Method] | None, made: _Made
    ) -> Task[Any]:
        metric = planned.metric

        def done(outcome: Outcome[Measured]) -> Iterable[Task[Any]]:
            self._add(planned.key, as_score(highlight.instance_id, highlight.method, metric.label, outcome))
            return ()

        handed: dict[str, Any] = {}
        if "budget" in needs(metric.component):
            spans = [row for row in map(made.rows.get, planned.spans) if isinstance(row, Highlight)]
            if not spans:
                missing = Undefined("no_budget", f"no span explanation sets its budget ({', '.join(planned.spans)})")
                return Task(_refused(missing), done)
            handed["budget"] = budget_of(spans, set(x.words))
        if "explain" in needs(metric.component):
            again = explain_again(metric.component, None if method is None else method.component)
            handed["explain"] = None if again is None else partial(as_generator, again)
        if "reference" in needs(metric.component):
            handed["reference"] = self.references[metric.label]
        return Task(as_generator(partial(metric.component, **handed), x, highlight), done)


@dataclass(slots=True)
class _Made:
    """What is made of one instance so far, and the scores that wait for more."""

    rows: dict[str, Explained] = field(default_factory=dict)
    waiting: list[tuple[PlannedScore, Highlight, Configured[Method] | None]] = field(default_factory=list)


def _wanted(explanation: PlannedExplanation, planned: PlannedInstance, present: Collection[str]) -> bool:
    """Whether a stored explanation has scores to come, or sets the budget of some; not such as come later."""

    def to_come(score: PlannedScore) -> bool:
        return score.key not in present and not is_deferred(score.metric)

    return any(to_come(score) for score in explanation.scores) or any(
        explanation.label in score.spans and to_come(score) for other in planned.explanations for score in other.scores
    )


def is_deferred(metric: Configured[Metric]) -> bool:
    """Whether a metric needs explanations of other instances too: it is measured when every explanation is there."""
    return bool(needs(metric.component) & {"agents", "translation"})


def by_agents(metric: Configured[Metric]) -> bool:
    """Whether a metric is measured by agents: they are trained when every explanation of the run is there."""
    return "agents" in needs(metric.component)


def _refused(error: Undefined) -> QuestionGenerator[Any]:
    """A task that ends at once with what stands in its way."""
    yield from ()
    raise error


def predict(x: Subject) -> QuestionGenerator[Prediction]:
    """The model's answer to the unperturbed input."""
    logits: FloatArray = yield Outputs(x, np.empty((0, x.n_units), bool), and_full=True)
    probabilities = softmax(logits[-1])
    labels = x.encoding.labels
    best = labels[int(np.argmax(logits[-1]))]
    return Prediction(x.instance.id, best, labels, tuple(probabilities.tolist()))


def as_highlight(
    instance: Instance, method: Configured[Method], attribution: Attribution, cost: Cost = Cost()
) -> Highlight:
    """What a method made of an instance, as a row."""
    target, scores = getattr(method.component, "target", Target()), tuple(attribution.scores.tolist())
    who = (instance.id, method.label, method.component.kind, target)
    return Highlight(*who, attribution.units, scores, cost, attribution.notes)


def as_score(instance_id: str, method: str, metric: str, outcome: Outcome[Measured]) -> Score:
    """How a metric ended, as a row."""
    ids, measured, cost = (instance_id, method, metric), outcome.value, outcome.cost
    if measured is None:
        reason, detail = _reason(outcome.error)
        return Score(*ids, None, reason, detail, cost=cost)
    value, curve, series, no_value, detail, log = measured
    if value is not None and not np.isfinite(value):
        return Score(*ids, None, "nonfinite", "the metric's value is not a finite number", cost=cost)
    return Score(*ids, value, no_value, detail, curve, cost, series, log)


def as_skip(instance_id: str, method: str, error: Exception | None) -> Skip:
    """Why there is no explanation, as a row."""
    reason, detail = _reason(error)
    return Skip(instance_id, method, reason, detail, failed=reason == FAILED)


def _reason(error: Exception | None) -> tuple[str, str]:
    if isinstance(error, Undefined):
        return error.reason, error.detail
    where = traceback.extract_tb(error.__traceback__)[-1] if error is not None and error.__traceback__ else None
    place = f" ({where.filename.rpartition('/')[2]}:{where.lineno})" if where else ""
    return FAILED, f"{type(error).__name__}: {error}{place}"
