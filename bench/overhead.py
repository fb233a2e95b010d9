"""What the engine itself costs: CPU time per pass on a model that answers instantly.

    python -m bench.overhead
    python -m bench.overhead --only beam --profile

Everything but the model is real: methods, questions, memo, batches, removal rules and padded tensors. The answers are
cheap functions of the token ids. Each piece of work is run at several lengths of input on one thread; printed are
microseconds of CPU time per evaluated pass, the smallest of several runs, and the growth from the shortest to the
longest input. Inputs are encoded before the clock starts: that is the work of the tokenizer, once for each input
whatever is asked about it, and is printed on a line of its own. `--profile` prints where the time goes at the longest.
At the end, the memory that is still in use after a beam search on a long input.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import json
import pstats
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

from bench.models import VOCABULARY, word_tokenizer
from verax.data.text import from_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import as_generator
from verax.methods.beam import Beam
from verax.methods.occlusion import LeaveOneOut
from verax.methods.shapley import KernelShap
from verax.metrics.faithfulness.erasure import Comprehensiveness, Sufficiency
from verax.models.encoding import PaddedBatch
from verax.models.hf_classifier import HFClassifier
from verax.models.subject import Subject
from verax.types import Highlight, Instance, Target

TARGET_MICROSECONDS, TARGET_MEGABYTES = 40.0, 100.0
LONGEST = 550
"""Words of the input of the beam search whose memory is measured."""


class InstantClassifier(HFClassifier):
    """A classifier whose model is not run; logits depend on every token and its position."""

    def __init__(self) -> None:
        tokenizer = word_tokenizer()
        tokenizer.model_max_length = 1024
        config = BertConfig(
            vocab_size=len(tokenizer),
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=1,
            intermediate_size=8,
            max_position_embeddings=1024,
            num_labels=3,
        )
        super().__init__(BertForSequenceClassification(config).eval(), tokenizer, name="instant", fingerprint={})
        self._weights = torch.from_numpy(np.random.default_rng(0).standard_normal((1024, 3)))

    def _run(self, batch: PaddedBatch, *_: Any, **__: Any) -> Any:
        ids = torch.from_numpy(batch.ids)
        return SimpleNamespace(logits=ids.double() @ self._weights[: ids.shape[1]] / VOCABULARY)


def inputs(words: int, count: int) -> list[Instance]:
    """Texts of random words."""
    rng = np.random.default_rng(words)
    return [
        Instance(f"text {i}", (from_words([f"w{number}" for number in rng.integers(VOCABULARY, size=words)]),))
        for i in range(count)
    ]


@dataclass(frozen=True)
class Work:
    """One piece of work: the lengths at which it is measured, and the tasks for one input."""

    name: str
    words: tuple[int, ...]
    passes: Callable[[int], int]
    """Passes for an input of so many words; inputs are as many as make about 20,000 of them, but at most 500."""
    generators: Callable[[Subject], Sequence[Any]]

    def tasks(self, model: InstantClassifier, words: int) -> list[Task[Any]]:
        """Those for encoded inputs of so many words."""
        count = min(500, max(1, 20_000 // self.passes(words)))
        subjects = [Subject(instance, model).encoded() for instance in inputs(words, count)]
        return [Task(generator, _raise_or_end) for x in subjects for generator in self.generators(x)]


def passes_of(tasks: Sequence[Task[Any]]) -> int:
    """Run all tasks; returns the number of passes that were evaluated."""
    engine = Engine()
    engine.run(tasks)
    return engine.cost.forward


def _raise_or_end(outcome: TaskResult[Any]) -> tuple[()]:
    if outcome.error is not None:
        raise outcome.error
    return ()


def _explaining(method: Any) -> Callable[[Subject], Sequence[Any]]:
    return lambda x: (as_generator(method, x),)


def _erasing(x: Subject) -> Sequence[Any]:
    scores = tuple(x.rng(0).random(x.n_units).tolist())
    highlight = Highlight(x.instance.id, "random", "token", Target(), x.units, scores)
    return [as_generator(metric, x, highlight) for metric in (Comprehensiveness(), Sufficiency())]


BEAM = Work("beam", (10, 40, 150), lambda n: Beam().passes(n).forward, _explaining(Beam()))
WORKS = (
    Work("leave_one_out", (10, 40, 150, 550), lambda n: LeaveOneOut().passes(n).forward, _explaining(LeaveOneOut())),
    Work("kernel_shap", (10, 40, 150, 550), lambda n: KernelShap().passes(n).forward, _explaining(KernelShap())),
    BEAM,
    Work("erasure metrics", (10, 40, 150, 550), lambda _: 11, _erasing),
)


def measure(work: Work, words: int, *, repeats: int) -> float:
    """Microseconds of CPU time per pass: the smallest of several runs, which others on this machine disturb least."""
    model, found = InstantClassifier(), []
    for _ in range(repeats):
        tasks = work.tasks(model, words)
        start = time.process_time()
        passes = passes_of(tasks)
        found.append((time.process_time() - start) / passes * 1e6)
    return min(found)


def encoding_microseconds(words: int, *, repeats: int) -> float:
    """CPU time of encoding one input of so many words: the smallest of several means over 100 inputs."""
    model, found = InstantClassifier(), []
    for _ in range(repeats):
        instances = inputs(words, 100)
        start = time.process_time()
        for instance in instances:
            Subject(instance, model).encoded()
        found.append((time.process_time() - start) / len(instances) * 1e6)
    return min(found)


def retained_megabytes(words: int) -> float:
    """Resident memory that is still in use after a beam search on an input of so many words, its subject included."""
    x = Subject(inputs(words, 1)[0], InstantClassifier()).encoded()
    passes_of(BEAM.tasks(x.model, 10))  # whatever is allocated once
    before = _resident_bytes()
    passes_of([Task(as_generator(Beam(), x), _raise_or_end)])
    gc.collect()
    return (_resident_bytes() - before) / 1e6


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def profile(work: Work) -> None:
    """Print the functions that take longest, at the longest input."""
    tasks = work.tasks(InstantClassifier(), work.words[-1])
    profiler = cProfile.Profile()
    profiler.runcall(passes_of, tasks)
    pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only", choices=[work.name for work in WORKS], help="one piece of work")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--profile", action="store_true", help="print where the time goes instead")
    options = parser.parse_args()
    torch.set_num_threads(1)
    chosen = [work for work in WORKS if options.only in {None, work.name}]
    if options.profile:
        for work in chosen:
            profile(work)
        return
    rows: list[dict[str, Any]] = []
    for work in chosen:
        times = {words: round(measure(work, words, repeats=options.repeats), 1) for words in work.words}
        growth = round(times[work.words[-1]] / times[work.words[0]], 2)
        rows.append({"work": work.name, "microseconds_by_words": times, "growth": growth})
        line = ", ".join(f"{time} µs at {words} words" for words, time in times.items())
        print(f"{work.name}: {line}; growth {growth}", file=sys.stderr if options.json else sys.stdout, flush=True)
    encoding = {words: round(encoding_microseconds(words, repeats=options.repeats)) for words in WORKS[0].words}
    held = None if options.only else round(retained_megabytes(LONGEST), 1)
    met = all(time <= TARGET_MICROSECONDS for row in rows for time in row["microseconds_by_words"].values())
    if options.json:
        found = {"encoding_microseconds_by_words": encoding, "beam_retained_megabytes": held}
        print(json.dumps({"results": rows, "met": met, **found}, indent=1))
        return
    print("encoding an input: " + ", ".join(f"{time} µs of {words} words" for words, time in encoding.items()))
    print(f"at most {TARGET_MICROSECONDS:.0f} µs per pass: {'met' if met else 'MISSED'}")
    if held is not None:
        print(f"beam search on {LONGEST} words retains {held} MB (target: {TARGET_MEGABYTES:.0f} MB)")


if __name__ == "__main__":
    main()
