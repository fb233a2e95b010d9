"""What Recursive ROAR costs, counted, and how long that takes, from a few steps and explanations timed on the spot."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rich.console import Console

from verax.engine.protocols import Method
from verax.models.classifier import Classifier
from verax.run.parameters import Configured
from verax.run.roar_inputs import Split, answers, explained, mask_more
from verax.run.roar_stage import Job
from verax.train.fine_tuning import fit_rows
from verax.train.loop import FineTuning
from verax.types import Passes, Performance

_BATCHES = 4
_INPUTS = 8
_FULL = 8
_QUICK = 0.5
_BACKWARD = 2
"""A backward pass is about twice the work of a forward pass."""


@dataclass(frozen=True, slots=True)
class Load:
    """What there is to do.

    Args:
        trainings: models to train.
        optimiser_steps: of all of them.
        read: inputs that finished epochs and finished models are measured on.
        explanations: of each measure.
        passes: that they ask for, of each measure, at most.
    """

    trainings: int
    optimiser_steps: int
    read: int
    explanations: tuple[int, ...]
    passes: tuple[Passes, ...]

    @classmethod
    def of(
        cls,
        jobs: Sequence[Job],
        splits: Sequence[Split],
        methods: Sequence[Configured[Method]],
        steps: int,
        recipe: FineTuning,
    ) -> Load:
        """The load of some trainings and the explanations that they build on; `splits`: train, validation, test."""
        train, validation, test = splits
        counts, forward, backward = [0] * len(methods), [0] * len(methods), [0] * len(methods)
        by_step = {step: [n for split in splits for n in explained(split, step, steps)] for _, step in jobs if step}
        for measure, step in jobs:
            if measure is None:
                continue
            for n in by_step[step]:
                passes = methods[measure].component.passes(n)
                counts[measure] += 1
                forward[measure] += passes.forward
                backward[measure] += passes.backward
        return cls(
            trainings=len(jobs),
            optimiser_steps=len(jobs) * recipe.epochs * -(-len(train) // recipe.batch_size),
            read=len(jobs) * (recipe.epochs * len(validation) + len(test)),
            explanations=tuple(counts),
            passes=tuple(map(Passes, forward, backward)),
        )


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds for a step of the optimiser, for reading an input, and for a unit of each measure's work."""

    step: float
    read: float
    explain: tuple[float, ...]

    def seconds(self, load: Load) -> float:
        """How long a load takes."""
        work = map(_work, load.explanations, load.passes)
        explaining = sum(pace * one for pace, one in zip(self.explain, work, strict=True))
        return self.step * load.optimiser_steps + self.read * load.read + explaining


def measure_pace(
    model: Any,
    tokenizer: Any,
    view: Callable[[Any], Classifier],
    splits: Sequence[Split],
    methods: Sequence[Configured[Method]],
    recipe: FineTuning,
    metric: Performance,
) -> Pace:
    """Take a few steps and make a few explanations.

    Args:
        model: a copy of the base, to be thrown away.
        view: a model as a classifier that can be explained.
    """
    classifier = view(model)
    some = splits[0].some(_BATCHES * recipe.batch_size)
    rows = some.rows(classifier, tokenizer, some.masks(masked=False))
    one = splits[1].some(1).rows(classifier, tokenizer, splits[1].some(1).masks(masked=False))
    short, quiet = replace(recipe, epochs=1), Console(quiet=True)

    def train() -> object:
        return fit_rows(model, tokenizer, rows, one, metric, short, console=quiet)

    train()  # the first steps are slower than those that follow
    step = _timed(train) / -(-len(rows) // recipe.batch_size)
    few, seconds = _timed_on(splits[0], lambda some: answers(some, classifier, some.masks(masked=False)))
    read, paces = seconds / len(few), []
    for method in methods:
        few, seconds = _timed_on(splits[0], partial(_explain, classifier, method))
        paces.append(seconds / max(1, sum(_work(1, method.component.passes(n)) for n in explained(few, 1, 2))))
    return Pace(step, read, tuple(paces))


def _explain(classifier: Classifier, method: Configured[Method], few: Split) -> object:
    """One explanation of each input: the first of two steps."""
    return mask_more(few, classifier, method, few.masks(masked=False), 1, 2)


def _timed_on(split: Split, work: Callable[[Split], object]) -> tuple[Split, float]:
    """A few inputs and the seconds that they took; more inputs if that was quick, since full batches are faster."""
    few = split.some(_INPUTS)
    seconds = _timed(lambda: work(few))
    if seconds > _QUICK:
        return few, seconds
    more = split.some(_FULL * _INPUTS)
    return more, _timed(lambda: work(more))


def _work(explanations: int, passes: Passes) -> int:
    """Work in forward passes; an explanation itself counts as one."""
    return explanations + passes.forward + _BACKWARD * passes.backward


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def told(load: Load, pace: Pace, recipe: FineTuning) -> list[str]:
    """The cost in words, a line each."""
    asked = Passes(sum(p.forward for p in load.passes), sum(p.backward for p in load.passes))
    explanations = sum(load.explanations)
    of_one = load.optimiser_steps // load.trainings
    return [
        f"to train: {load.trainings:,} models, {recipe.epochs} epochs each: {of_one:,} steps of the optimiser for "
        f"one, {load.optimiser_steps:,} in all",
        f"to explain: {explanations:,} explanations, with {asked.forward:,} forward and {asked.backward:,} backward "
        "passes at most",
        f"to measure: {load.read:,} inputs read",
        f"time: {in_words(pace.seconds(load))} on this machine, by {pace.step:.2g} s for a step of the optimiser, "
        "measured just now",
    ]


def in_words(seconds: float) -> str:
    """A rough time as a person says it."""
    if seconds < 60:
        return "less than a minute"
    for size, unit in ((86400, "days"), (3600, "hours"), (60, "minutes")):
        if seconds >= 2 * size or size == 60:
            number = seconds / size
            return f"about {number:.0f} {unit if round(number) > 1 else unit[:-1]}"
    raise AssertionError("every time is in minutes, hours or days")
