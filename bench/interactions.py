"""What interactions cost on top of what they are made of.

    python -m bench.interactions --json

Bivariate Shapley over the Shapley values that it is made with, on the model of `bench.limit`: both methods through one
engine, over the Shapley values alone, in turns. And spans by Louvain for 64 words (32 in each part): the partition by
one seed and the span pairs that follow from it, from scores that are there.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bench.models import PairMaker, random_bert
from verax.data.text import from_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import Method
from verax.engine.questions import QuestionGenerator
from verax.methods.louvain import Louvain
from verax.methods.pairs import pair_attribution
from verax.methods.shapley import BivariateShapley, KernelShap
from verax.models.subject import Subject
from verax.types import Attribution, Instance, Kind, Passes

ADDED_LIMIT = 0.05
LOUVAIN_LIMIT_MS = 20.0


@dataclass(frozen=True)
class Drawn:
    """Normal scores for every pair, as noisy as estimates can be: the hardest case for communities."""

    seed: int = 0
    directed: bool = False

    kind: ClassVar[Kind] = "token_interaction"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "a benchmark"

    def passes(self, n: int) -> Passes:
        """None."""
        return Passes(0, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """Asks nothing."""
        yield from ()
        scores = np.random.default_rng(self.seed).normal(size=(x.n_units, x.n_units))
        return pair_attribution(x, scores, "between", directed=self.directed)


def _seconds(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _raise_or_end(outcome: TaskResult[Any]) -> tuple[()]:
    if outcome.error is not None:
        raise outcome.error
    return ()


def explained(model: Any, instances: Sequence[Instance], methods: Sequence[Method]) -> None:
    """Every instance by every method, one method after the other, as in a run where one has to wait for no other."""
    engine = Engine()
    inputs = [Subject(instance, model) for instance in instances]
    for method in methods:
        engine.run(Task(method(x), _raise_or_end) for x in inputs)


def added(repeats: int) -> dict[str, Any]:
    """The time of bivariate Shapley over that of the Shapley values, which it asks nothing beyond."""
    _, _, model = random_bert()
    data = PairMaker(seed=1).instances(1)
    alone, both = [], []
    for _ in range(repeats + 1):
        alone.append(_seconds(lambda: explained(model, data, [KernelShap()])))
        both.append(_seconds(lambda: explained(model, data, [KernelShap(), BivariateShapley()])))
    one, two = statistics.median(alone[1:]), statistics.median(both[1:])
    return {
        "shapley_seconds": round(one, 3),
        "both_seconds": round(two, 3),
        "added": round(two / one - 1, 3),
        "limit": ADDED_LIMIT,
    }


def louvain(repeats: int) -> dict[str, Any]:
    """Milliseconds for the span pairs of 64 words."""
    _, _, model = random_bert(layers=1, hidden=64)
    parts = [from_words([f"w{number}" for number in range(start, start + 32)]) for start in (0, 32)]
    x = Subject(Instance("64 words", tuple(parts)), model)
    times: list[float] = []
    with_stability: list[float] = []
    for seed in range(repeats * 4):
        for kept, further in ((times, 0), (with_stability, 4)):
            method = Louvain(Drawn(seed), stability=further)
            kept.append(1000 * _seconds(lambda method=method: Engine().run([Task(method(x), _raise_or_end)])))  # type: ignore[misc]
    return {
        "milliseconds": round(statistics.median(times), 1),
        "with_4_more_seeds": round(statistics.median(with_stability), 1),
        "limit": LOUVAIN_LIMIT_MS,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    result = {"bivariate_shapley": added(options.repeats), "louvain": louvain(options.repeats)}
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
        return
    more, spans = result["bivariate_shapley"], result["louvain"]
    print(
        f"bivariate_shapley adds {100 * more['added']:.1f} % to kernel_shap ({more['both_seconds']} s / "
        f"{more['shapley_seconds']} s; limit {100 * ADDED_LIMIT:.0f} %)"
    )
    print(
        f"louvain, 64 words: {spans['milliseconds']} ms, and {spans['with_4_more_seeds']} ms with 4 more seeds "
        f"(limit {LOUVAIN_LIMIT_MS:.0f} ms for the spans)"
    )


if __name__ == "__main__":
    main()
