"""A few seconds of the work of a run, computed through the engine and thrown away, to find out what the rest takes."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from verax.engine.questions.base import Pass
from verax.engine.reproducible import reproducible
from verax.run.execute import Execution, KeyedRow, Work, engine_of
from verax.run.plan import Load, Plan, PlannedInstance, RowGroup, RowLoad, length
from verax.run.providers import Provider
from verax.types import PREDICTION, Cost, Instance, Passes

GOLDEN = (5**0.5 - 1) / 2
"""Multiples of it, modulo 1, are spread evenly over the unit interval however many are taken."""


class PassTime(NamedTuple):
    """Seconds of a pass: some for each pass, and some for each word of its input."""

    each: float
    word: float

    def seconds(self, passes: float, passes_by_words: float) -> float:
        """Seconds of passes, given their number and its sum over passes times words."""
        return self.each * passes + self.word * passes_by_words

    def times(self, factor: float) -> PassTime:
        """A pace with which passes take that many times as long."""
        return PassTime(self.each * factor, self.word * factor)


class TimedBatch(NamedTuple):
    """A batch of the engine: passes, the words of all their inputs, and seconds since the batch before it."""

    kind: str
    passes: int
    words: int
    seconds: float


class _TimeIsUp(Exception):
    """The time for the sample is over."""


@dataclass(slots=True)
class Sample:
    """What was computed.

    Args:
        seconds: duration.
        waited: share of it in which this process waited for a core that others used.
        batches: of each round, which computed twice as many inputs as the round before it.
        planned: what the finished rows were planned to take at most.
        computed: what they took.
        rows: the finished rows with their keys, and the inputs.
    """

    seconds: float = 0.0
    waited: float = 0.0
    batches: list[list[TimedBatch]] = field(default_factory=list)
    planned: dict[RowGroup, Load] = field(default_factory=dict)
    computed: dict[RowGroup, Load] = field(default_factory=dict)
    rows: list[KeyedRow] = field(default_factory=list)

    def pace(self, kind: str) -> PassTime | None:
        """PassTime of forward, backward or text passes, least squares over the batches; None if none was computed.

        The last two rounds count: the first batches of all are slower, and those of few inputs are not full.
        """
        of_kind = [[batch for batch in batches if batch.kind == kind] for batches in self.batches]
        timed = list(chain.from_iterable(of_kind[1:][-2:])) or list(chain.from_iterable(of_kind))
        if not timed:
            return None
        from scipy.optimize import nnls  # noqa: PLC0415 - takes a quarter of a second

        _, passes, words, seconds = (np.array(column) for column in zip(*timed, strict=True))
        each, word = nnls(np.stack([passes, words], 1).astype(float), seconds)[0]
        fitted = each * passes.sum() + word * words.sum()
        return PassTime(float(each), float(word)).times(float(seconds.sum() / fitted))

    @property
    def seconds_per_row(self) -> float:
        """For runs that ask the model nothing."""
        return self.seconds / max(1, len(self.rows))

    def share(self, group: RowGroup, number: str) -> float:
        """Share of the planned passes of a group that were computed, as no other row had asked for them.

        Args:
            number: a field of `Load`: `forward`, `forward_words`, `backward` or `backward_words`.
        """
        at_most = getattr(self.planned.get(group), number, 0)
        return getattr(self.computed[group], number) / at_most if at_most else 1.0


def take_sample(plan: Plan, present: Collection[str], seconds: float) -> Sample:
    """Compute missing rows of one input, then of two others, four, ...: for some seconds after the first.

    Scores that wait for all explanations, or for a provider that takes passes to prepare, are left out.
    """
    sample, engine = Sample(), engine_of(plan)
    unprepared: set[Provider] = set()
    for provider in plan.providers:
        if provider.deferred or any(True for _ in provider.preparation()):
            unprepared.add(provider)
        else:
            provider.prepare(engine, Console(quiet=True))
    works = _works(plan, present, unprepared)
    start, waited = time.perf_counter(), _seconds_waited()
    end, size = start + seconds, 1
    while (size == 1 or time.perf_counter() < end) and (some := list(islice(works, size))):
        with suppress(_TimeIsUp), reproducible(plan.run.model):
            _compute(plan, some, sample, end)
        if size == 1:  # the first round also loads what torch loads at first use
            end = time.perf_counter() + seconds
        size *= 2
    sample.seconds = time.perf_counter() - start
    sample.waited = min(1.0, (_seconds_waited() - waited) / sample.seconds)
    return sample


def _seconds_waited() -> float:
    """Seconds that this thread has waited for a core so far; 0 where the system does not tell."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _compute(plan: Plan, works: Sequence[Work], sample: Sample, end: float) -> None:
    """Compute one round; raises _TimeIsUp after the batch that is finished too late."""
    engine, batches = engine_of(plan), list[TimedBatch]()
    sample.batches.append(batches)
    last = time.perf_counter()

    def on_batch(batch: Sequence[Pass]) -> None:
        nonlocal last
        now = time.perf_counter()
        words = sum(needed.count * length(needed.question.x.instance) for needed in batch)
        kind = batch[0].question.budget
        batches.append(TimedBatch(kind, sum(needed.count for needed in batch), words, now - last))
        last = now
        if now > end:
            raise _TimeIsUp

    engine.on_batch = on_batch
    groups: dict[str, tuple[RowLoad, int]] = {}
    for work in works:
        words = length(work.planned.instance)
        loads = {load.group: load for load in plan.missing(work.planned, ())}
        groups |= {key: (loads[group], words) for key, group in _groups(work.planned)}
        sample.rows.append((work.planned.key, work.planned.instance))
    for key, row in Execution(plan, engine).rows(works):
        load, words = groups[key]
        cost = getattr(row, "cost", Cost())
        sample.rows.append((key, row))
        sample.planned.setdefault(load.group, Load()).add(words, load.passes, load.inputs)
        sample.computed.setdefault(load.group, Load()).add(words, Passes(cost.forward, cost.backward))


def _groups(planned: PlannedInstance) -> Iterator[tuple[str, RowGroup]]:
    """The group of each row of an instance, by key."""
    if planned.prediction is not None:
        yield planned.prediction, RowGroup(PREDICTION)
    for explanation in planned.explanations:
        yield explanation.key, RowGroup(explanation.label)
        for score in explanation.scores:
            yield score.key, RowGroup(explanation.label, score.metric.label)


def _works(plan: Plan, present: Collection[str], unprepared: set[Provider]) -> Iterator[Work]:
    """Missing rows of each input; stored explanations that they need are computed again."""
    for instance in _spread(plan):
        planned = plan.planned(instance)
        own = (planned.prediction, *(explanation.key for explanation in planned.explanations))
        todo = {key for key in own if key is not None and key not in present}
        for explanation in planned.explanations:
            for score in explanation.scores:
                providers = plan.providers.of(score.metric).values()
                if score.key not in present and unprepared.isdisjoint(providers):
                    todo |= {explanation.key, score.key, *score.rows}
        if todo:
            yield Work(planned, todo, {}, {})


def _spread(plan: Plan) -> Iterator[Instance]:
    """All instances in an order by the seed in which the first few, however many, have lengths of every quantile."""
    instances = plan.run.data.instances
    by_length = np.argsort([length(instance) for instance in instances], kind="stable")
    start = np.random.default_rng(plan.run.spec.seed).random()
    ranks = np.argsort(np.argsort((start + GOLDEN * np.arange(len(instances))) % 1))
    return (instances[number] for number in by_length[ranks])
