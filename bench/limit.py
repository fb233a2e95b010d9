"""How close verax comes to the bare model: its time over the time that the model alone needs for the same passes.

    python -m bench.limit --json
    python -m bench.limit --only beam

A randomly initialised BERT (6 layers, hidden size 384), pairs of about 27 tokens. For each piece of work the bare model
is timed on the very passes that the engine evaluated, as ready-made tensors of equal length at its best batch size;
both are timed in turns, and the ratio of medians is printed. Peak memory of integrated gradients is taken with few and
with many steps, each in a process of its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bench.bare import Bare, BareAttention, BareForward, BareGradient, BareHidden
from bench.models import PairMaker, random_bert
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import as_generator
from verax.engine.questions import Hidden, QuestionGenerator
from verax.metrics.faithfulness.erasure import Comprehensiveness, Sufficiency
from verax.metrics.faithfulness.recursive_masking import RecursiveMasking
from verax.models.classifier import AttentionPass, MapPoint, PathPoint
from verax.models.encoding import PerturbedInput
from verax.models.subject import Subject
from verax.registry import entries, resolve
from verax.types import Cost, Highlight, Instance, Target

LIMIT = 1.05
LIMITS = {"attention_attribution": 1.15}
"""Methods held to another limit. `shapley_interaction` spends its time drawing coalitions and has none."""
UNHELD = ("shapley_interaction",)
BATCH_SIZES = (8, 16, 32, 64, 128)
TRIAL_PASSES = 512
STEPS = (20, 500)
"""Of integrated gradients, when its memory is measured."""


@dataclass
class Recorder:
    """A model that keeps the passes it was asked for."""

    model: Any
    rows: list[PerturbedInput] = field(default_factory=list)
    points: list[PathPoint] = field(default_factory=list)
    opened: list[AttentionPass] = field(default_factory=list)
    seen: list[PerturbedInput] = field(default_factory=list)
    mapped: list[MapPoint] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def logits(self, rows: Sequence[PerturbedInput]) -> Any:
        """Pass on, and keep."""
        self.rows.extend(rows)
        return self.model.logits(rows)

    def hidden(self, rows: Sequence[PerturbedInput]) -> Any:
        """Pass on, and keep."""
        self.seen.extend(rows)
        return self.model.hidden(rows)

    def gradients(self, points: Sequence[PathPoint]) -> Any:
        """Pass on, and keep."""
        self.points.extend(points)
        return self.model.gradients(points)

    def attention(self, passes: Sequence[AttentionPass]) -> Any:
        """Pass on, and keep."""
        self.opened.extend(passes)
        return self.model.attention(passes)

    def map_gradients(self, points: Sequence[MapPoint]) -> Any:
        """Pass on, and keep."""
        self.mapped.extend(points)
        return self.model.map_gradients(points)


Run = Callable[[Engine, Any, Sequence[Instance]], None]


@dataclass(frozen=True)
class Work:
    """One piece of work: asks the engine all it needs for these instances.

    `instances` is how many it is timed on: fewer where one of them needs hundreds of passes.
    """

    name: str
    run: Run
    instances: int


def _explaining(name: str) -> Run:
    method = resolve("methods", name)()

    def run(engine: Engine, model: Any, instances: Sequence[Instance]) -> None:
        engine.run(Task(as_generator(method, x), _raise_or_end) for x in _subjects(model, instances))

    return run


def _erasure(engine: Engine, model: Any, instances: Sequence[Instance]) -> None:
    rng = np.random.default_rng(0)
    metrics = (Comprehensiveness(), Sufficiency())
    engine.run(
        Task(as_generator(metric, x, highlight), _raise_or_end)
        for x in _subjects(model, instances)
        for highlight in [_random_highlight(x, rng)]
        for metric in metrics
    )


def _recursive(name: str) -> Run:
    """A method, and recursive masking by it: the method is run again at each step."""
    method = resolve("methods", name)()
    again = None if getattr(method, "recursive", False) else partial(as_generator, method)

    def measured(x: Subject) -> QuestionGenerator[Any]:
        made = yield from as_generator(method, x)
        highlight = Highlight("", name, "token", Target(), x.units, tuple(made.scores.tolist()))
        return (yield from RecursiveMasking()(x, highlight, explain=again))

    def run(engine: Engine, model: Any, instances: Sequence[Instance]) -> None:
        labelled = [replace(instance, label=model.labels[0]) for instance in instances]
        engine.run(Task(measured(x), _raise_or_end) for x in _subjects(model, labelled))

    return run


def _hidden(engine: Engine, model: Any, instances: Sequence[Instance]) -> None:
    """What the in-distribution test asks for, at random masks."""
    rng = np.random.default_rng(0)

    def peek(x: Subject) -> QuestionGenerator[Any]:
        return (yield Hidden(x, rng.random((11, x.n_units)) < np.linspace(1, 0, 11)[:, None]))

    engine.run(Task(peek(x), _raise_or_end) for x in _subjects(model, instances))


def _subjects(model: Any, instances: Sequence[Instance]) -> Any:
    return (Subject(instance, model) for instance in instances)


def _random_highlight(x: Subject, rng: np.random.Generator) -> Highlight:
    scores = tuple(rng.random(x.n_units).tolist())
    return Highlight(x.instance.id, "random", "token", Target(), x.units, scores)


def _raise_or_end(outcome: TaskResult[Any]) -> tuple[()]:
    if outcome.error is not None:
        raise outcome.error
    return ()


INSTANCES = {
    "lime": 16,
    "shapley_sampling": 2,
    "kernel_shap": 1,
    "beam": 1,
    "integrated_gradients": 12,
    "bivariate_shapley": 1,
    "shapley_interaction": 1,
    "louvain": 1,
    "attention_attribution": 4,
}
WITHOUT_PASSES = ("random", "activation", "random_interaction", "random_span")
SHORT = ("exact_shapley",)
"""Takes up to 14 words; these pairs have more. Its coalitions are asked for as those of kernel_shap are."""


def works() -> list[Work]:
    """Every method that asks for a pass, the erasure metrics, recursive masking and the in-distribution test."""
    scoring = [entry.name for entry in entries("methods").values() if entry.kind != "text"]
    timed = [name for name in scoring if name not in (*WITHOUT_PASSES, *SHORT)]
    methods = [Work(name, _explaining(name), INSTANCES.get(name, 64)) for name in timed]
    recursive = [
        Work(f"recursive masking, {name}", _recursive(name), n)
        for name, n in (("random", 64), ("leave_one_out", 4), ("gradient_vocabulary", 128), ("beam", 1))
    ]
    return [*methods, Work("erasure metrics", _erasure, 64), *recursive, Work("hidden states", _hidden, 32)]


Clock = Callable[[], float]


def _seconds(call: Callable[[], None], clock: Clock) -> float:
    start = clock()
    call()
    return clock() - start


def measure(work: Work, *, repeats: int, clock: Clock) -> dict[str, Any]:
    """Time one piece of work and the bare model on the same passes, in turns."""
    model, tokenizer, classifier = random_bert()
    data = PairMaker(seed=1).instances(work.instances)
    recorder = Recorder(classifier)
    engine = Engine()
    work.run(engine, recorder, data)
    bare = [
        _at_its_best(kind, model, passes, tokenizer, clock)
        for kind, passes in (
            (BareForward, recorder.rows),
            (BareGradient, recorder.points),
            (BareAttention, recorder.opened),
            (BareAttention, recorder.mapped),
            (BareHidden, recorder.seen),
        )
        if passes
    ]
    ours, theirs = [], []
    for _ in range(repeats):
        theirs.append(sum(_seconds(one, clock) for one in bare))
        ours.append(_seconds(lambda: work.run(Engine(), classifier, data), clock))
    return {
        "work": work.name,
        "instances": work.instances,
        "bare_batch_sizes": [one.batch_size for one in bare],
        "bare_seconds": round(statistics.median(theirs), 3),
        "verax_seconds": round(statistics.median(ours), 3),
        "ratio": round(statistics.median(ours) / statistics.median(theirs), 3),
        **_passes(engine.cost),
    }


def _at_its_best(kind: type[Bare], model: Any, passes: Sequence[Any], tokenizer: Any, clock: Clock) -> Bare:
    """The bare model on all passes, at the batch size that was quickest on some."""
    trials = [kind(model, passes[:TRIAL_PASSES], tokenizer, size) for size in BATCH_SIZES]
    best = min(trials, key=lambda trial: min(_seconds(trial, clock), _seconds(trial, clock)))
    return kind(model, passes, tokenizer, best.batch_size)


def _passes(cost: Cost) -> dict[str, int]:
    asked, evaluated = cost.forward_asked + cost.backward_asked, cost.forward + cost.backward
    return {"asked": asked, "evaluated": evaluated, "saved": asked - evaluated}


def peak_memory() -> int:
    """Peak memory of this process so far, in MiB.

    A child inherits the value that getrusage reports from its parent, if that is larger.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return round(int(line.split()[1]) / 1024)
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def memory_by_steps() -> dict[str, int]:
    """Peak memory of integrated gradients with few and with many steps, in MiB, each in a process of its own."""
    found = {}
    for steps in STEPS:
        command = [sys.executable, "-m", "bench.limit", "--memory-of-steps", str(steps)]
        found[str(steps)] = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def _integrate(steps: int) -> None:
    _, _, classifier = random_bert()
    method = resolve("methods", "integrated_gradients")(steps=steps)
    engine = Engine()
    engine.run(
        Task(as_generator(method, x), _raise_or_end) for x in _subjects(classifier, PairMaker(seed=1).instances(4))
    )


def _line(row: dict[str, Any]) -> str:
    return (
        f"{row['work']}: {row['ratio']} times the bare model ({row['verax_seconds']} s / {row['bare_seconds']} s), "
        f"passes asked {row['asked']}, evaluated {row['evaluated']}, saved {row['saved']}"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only", help="one piece of work, by its name")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--cpu-time", action="store_true", help="CPU time in one thread, for a machine that is busy")
    parser.add_argument("--memory-of-steps", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.memory_of_steps:
        _integrate(options.memory_of_steps)
        print(peak_memory())
        return
    if options.cpu_time:
        torch.set_num_threads(1)
    clock = time.process_time if options.cpu_time else time.perf_counter
    chosen = [work for work in works() if options.only in {None, work.name}]
    if not chosen:
        parser.error(f"--only: {options.only!r} is none of {', '.join(work.name for work in works())}")
    rows = []
    for work in chosen:
        rows.append(measure(work, repeats=options.repeats, clock=clock))
        print(_line(rows[-1]), file=sys.stderr if options.json else sys.stdout, flush=True)
    result = {
        "results": rows,
        "limit": LIMIT,
        "limits": LIMITS,
        "met": all(row["ratio"] <= LIMITS.get(row["work"], LIMIT) for row in rows if row["work"] not in UNHELD),
        "peak_memory_mib": peak_memory(),
        "integrated_gradients_memory_mib_by_steps": memory_by_steps() if options.only is None else None,
        "threads": torch.get_num_threads(),
    }
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
        return
    others = ", ".join(f"{name} {limit}" for name, limit in LIMITS.items())
    print(f"limit {LIMIT} ({others}), met: {result['met']}; peak memory {result['peak_memory_mib']} MiB")
    if options.only is None:
        print(f"integrated gradients, peak MiB by steps: {result['integrated_gradients_memory_mib_by_steps']}")


if __name__ == "__main__":
    main()
