"""Carry out a plan over free-text explanations: whatever is not there yet is asked for, once, and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verax.engine.engine import Engine, Outcome, Task
from verax.engine.protocols import AnsweringMethod, TextMetric, as_generator, needs
from verax.engine.questions import QuestionGenerator
from verax.models.classifier import Encoder
from verax.models.self_explainer import SelfExplainer
from verax.models.subject import Subject
from verax.run.execute import as_score, as_skip
from verax.run.nle.plan import PlannedInput, PlannedNle, PlannedTest, TextPlan
from verax.run.parameters import Configured
from verax.store.store import Store
from verax.types import Measured, Nle, Score, Skip, Target, Undefined


@dataclass
class TextExecution:
    """One process's work on a plan.

    Args:
        plan: what the run consists of.
        store: where its rows go.
        engine: runs the tasks.
        by: who explains.
        vocabulary: what metrics draw random words from.
        encoder: of the semantic match, if there is one.
        on_row: called after each row.
    """

    plan: TextPlan
    store: Store
    engine: Engine
    by: SelfExplainer
    vocabulary: Sequence[str]
    encoder: Encoder | None = None
    on_row: Callable[[], None] = lambda: None

    def run(self) -> None:
        """Do all that is left."""
        present = self.store.keys
        for planned in self.plan.instances:
            if planned.key not in present:
                self.store.append(planned.key, planned.instance)
        todo = [planned for planned in self.plan.instances if any(key not in present for key in planned.row_keys())]
        said = {one.key for planned in todo for one in planned.explanations if one.key in present}
        rows = {key: row for key, row in self.store.rows(said) if isinstance(row, (Nle, Skip))} if said else {}
        self.engine.run(task for planned in todo for task in self._tasks(planned, rows))

    def _tasks(self, planned: PlannedInput, rows: dict[str, Nle | Skip]) -> Iterator[Task[Any]]:
        x = Subject(planned.instance, self.by)
        for explanation in planned.explanations:
            row = rows.pop(explanation.key, None)
            if row is None:
                yield self._explain(x, explanation)
            else:
                yield from self._measure(x, explanation, row)

    def _add(self, key: str, row: Nle | Skip | Score) -> None:
        self.store.append(key, row)
        self.on_row()

    def _explain(self, x: Subject, explanation: PlannedNle) -> Task[Any]:
        def done(outcome: Outcome[Nle]) -> Iterable[Task[Any]]:
            row: Nle | Skip
            if outcome.value is None:
                row = as_skip(x.instance.id, explanation.setup.label, outcome.error)
            else:
                row = replace(outcome.value, cost=outcome.cost)
            self._add(explanation.key, row)
            return self._measure(x, explanation, row)

        return Task(explained(x, explanation.setup), done)

    def _measure(self, x: Subject, explanation: PlannedNle, row: Nle | Skip) -> Iterator[Task[Any]]:
        for planned in explanation.scores:
            if planned.key in self.store.keys:
                continue
            if isinstance(row, Skip):
                who = (row.instance_id, row.method, planned.metric.label)
                self._add(planned.key, Score(*who, None, row.reason, row.detail))
            else:
                yield self._score(x, planned, row, explanation.setup.component)

    def _score(self, x: Subject, planned: PlannedTest, nle: Nle, setup: AnsweringMethod) -> Task[Any]:
        label = planned.metric.label

        def done(outcome: Outcome[Measured]) -> Iterable[Task[Any]]:
            self._add(planned.key, as_score(nle.instance_id, nle.method, label, outcome))
            return ()

        return Task(measuring(x, nle, planned.metric.component, setup, self.vocabulary, self.encoder), done)


def explained(x: Subject, setup: Configured[AnsweringMethod]) -> QuestionGenerator[Nle]:
    """What a set-up says of an input."""
    if empty := [number for number, part in enumerate(x.instance.parts, 1) if not part.words]:
        raise Undefined("empty", f"part {empty[0]} of the input has no word")
    said = yield from setup.component.answer(x)
    said = yield from setup.component.explain(x, said)
    if said.text is None:
        raise TypeError(f"{setup.label} ended without an explanation")
    who = (x.instance.id, setup.label, Target())
    return Nle(*who, said.text, said.label, x.model.labels, said.probabilities, said.label_source, notes=said.notes)


def measuring(
    x: Subject,
    nle: Nle,
    metric: TextMetric,
    setup: AnsweringMethod,
    vocabulary: Sequence[str],
    encoder: Encoder | None,
) -> QuestionGenerator[Measured]:
    """A metric with all that it needs."""
    at_hand = {"setup": setup, "vocabulary": vocabulary, "encoder": encoder}
    handed = {name: what for name, what in at_hand.items() if name in needs(metric)}
    return as_generator(lambda: metric(x, nle, **handed))
