"""Agents that learn to name the model's class, with and without explanations, once all explanations are stored."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, cast

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from verax.engine.protocols import Metric
from verax.engine.reproducible import one_thread, passes_are_alone
from verax.metrics.ranking import budget_of
from verax.metrics.simulatability import Answers, Simulatability
from verax.models.subject import Subject
from verax.results.run import Run
from verax.run.context import RunContext
from verax.run.executors.tasks import finish_tasks
from verax.run.parameters import Configured
from verax.run.placement import INLINE, Placement
from verax.run.plan import Outline, Plan, PlannedExplanation, PlannedInstance, PlannedScore
from verax.run.providers import Part, Provider, Request, Stage
from verax.run.providers.budget import BudgetProvider, spans_in
from verax.store.files import check_links
from verax.store.folder import AGENTS
from verax.store.keys import key_of
from verax.store.lock import check_locks
from verax.store.tables import Row
from verax.train.agent import Agent, AgentData, AgentInput, AgentStart, find_start
from verax.types import Highlight, Prediction, Undefined, UserError

TAUGHT, CHOSEN_ON = 0.6, 0.8
"""Shares at which instances are cut: agents learn from the first, the best epoch is chosen on the second, the rest is
held out."""
FEWEST_HELD_OUT, FEWEST = 5, 25
"""Instances that must be held out, and instances in all of which that many are."""


class AgentsProvider(Provider):
    """The answers of agents: for each metric and explainer, some are shown explanations and as many are not."""

    needs: ClassVar[frozenset[str]] = frozenset({"budget"})
    deferred: ClassVar[bool] = True
    owns_seed: ClassVar[bool] = True

    def __init__(self, run: RunContext, metrics: Sequence[Configured[Any]], others: Mapping[str, Provider]) -> None:
        super().__init__(run, metrics, others)
        self._elsewhere = {
            metric.label: Elsewhere.open(metric.component.lessons, run)
            for metric in metrics
            if metric.component.lessons is not None
        }
        if len(run.data) < FEWEST and len(self._elsewhere) < len(metrics):
            raise UserError(
                f"{metrics[0].name} holds a fifth of the instances out to measure its agents on: got {len(run.data)}, "
                f"at least {FEWEST} are needed, or `lessons` from a run on another split"
            )
        bases = dict.fromkeys(metric.component.base for metric in metrics)
        starts = {base: find_start(run.model, base) for base in bases}
        self.starts: dict[str, AgentStart] = {metric.label: starts[metric.component.base] for metric in metrics}
        self._lessons: dict[tuple[str, str], _Lessons] = {}

    @property
    def learns(self) -> bool:
        """Agents learn from all explanations of the run."""
        return True

    @property
    def _budget(self) -> BudgetProvider:
        return cast("BudgetProvider", self.others["budget"])

    def key(self, metric: Configured[Metric]) -> str:
        """Hash of the weights that the agents start from, and of what they learn from if that is another run."""
        start, elsewhere = self.starts[metric.label].key, self._elsewhere.get(metric.label)
        return start if elsewhere is None else key_of(start=start, lessons=elsewhere.key)

    def survey(self, plan: Plan) -> None:
        """Hash all predictions and explanations: agents learn from every one of them."""
        hashes = {label: hashlib.sha256() for label in plan.labels()}
        for outline in plan.outlines():
            for label, key in outline.explanations.items():
                hashes[label].update(f"{outline.prediction}{key}".encode())
        self._all = {label: one.hexdigest() for label, one in hashes.items()}

    def part(self, metric: Configured[Metric], outline: Outline, label: str) -> Part:
        """All explanations of the explainer, and of those that set its budget."""
        return Part(tuple(self._all[one] for one in (label, *self._budget.labels(metric, label))))

    def after(self, stage: Stage) -> Iterable[tuple[str, Row]]:
        """Train the agents whose scores are missing; their answers are files in the run's folder."""
        self._lessons = {}
        for planned in stage.plan:
            for explanation in planned.explanations:
                for score in explanation.scores:
                    label, metric = score.metric.label, cast("Simulatability", score.metric.component)
                    if label in self.starts and score.key not in stage.present:
                        lessons = _Lessons(
                            metric,
                            explanation.label,
                            self.starts[label],
                            self._elsewhere.get(label),
                            self._budget.labels(score.metric, explanation.label),
                        )
                        self._lessons.setdefault((label, explanation.label), lessons)
        if self._lessons:
            predicted = self._gather(stage)
            for (label, _), lessons in self._lessons.items():
                lessons.appoint(label, predicted, stage)
            agents = [agent for lessons in self._lessons.values() for agent in lessons.named_agents()]
            train(agents, stage.console, stage.placement)
            for lessons in self._lessons.values():
                lessons.read_answers(predicted, self.run.model.labels)
        return ()

    def _gather(self, stage: Stage) -> dict[str, str]:
        """Write explanations into the texts of all instances, and return the class that the model names for each."""
        predicted: dict[str, str] = {}
        for planned, rows in stage.read(self._wanted):
            instance, prediction = planned.instance, rows.get(planned.prediction or "")
            if isinstance(prediction, Prediction):
                predicted[instance.id] = prediction.label
            for explanation, score, lessons in self._taught(planned):
                row = rows[explanation.key]
                try:
                    if not isinstance(row, Highlight):
                        raise Undefined(row.reason, row.detail)  # type: ignore[union-attr, arg-type]
                    if instance.id not in predicted:
                        raise Undefined("no_prediction", "the model has no answer to it")
                    labels = self._budget.labels(score.metric, explanation.label)
                    texts = lessons.metric.shown(instance, row, budget_of(spans_in(labels, score.rows, rows)))
                    lessons.start.check_length(texts)
                    lessons.shown[instance.id] = texts
                except Undefined as undefined:
                    lessons.refused[instance.id] = undefined
        return predicted

    def _taught(self, planned: PlannedInstance) -> Iterator[tuple[PlannedExplanation, PlannedScore, _Lessons]]:
        """The explanations of an instance that agents learn from."""
        for explanation in planned.explanations:
            for score in explanation.scores:
                if (score.metric.label, explanation.label) in self._lessons:
                    yield explanation, score, self._lessons[score.metric.label, explanation.label]

    def _wanted(self, planned: PlannedInstance) -> Iterator[str]:
        """Keys of the rows that agents learn from."""
        yield planned.prediction or ""
        for explanation, score, _ in self._taught(planned):
            yield explanation.key
            yield from score.rows

    def provide(self, request: Request) -> Mapping[str, Answers]:
        """Answers of the agents, by instance; those that they learned from are not among them."""
        lessons = self._lessons[request.metric.label, request.explanation.label]
        if request.row.instance_id in lessons.refused:
            raise lessons.refused[request.row.instance_id]
        return lessons.answers

    def announcement(self) -> str:
        """The number of agents."""
        start = " and ".join(dict.fromkeys(map(str, self.starts.values())))
        return f"then at most {self.most_agents()} agents are trained, which start from {start}"

    def most_agents(self) -> int:
        """Number of agents at most: metrics that differ in their insertion share those without explanations."""
        seeds: int = sum(metric.component.seeds for metric in self.metrics)
        return seeds * (len(self.run.explainers) + 1)

    def card(self) -> dict[str, Any]:
        """What the agents of each metric start from."""
        return {"agents": {label: {"start": str(start)} for label, start in self.starts.items()}}

    @classmethod
    def example(cls, metric: Any, subjects: Sequence[Subject]) -> Callable[[Subject, Highlight], Mapping[str, Answers]]:
        """One of two agents is right with the explanation, and none without."""
        answers = {x.instance.id: Answers(0, (0, 1), (1, 1)) for x in subjects}
        return lambda x, highlight: answers


class Split(NamedTuple):
    """Ids of instances: those that agents learn from, that choose their best epoch, and that are held out."""

    taught: tuple[str, ...]
    chosen_on: tuple[str, ...]
    held_out: tuple[str, ...]

    @classmethod
    def of(cls, instances: Collection[str], present: Collection[str], seed: int) -> Split:
        """Split all instances by the seed, then keep those that are present.

        So an instance has the same role for every method, whichever explanations the method lacks.
        """
        shuffled = sorted(instances, key=lambda name: key_of(seed=seed, id=name))
        cuts = [round(share * len(shuffled)) for share in (TAUGHT, CHOSEN_ON)]
        roles = (shuffled[: cuts[0]], shuffled[cuts[0] : cuts[1]], shuffled[cuts[1] :])
        return cls(*(tuple(name for name in role if name in present) for role in roles))

    @classmethod
    def elsewhere(cls, lessons: Collection[str], held_out: Collection[str], seed: int) -> Split:
        """Split lessons from another run in the same proportion, and hold all instances of this one out."""
        taught, chosen_on, rest = cls.of(lessons, lessons, seed)
        more = round(len(rest) * TAUGHT / CHOSEN_ON)
        return cls((*taught, *rest[:more]), (*chosen_on, *rest[more:]), tuple(sorted(held_out)))

    def problem(self, predicted: Mapping[str, str]) -> str | None:
        """Why no agent can be trained and evaluated on them, if so; `predicted` has the model's class of each."""
        n = sum(map(len, self))
        if min(map(len, self)) < FEWEST_HELD_OUT:
            sizes = ", ".join(map(str, map(len, self)))
            return (
                f"{n} are too few: {sizes} to learn from, to choose the epoch on and held out, where each needs at "
                f"least {FEWEST_HELD_OUT}"
            )
        known = {predicted[name] for name in self.taught}
        if len(known) < 2:
            return f"the model names {min(known)!r} for all {len(self.taught)} that agents learn from: nothing to learn"
        new = sorted({predicted[name] for role in self[1:] for name in role} - known)
        if new:
            return (
                f"the model names {new[0]!r} for none of the {len(self.taught)} that agents learn from, of {n} in "
                f"all: give so many that it names every class at least {FEWEST_HELD_OUT} times"
            )
        return None


@dataclass(frozen=True)
class Elsewhere:
    """A run of the same model and methods on another split, whose explanations agents learn from."""

    run: Run

    @classmethod
    def open(cls, folder: str, context: RunContext) -> Elsewhere:
        """The run in a folder; raises UserError if it explains another model or lacks a method."""
        taught = Run(Path(folder))
        if taught.manifest.model.hash != key_of(**context.model.fingerprint):
            raise UserError(f"simulatability: lessons: {folder} explains another model than this run")
        known = {entry.label for entry in taught.manifest.methods}
        missing = [explainer.label for explainer in context.explainers if explainer.label not in known]
        if missing:
            raise UserError(f"simulatability: lessons: {folder} has no explanations by {missing[0]}")
        return cls(taught)

    @property
    def key(self) -> str:
        """Hash of everything that determines its explanations."""
        manifest = self.run.manifest
        methods = {entry.label: [entry.version, entry.parameters] for entry in manifest.methods}
        return key_of(model=manifest.model.hash, data=manifest.data.hash, methods=methods)

    def lessons(
        self,
        metric: Simulatability,
        method: str,
        spans: Sequence[str],
        start: AgentStart,
        held_out: Collection[tuple[str, ...]],
    ) -> dict[str, tuple[AgentInput, AgentInput]]:
        """The inputs that have an explanation, with it and without, by name.

        Left out are texts that are held out in this run, inputs without a budget, and what the agents cannot read.
        """
        predicted = {row.instance_id: row.label for row in self.run.predictions()}
        by_input = self.run.cached(("highlights by input",), self._highlights)
        found = {}
        for instance in self.run.inputs():
            plain, rows = tuple(text.raw for text in instance.parts), by_input.get(instance.id, {})
            sizes = [rows[label] for label in spans if label in rows]
            if plain in held_out or instance.id not in predicted or method not in rows or not sizes:
                continue
            shown = metric.shown(instance, rows[method], budget_of(sizes))
            try:
                start.check_length(shown)
            except Undefined:
                continue
            label = predicted[instance.id]
            found[f"lessons/{instance.id}"] = AgentInput(shown, label), AgentInput(plain, label)
        return found

    def _highlights(self) -> dict[str, dict[str, Highlight]]:
        rows: dict[str, dict[str, Highlight]] = {}
        for row in self.run.highlights():
            rows.setdefault(row.instance_id, {})[row.method] = row
        return rows


@dataclass
class _Lessons:
    """What the agents of one explainer are shown under one metric.

    Args:
        elsewhere: a run on other inputs that they learn from, if there is one.
        spans: labels of the span explanations that set the budget.
        shown: texts of each instance with the explanation in them.
        refused: why there are none, for each other instance.
        split: the instances that are shown, by their role.
        agents: for each seed one that sees the explanations, and one that does not.
        answers: of trained agents to each held-out instance.
    """

    metric: Simulatability
    method: str
    start: AgentStart
    elsewhere: Elsewhere | None = None
    spans: tuple[str, ...] = ()
    shown: dict[str, tuple[str, ...]] = field(default_factory=dict)
    refused: dict[str, Undefined] = field(default_factory=dict)
    split: Split = field(default_factory=lambda: Split((), (), ()))
    agents: list[tuple[Agent, Agent]] = field(default_factory=list)
    answers: dict[str, Answers] = field(default_factory=dict)

    def appoint(self, label: str, predicted: Mapping[str, str], stage: Stage) -> None:
        """Divide the instances; an explainer with too few explanations gets no agents, and its scores say why."""
        metric = self.metric
        instances = stage.plan.run.data.instances
        plain = {instance.id: tuple(text.raw for text in instance.parts) for instance in instances}
        explained = dict(self.shown)
        if self.elsewhere is None:
            self.split = Split.of(predicted, self.shown, metric.seed)
        else:
            lessons = self.elsewhere.lessons(metric, self.method, self.spans, self.start, set(plain.values()))
            explained |= {name: shown.texts for name, (shown, _) in lessons.items()}
            plain |= {name: without.texts for name, (_, without) in lessons.items()}
            predicted = {**predicted, **{name: shown.predicted for name, (shown, _) in lessons.items()}}
            self.split = Split.elsewhere(lessons, self.shown, metric.seed)
        problem = self.split.problem(predicted)
        if problem is not None:
            why = f"of the instances that {self.method} has an explanation of, {problem}"
            self.refused |= dict.fromkeys(self.shown, Undefined("too_few_instances", why))
            if self.shown:  # otherwise every instance has a reason of its own
                stage.console.print(f"{label}: no agents: {why}", highlight=False, markup=False, soft_wrap=True)
            self.shown.clear()
            return
        shown, without = (
            AgentData(*(tuple(AgentInput(texts[name], predicted[name]) for name in role) for role in self.split))
            for texts in (explained, plain)
        )
        folder = stage.folder / AGENTS
        self.agents = [
            (
                Agent(self.start, metric.recipe(seed), shown, folder),
                Agent(self.start, metric.recipe(seed), without, folder),
            )
            for seed in range(metric.seeds)
        ]

    def named_agents(self) -> Iterable[tuple[Agent, str]]:
        """All agents, each with a description."""
        for pair in self.agents:
            for agent, explained in zip(pair, (self.method, "no explanation"), strict=True):
                yield agent, f"{explained}, seed {agent.recipe.seed}"

    def read_answers(self, predicted: Mapping[str, str], labels: Sequence[str]) -> None:
        """Collect what trained agents answered to each held-out instance."""
        if not self.agents:
            return
        groups = [[agent.answers() or () for agent in group] for group in zip(*self.agents, strict=True)]
        self.answers = {
            instance: Answers(
                labels.index(predicted[instance]), *(tuple(answers[i] for answers in group) for group in groups)
            )
            for i, instance in enumerate(self.split.held_out)
        }


def train(agents: Iterable[tuple[Agent, str]], console: Console, placement: Placement = INLINE) -> None:
    """Train the agents that have no answers yet; agents that would learn the same are trained once.

    Args:
        placement: with several workers, several agents are trained at the same time.
    """
    todo: dict[str, tuple[Agent, str]] = {}
    agents = list(agents)
    for folder in {agent.folder for agent, _ in agents}:
        # here, since workers that train do not hold the lock
        check_locks(folder / "x")
        check_links(folder)
    for agent, description in agents:
        if agent.answers() is None:
            todo.setdefault(agent.key, (agent, description))
        else:
            agent.remove_state()  # a kill may have come between the answers and this
    if not todo:
        return
    next(iter(todo.values()))[0].remove_other_states(todo)
    epochs = sum(agent.recipe.epochs for agent, _ in todo.values())
    taught = sum(agent.recipe.epochs * len(agent.data.train) for agent, _ in todo.values())
    start = " and ".join(dict.fromkeys(str(agent.start) for agent, _ in todo.values()))
    line = f"{len(todo)} agents to train, {epochs} epochs and {taught} instances in all; they start from {start}"
    console.print(f"simulatability: {line}", highlight=False, markup=False, soft_wrap=True)
    if placement.executor != "inline":
        learn = _train_on_one_thread if passes_are_alone() else _train
        tasks = {f"{description} ({agent.key[:8]})": partial(learn, agent) for agent, description in todo.values()}
        finish_tasks(tasks, placement, "training agents", console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("epochs"))
    with Progress(*columns, TimeRemainingColumn(), console=console) as progress:
        bar = progress.add_task("", total=epochs)
        before = 0

        def on_epoch(done: int) -> None:
            progress.update(bar, completed=before + done)

        for number, (agent, description) in enumerate(todo.values(), 1):
            progress.update(bar, description=f"agent {number} of {len(todo)}: {description}")
            agent.train(on_epoch)
            before += agent.recipe.epochs


def _train(agent: Agent, _: int) -> None:
    agent.train(lambda _: None)


def _train_on_one_thread(agent: Agent, worker: int) -> None:
    with one_thread():
        _train(agent, worker)
