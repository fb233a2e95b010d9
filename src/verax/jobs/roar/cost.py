"""The cost of Recursive ROAR: counted work, and time from a few measured steps and explanations."""

from __future__ import annotations

import timeit
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rich.console import Console

from verax.engine.protocols import Method
from verax.jobs.roar.inputs import RoarSplit, answers, explained, mask_more
from verax.jobs.roar.points import RoarPoint
from verax.models.classifier import Classifier
from verax.results.render.numbers import duration
from verax.run.parameters import Configured
from verax.train.fine_tuning import fit_rows
from verax.train.loop import FineTuning
from verax.types import Passes, Performance

_BATCHES = 4
_INPUTS = 8
_MORE_INPUTS = 8 * _INPUTS
_QUICK = 0.5
"""Seconds below which more inputs are timed: full batches are faster."""
_BACKWARD = 2
"""A backward pass is about twice the work of a forward pass."""


@dataclass(frozen=True, slots=True)
class Workload:
    """The work of some points.

    Args:
        read: number of inputs read to evaluate epochs and finished models.
        explanations: number of explanations of each measure.
        passes: passes for the explanations of each measure, at most.
    """

    trainings: int
    optimiser_steps: int
    read: int
    explanations: tuple[int, ...]
    passes: tuple[Passes, ...]

    @classmethod
    def of(
        cls,
        points: Sequence[RoarPoint],
        splits: Sequence[RoarSplit],
        methods: Sequence[Configured[Method]],
        steps: int,
        recipe: FineTuning,
    ) -> Workload:
        """The work of these points, explanations included; `splits`: train, validation, test."""
        train, validation, test = splits
        by_step = {step: [n for split in splits for n in explained(split, step, steps)] for _, step in points if step}
        passes = [
            [method.component.passes(n) for measure, step in points if measure == number for n in by_step[step]]
            for number, method in enumerate(methods)
        ]
        return cls(
            trainings=len(points),
            optimiser_steps=len(points) * recipe.epochs * -(-len(train) // recipe.batch_size),
            read=len(points) * (recipe.epochs * len(validation) + len(test)),
            explanations=tuple(map(len, passes)),
            passes=tuple(map(_sum, passes)),
        )

    @property
    def all_passes(self) -> Passes:
        """The passes of all measures."""
        return _sum(self.passes)


def _sum(passes: Sequence[Passes]) -> Passes:
    return Passes(*map(sum, zip((0, 0), *passes, strict=True)))


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds for a step of the optimiser, for reading an input, and for a unit of each measure's work."""

    step: float
    read: float
    explain: tuple[float, ...]

    def seconds(self, load: Workload) -> float:
        """Duration of a workload."""
        work = map(_work, load.explanations, load.passes)
        explaining = sum(pace * amount for pace, amount in zip(self.explain, work, strict=True))
        return self.step * load.optimiser_steps + self.read * load.read + explaining


def measure_pace(
    model: Any,
    tokenizer: Any,
    view: Callable[[Any], Classifier],
    splits: Sequence[RoarSplit],
    methods: Sequence[Configured[Method]],
    recipe: FineTuning,
    metric: Performance,
) -> Pace:
    """Take a few training steps and compute a few explanations.

    Args:
        model: a copy of the base, to be thrown away.
        view: turns a model into a classifier that can be explained.
    """
    classifier = view(model)
    samples = splits[0].sample(_BATCHES * recipe.batch_size), splits[1].sample(1)
    rows, validation = (split.rows(classifier, tokenizer, split.masks(masked=False)) for split in samples)
    short, quiet = replace(recipe, epochs=1), Console(quiet=True)

    def train() -> object:
        return fit_rows(model, tokenizer, rows, validation, metric, short, console=quiet)

    train()  # the first steps are slower than those that follow
    step = timeit.timeit(train, number=1) / -(-len(rows) // recipe.batch_size)
    few, seconds = _timed_on(splits[0], lambda few: answers(few, classifier, few.masks(masked=False)))
    read, paces = seconds / len(few), []
    for method in methods:

        def explain(few: RoarSplit, method: Configured[Method] = method) -> object:
            return mask_more(few, classifier, method, few.masks(masked=False), 1, 2)  # one explanation per input

        few, seconds = _timed_on(splits[0], explain)
        paces.append(seconds / max(1, sum(_work(1, method.component.passes(n)) for n in explained(few, 1, 2))))
    return Pace(step, read, tuple(paces))


def _timed_on(split: RoarSplit, work: Callable[[RoarSplit], object]) -> tuple[RoarSplit, float]:
    """A few inputs and the seconds that they took; more inputs if that was quick."""
    few = split.sample(_INPUTS)
    seconds = timeit.timeit(lambda: work(few), number=1)
    if seconds > _QUICK:
        return few, seconds
    more = split.sample(_MORE_INPUTS)
    return more, timeit.timeit(lambda: work(more), number=1)


def _work(explanations: int, passes: Passes) -> int:
    """Work in forward passes; an explanation itself counts as one."""
    return explanations + passes.forward + _BACKWARD * passes.backward


def cost_lines(load: Workload, pace: Pace, recipe: FineTuning) -> list[str]:
    """The cost for a person, a line each."""
    passes, of_one = load.all_passes, load.optimiser_steps // load.trainings
    return [
        f"to train: {load.trainings:,} models, {recipe.epochs} epochs each: {of_one:,} optimiser steps per model, "
        f"{load.optimiser_steps:,} in all",
        f"to explain: {sum(load.explanations):,} explanations, with at most {passes.forward:,} forward and "
        f"{passes.backward:,} backward passes",
        f"to evaluate: {load.read:,} inputs read",
        f"time: {duration(pace.seconds(load))} on this machine, at {pace.step:.2g} s per optimiser step, measured just "
        "now",
    ]
