"""Simulatability of a run: agents are trained once all explanations are there, and their answers become scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from verax.engine.engine import Outcome
from verax.metrics.budget import budget_of
from verax.metrics.simulatability.simulatability import Answers, Simulatability
from verax.models.classifier import Classifier
from verax.run.execute import Explained, as_score, by_agents
from verax.run.held_out import FEWEST, Parts
from verax.run.parameters import Configured
from verax.run.plan import Plan, PlannedExplanation
from verax.store.store import Store
from verax.train.agent import Agent, Lessons, Shown
from verax.train.agent_start import Start, find_start
from verax.types import Cost, Dataset, Highlight, Instance, Measured, Prediction, Skip, Undefined, UserError

FOLDER = "agents"


def starts(metrics: Iterable[Configured[Any]], model: Classifier, data: Dataset) -> dict[str, Start]:
    """What the agents of each metric that needs some start from, by its label; refuse what can't be had."""
    needing = [metric for metric in metrics if by_agents(metric)]
    if needing and len(data) < FEWEST:
        raise UserError(
            f"{needing[0].name} holds a fifth of the instances out to measure its agents on: got {len(data)}, at least "
            f"{FEWEST} are needed"
        )
    found = {base: find_start(model, base) for base in dict.fromkeys(metric.component.base for metric in needing)}
    return {metric.label: found[metric.component.base] for metric in needing}


def most_agents(plan: Plan) -> int:
    """How many agents a run trains at most: metrics that differ in their insertion share those without explanations."""
    seeds: int = sum(named.component.seeds for named in plan.metrics if by_agents(named))  # type: ignore[attr-defined]
    return seeds * (len(plan.labels()) + 1)


@dataclass
class _Class:
    """What the agents of one method are shown under one metric.

    Args:
        shown: for each instance its texts with the explanation in them.
        refused: for each other instance why there are none.
        parts: of those that are shown.
        agents: for each seed one that sees the explanations, and one that does not.
    """

    metric: Simulatability
    method: str
    start: Start
    shown: dict[str, tuple[str, ...]] = field(default_factory=dict)
    refused: dict[str, Undefined] = field(default_factory=dict)
    parts: Parts = field(default_factory=lambda: Parts((), (), ()))
    agents: list[tuple[Agent, Agent]] = field(default_factory=list)

    def take(self, instance: Instance, row: Explained, spans: Sequence[Highlight], setting: Sequence[str]) -> None:
        """Add the explanation of an instance; `spans` are those that set its budget, of the methods `setting`."""
        if isinstance(row, Skip):
            self.refused[instance.id] = Undefined(row.reason, row.detail)
            return
        if not spans:
            why = f"no span explanation sets its budget ({', '.join(setting)})"
            self.refused[instance.id] = Undefined("no_budget", why)
            return
        texts = self.metric.shown(instance, row, budget_of(spans))
        try:
            self.start.check_length(texts)
        except Undefined as too_long:
            self.refused[instance.id] = too_long
        else:
            self.shown[instance.id] = texts

    def refuse_all(self, error: Undefined) -> None:
        """Take back what is shown: no agent can be had."""
        self.refused |= dict.fromkeys(self.shown, error)
        self.shown.clear()

    def answers(self, named: Mapping[str, int]) -> dict[str, Answers]:
        """What finished agents say of each held-out instance; `named` has what the model says."""
        if not self.agents:
            return {}
        said = [[agent.answers() or () for agent in group] for group in zip(*self.agents, strict=True)]
        return {
            one: Answers(named[one], *(tuple(answers[i] for answers in group) for group in said))
            for i, one in enumerate(self.parts.held_out)
        }


@dataclass
class Simulation:
    """The agents of a run, and the scores that come of them.

    Args:
        starting: what the agents start from, by the label of the metric.
        console: for what is going to be done, and how far it is.
    """

    plan: Plan
    store: Store
    model: Classifier
    starting: Mapping[str, Start]
    console: Console
    _classes: dict[tuple[str, str], _Class] = field(default_factory=dict)
    _named: dict[str, str] = field(default_factory=dict)

    def run(self) -> None:
        """Train the agents that are still needed, and add the scores that are not there yet."""
        metrics: dict[str, Any] = {metric.label: metric.component for metric in self.plan.metrics}
        for planned in self.plan.instances:
            for explanation in planned.explanations:
                for score in explanation.scores:
                    where = (score.metric.label, explanation.label)
                    if score.metric.label in self.starting and score.key not in self.store.keys:
                        start = self.starting[score.metric.label]
                        self._classes.setdefault(where, _Class(metrics[where[0]], explanation.label, start))
        if not self._classes:
            return
        self._gather()
        for (metric, _), class_ in self._classes.items():
            self._appoint(metric, class_)
        self._train()
        self._score()

    def _gather(self) -> None:
        """Read what the model said, and write explanations into texts: all of them in memory would be too many."""
        explained = {
            one.key: (planned.instance, one) for planned in self.plan.instances for one in planned.explanations
        }
        predicted = {planned.prediction for planned in self.plan.instances}
        setting = {label for _, one in explained.values() for score in one.scores for label in score.spans}
        spans: dict[tuple[str, str], Highlight] = {}
        for key, row in self.store.rows():
            if isinstance(row, Prediction) and key in predicted:
                self._named[row.instance_id] = row.label
            elif isinstance(row, Highlight) and key in explained and explained[key][1].label in setting:
                spans[row.instance_id, explained[key][1].label] = row
        for key, row in self.store.rows():
            if key in explained and isinstance(row, (Highlight, Skip)):
                self._write_in(*explained[key], row, spans)

    def _write_in(
        self,
        instance: Instance,
        explanation: PlannedExplanation,
        row: Explained,
        spans: Mapping[tuple[str, str], Highlight],
    ) -> None:
        for score in explanation.scores:
            class_ = self._classes.get((score.metric.label, explanation.label))
            if class_ is None:
                continue
            if instance.id not in self._named and not isinstance(row, Skip):
                class_.refused[instance.id] = Undefined("no_prediction", "the model has no answer to it")
                continue
            found = [spans[instance.id, label] for label in score.spans if (instance.id, label) in spans]
            class_.take(instance, row, found, score.spans)

    def _appoint(self, label: str, class_: _Class) -> None:
        """Say who is taught what; a method that has too few explanations gets no agents, and its scores say why."""
        metric, named = class_.metric, self._named
        class_.parts = Parts.of(named, class_.shown, metric.seed)
        complaint = class_.parts.complaint(named)
        if complaint is not None:
            why = f"of the instances that {class_.method} has an explanation of, {complaint}"
            class_.refuse_all(Undefined("too_few_instances", why))
            self.console.print(f"{label}: no agents: {why}", highlight=False, markup=False, soft_wrap=True)
            return
        plain = {
            planned.instance.id: tuple(text.raw for text in planned.instance.parts) for planned in self.plan.instances
        }
        shown, without = (
            Lessons(*(tuple(Shown(texts[one], named[one]) for one in part) for part in class_.parts))
            for texts in (class_.shown, plain)
        )
        start, folder = class_.start, self.store.folder / FOLDER
        class_.agents = [
            (Agent(start, metric.recipe(seed), shown, folder), Agent(start, metric.recipe(seed), without, folder))
            for seed in range(metric.seeds)
        ]

    def _train(self) -> None:
        """Train the agents whose answers are not there; those who would learn the same are one."""
        todo: dict[str, tuple[Agent, str]] = {}
        for class_ in self._classes.values():
            for pair in class_.agents:
                for agent, what in zip(pair, (class_.method, "no explanation"), strict=True):
                    if agent.answers() is None:
                        todo.setdefault(agent.key, (agent, f"{what}, seed {agent.recipe.seed}"))
                    else:
                        agent.forget_state()  # a kill may have come between the answers and this
        if not todo:
            return
        self._announce([agent for agent, _ in todo.values()])
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("epochs"))
        with Progress(*columns, TimeRemainingColumn(), console=self.console) as progress:
            bar = progress.add_task("", total=sum(agent.recipe.epochs for agent, _ in todo.values()))
            before = 0

            def on_epoch(done: int) -> None:
                progress.update(bar, completed=before + done)

            for number, (agent, what) in enumerate(todo.values(), 1):
                progress.update(bar, description=f"agent {number} of {len(todo)}: {what}")
                agent.train(on_epoch)
                before += agent.recipe.epochs

    def _announce(self, agents: Sequence[Agent]) -> None:
        """Say what the trainings are, before the first begins."""
        epochs = sum(agent.recipe.epochs for agent in agents)
        taught = sum(agent.recipe.epochs * len(agent.lessons.train) for agent in agents)
        start = " and ".join(dict.fromkeys(str(agent.start) for agent in agents))
        line = f"{len(agents)} agents to train, {epochs} epochs and {taught} instances in all; they start from {start}"
        self.console.print(f"simulatability: {line}", highlight=False, markup=False, soft_wrap=True)

    def _score(self) -> None:
        """Add the rows."""
        labels = self.model.labels
        named = {one: labels.index(label) for one, label in self._named.items()}
        answers = {where: class_.answers(named) for where, class_ in self._classes.items()}
        for planned in self.plan.instances:
            for explanation in planned.explanations:
                for score in explanation.scores:
                    where = (score.metric.label, explanation.label)
                    if where in answers and score.key not in self.store.keys:
                        outcome = _outcome(self._classes[where], planned.instance.id, answers[where])
                        row = as_score(planned.instance.id, explanation.label, score.metric.label, outcome)
                        self.store.append(score.key, row)


def _outcome(class_: _Class, instance_id: str, answers: Mapping[str, Answers]) -> Outcome[Measured]:
    """The value of one score, or why there is none."""
    try:
        if instance_id in class_.refused:
            raise class_.refused[instance_id]
        return Outcome(class_.metric.measured(instance_id, answers), None, Cost())
    except Undefined as why:
        return Outcome(None, why, Cost())
