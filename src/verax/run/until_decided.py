"""Runs until decided: inputs in random order, and looks at the scores so far by a sequential test.

At each look the run consists of its first inputs, and is complete. The test is valid at any number of inputs, so how
often one looks, when a run is interrupted, and whether its maximum is raised later need no correction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from verax.data.selection import first_inputs, input_names
from verax.registry import unknown
from verax.results.manifest import Manifest, UntilDecided
from verax.results.run import Run
from verax.run.context import RunContext
from verax.run.providers import Providers
from verax.stats.joint import ALPHA
from verax.stats.sequential import SEQUENTIAL
from verax.store.keys import key_of
from verax.studies.leaderboard.analysis import MetricTest, metric_test
from verax.types import UserError

FIRST, GROWTH = 16, 1.25
"""Inputs at the first look, which is also the least number between two looks; and how their number grows."""


def limited(run: RunContext) -> RunContext:
    """A run whose inputs are in random order, with its sequential test, and cut to its largest number of inputs."""
    wanted = run.spec.until_decided
    if wanted is None:
        return run
    ranked = [metric.label for metric in run.metrics if getattr(metric.component, "ranked", True)]
    for label in wanted.metrics or ():
        if label not in ranked:
            raise UserError(f"until_decided.metrics: {unknown('metric that ranks methods', label, ranked)}")
    if not ranked:
        raise UserError("until_decided: no metric of the run ranks methods, so there is nothing to decide")
    inputs = input_names(run.data)
    size = min(wanted.max_inputs or len(inputs), len(inputs))
    test = UntilDecided(
        goal=wanted.goal,
        metrics=wanted.metrics or tuple(ranked),
        test=SEQUENTIAL,
        level=ALPHA,
        order=key_of(order=inputs),
        max_inputs=size,
    )
    return replace(run, data=first_inputs(run.data, size), until_decided=test)


def check_independent(run: RunContext, providers: Providers) -> None:
    """Reject metrics whose scores change as inputs are added: they have no sequential test."""
    for metric in run.metrics if run.spec.until_decided is not None else ():
        if any(provider.learns for provider in providers.of(metric).values()):
            raise UserError(
                f"until_decided: scores of {metric.label} depend on all inputs of the run, and change as inputs are "
                "added; measure it in a run of its own"
            )


def continued(test: UntilDecided | None, earlier: UntilDecided | None) -> UntilDecided | None:
    """The sequential test of a run with the looks that were taken in its folder; rejects one that does not fit them."""
    if earlier is None or not earlier.looks:
        return test
    if test is None or test.order != earlier.order:
        change = "without --until-decided" if test is None else "with other inputs or another seed"
        raise UserError(
            f"this folder holds a run until decided, {earlier.outcome}, and its p-values would not be valid if it were "
            f"continued {change}; raise --max-inputs, or use another folder (--out)"
        )
    return test.model_copy(update={"looks": earlier.looks})


def look_sizes(most: int, start: int = 0) -> Iterator[int]:
    """Numbers of inputs at which a run is looked at, beginning with `start` if it was looked at there before."""
    n = start or FIRST
    while n < most:
        yield n
        n = max(n + FIRST, math.ceil(n * GROWTH))
    yield most


def looked(manifest: Manifest, run: Run) -> Manifest:
    """The manifest after a look at all inputs that the run has now; the same one if there is no sequential test."""
    test = manifest.until_decided
    if test is None:
        return manifest
    n = len({run.parallel.get(name, name) for name in run.instances.ids})
    tested = {label: _standing(run, metric_test(run, label), test.goal) for label in test.metrics}
    update = {
        "looks": (*(look for look in test.looks if look < n), n),
        "decided": {label: decided for label, (decided, _) in tested.items() if decided},
        "undecided": {label: undecided for label, (_, undecided) in tested.items() if undecided},
    }
    return manifest.model_copy(update={"until_decided": test.model_copy(update=update)})


def _standing(run: Run, tested: MetricTest, goal: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The methods that are decided under a metric, and those that are not; methods without any value are neither."""
    test, baselines = tested.test, tested.baselines(run.manifest)
    methods = [i for i in range(len(tested.methods)) if i not in tested.controls(run.manifest) and test.shared[i, i]]
    against = {i: base for i in methods if (base := baselines[i]) is not None}
    if goal == "random":
        decided = {i for i, base in against.items() if test.differ(i, base)}
        undecided = against.keys() - decided
    else:
        best = test.best(tested.controls(run.manifest), methods)
        sure = len(best) == 1 and all(test.beats(i, against[i]) for i in best if i in against)
        decided, undecided = (set(best), set[int]()) if sure else (set[int](), set(best or methods))
    return (
        tuple(tested.methods[i] for i in sorted(decided)),
        tuple(tested.methods[i] for i in sorted(undecided)),
    )
