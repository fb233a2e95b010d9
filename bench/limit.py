"""How close verax comes to the bare model: its time over the time that the model alone needs for the same passes.

    python -m bench.limit --json

A randomly initialised BERT (6 layers, hidden size 384), pairs of about 27 tokens. For each piece of work the bare model
is timed on the very rows that the engine evaluated, as ready-made tensors of equal length at the batch size that suits
it best; both are timed in turns, and the ratio of medians is printed.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from bench.models import PairMaker, random_bert
from verax.engine.engine import Engine, Outcome, Task
from verax.engine.protocols import asking
from verax.methods.token.leave_one_out import LeaveOneOut
from verax.metrics.faithfulness.comprehensiveness import Comprehensiveness
from verax.metrics.faithfulness.sufficiency import Sufficiency
from verax.models.classifier import Classifier, Row
from verax.models.encoding import Encoded
from verax.models.sequences import TokenSequence
from verax.types import Cost, Highlight, Instance, Target

BATCH_SIZES = (8, 16, 32, 64, 128)
TRIAL_ROWS = 512


class Recorder:
    """A model that keeps the rows it was asked for."""

    def __init__(self, model: Classifier) -> None:
        self._model = model
        self.rows: list[Row] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def logits(self, rows: Sequence[Row]) -> Any:
        """Pass on, and keep."""
        self.rows.extend(rows)
        return self._model.logits(rows)


@dataclass(frozen=True)
class Work:
    """One piece of work: asks the engine all it needs for these instances."""

    name: str
    run: Callable[[Engine, Sequence[Instance]], None]


def _leave_one_out(engine: Engine, instances: Sequence[Instance]) -> None:
    method = LeaveOneOut()
    engine.run(Task(asking(method, x), _raise_or_end) for x in _encoded(engine, instances))


def _erasure(engine: Engine, instances: Sequence[Instance]) -> None:
    rng = np.random.default_rng(0)
    metrics = (Comprehensiveness(), Sufficiency())
    engine.run(
        Task(asking(metric, x, highlight), _raise_or_end)
        for x in _encoded(engine, instances)
        for highlight in [_random_highlight(x, rng)]
        for metric in metrics
    )


def _encoded(engine: Engine, instances: Sequence[Instance]) -> Any:
    return (Encoded.of(engine.model.encode(instance)) for instance in instances)


def _random_highlight(x: Encoded, rng: np.random.Generator) -> Highlight:
    scores = tuple(rng.random(x.n_units).tolist())
    return Highlight(x.encoding.instance.id, "random", "token", Target(), x.units, scores)


def _raise_or_end(outcome: Outcome[Any]) -> tuple[()]:
    if outcome.error is not None:
        raise outcome.error
    return ()


WORKS = (Work("leave_one_out", _leave_one_out), Work("erasure metrics", _erasure))


class BareModel:
    """The model alone on given rows: tensors made beforehand, rows of equal length together, no mask needed."""

    def __init__(self, model: Any, rows: Sequence[Row], mask_id: int, batch_size: int) -> None:
        by_length: dict[int, list[Any]] = {}
        for row in rows:
            sequence = TokenSequence.of(row, mask_id)
            by_length.setdefault(len(sequence.ids), []).append(sequence)
        self._model = model
        self._batches = []
        for group in by_length.values():
            for i in range(0, len(group), batch_size):
                batch = group[i : i + batch_size]
                ids = torch.from_numpy(np.stack([sequence.ids for sequence in batch]))
                types = torch.from_numpy(np.stack([sequence.types for sequence in batch]))
                self._batches.append((ids, types))

    def __call__(self) -> None:
        """All passes once."""
        with torch.inference_mode():
            for ids, types in self._batches:
                self._model(input_ids=ids, token_type_ids=types)


def _seconds(call: Callable[[], None]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def measure(work: Work, *, instances: int, repeats: int) -> dict[str, Any]:
    """Time one piece of work and the bare model on the same rows, in turns."""
    model, tokenizer, classifier = random_bert()
    data = PairMaker(seed=1).instances(instances)
    recorder = Recorder(classifier)
    engine = Engine(recorder)
    work.run(engine, data)
    rows, cost = recorder.rows, engine.cost
    mask_id = tokenizer.mask_token_id
    trials = {size: BareModel(model, rows[:TRIAL_ROWS], mask_id, size) for size in BATCH_SIZES}
    tried = {size: min(_seconds(trial), _seconds(trial)) for size, trial in trials.items()}
    best = min(tried, key=lambda size: tried[size])
    bare = BareModel(model, rows, mask_id, best)
    ours, theirs = [], []
    for _ in range(repeats):
        theirs.append(_seconds(bare))
        ours.append(_seconds(lambda: work.run(Engine(classifier), data)))
    return {
        "work": work.name,
        "instances": instances,
        "mean_tokens": round(float(np.mean([len(row.encoding.token_ids) for row in rows])), 1),
        "bare_batch_size": best,
        "bare_seconds": round(statistics.median(theirs), 3),
        "verax_seconds": round(statistics.median(ours), 3),
        "ratio": round(statistics.median(ours) / statistics.median(theirs), 3),
        **_passes(cost),
    }


def _passes(cost: Cost) -> dict[str, int]:
    return {"asked": cost.forward_asked, "evaluated": cost.forward, "saved": cost.forward_asked - cost.forward}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--instances", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    rows = [measure(work, instances=options.instances, repeats=options.repeats) for work in WORKS]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    result = {"results": rows, "limit": 1.05, "peak_memory_mib": round(peak), "threads": torch.get_num_threads()}
    if options.json:
        json.dump(result, sys.stdout, indent=1)
        print()
        return
    for row in rows:
        print(
            f"{row['work']}: {row['ratio']} times the bare model ({row['verax_seconds']} s / {row['bare_seconds']} s, "
            f"batch {row['bare_batch_size']}), passes asked {row['asked']}, evaluated {row['evaluated']}, "
            f"saved {row['saved']}"
        )
    print(f"peak memory {result['peak_memory_mib']} MiB")


if __name__ == "__main__":
    main()
