"""What comparing translations costs relative to explaining them: the share of a run's time in aligning and correlating.

    python -m bench.crosslingual --json
    python -m bench.crosslingual --pairs 5000 --repeats 1

A randomly initialised BERT (6 layers, hidden size 384) is explained by saliency as the table of the paper has it (two
outputs, two aggregations), and for comparison in one of these rows alone; a second BERT of the same size aligns the
words by the hidden states of its fourth layer. The data has the shape of XNLI: each premise stands in three pairs, with
about 20 and 10 words.

Explaining is all that a run does from the first prediction to the last explanation, and comparing all that it does for
the sake of alignments and their scores, each with writing its rows; the share is that of comparing in both together.
What belongs to neither (loading the models, sealing and reading the run at its end) makes no share smaller. How long
both take goes with the number of pairs; 5,000 take about ten minutes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from bench.models import VOCABULARY, random_bert
from verax.data.text import from_words
from verax.models.classifier import Classifier
from verax.run.execute_run import Driver, execute_run
from verax.run.prepare import prepare
from verax.run.spec import parse_spec
from verax.types import Dataset, Instance, Text

LIMIT = 0.10
PER_PREMISE = 3


def parallel_pairs(n: int, seed: int) -> Dataset:
    """n inputs in two languages that differ in their words and in how many there are."""
    rng = np.random.default_rng(seed)

    def text(fewest: int, most: int) -> Text:
        return from_words([f"w{number}" for number in rng.integers(VOCABULARY, size=rng.integers(fewest, most + 1))])

    instances: list[Instance] = []
    for number in range(n):
        if number % PER_PREMISE == 0:
            premises = {lang: text(14, 26) for lang in ("en", "xx")}
        instances += [
            Instance(f"{number}/{lang}", (premise, text(7, 13)), "LABEL_0", lang, str(number))
            for lang, premise in premises.items()
        ]
    return Dataset("pairs", tuple(instances), ("LABEL_0", "LABEL_1", "LABEL_2"))


ONE: list[Any] = ["saliency"]
TABLE: list[Any] = [
    {"saliency": {"target": of, "aggregate": by}} for of in ("prediction", "loss") for by in ("mean", "l2")
]


def shares(model: Classifier, encoder: Path, data: Dataset, folder: Path, methods: list[Any]) -> dict[str, float]:
    """How many seconds of one run go into explaining, and how many into comparing."""
    aligner = {"embedding": {"encoder": str(encoder)}}
    content = {"model": "bench", "data": "bench", "metrics": [{"crosslingual_faithfulness": {"aligner": aligner}}]}
    prepared = prepare(parse_spec(content), model, data, methods=methods)
    spent: Counter[str] = Counter()
    with ExitStack() as watched:
        watched.enter_context(_timed(Driver, "run_immediate", spent, "explaining"))
        watched.enter_context(_timed(Driver, "run_deferred", spent, "comparing"))
        execute_run(prepared, folder, command="bench", console=Console(quiet=True))
    return {name: spent[name] for name in ("explaining", "comparing")}


@contextmanager
def _timed(owner: type, name: str, spent: Counter[str], account: str) -> Iterator[None]:
    """Charge the seconds of each call of a method to an account."""
    whole = getattr(owner, name)

    def timed(*arguments: Any) -> None:
        start = time.perf_counter()
        whole(*arguments)
        spent[account] += time.perf_counter() - start  # type: ignore[assignment]

    setattr(owner, name, timed)
    try:
        yield
    finally:
        setattr(owner, name, whole)


def measure(pairs: int, repeats: int) -> dict[str, Any]:
    """The share of time, and what it is made of; medians of several runs, each in a folder of its own."""
    _, _, model = random_bert()
    other, tokenizer, _ = random_bert(seed=1)
    with tempfile.TemporaryDirectory() as there:
        encoder = Path(there) / "encoder"
        other.save_pretrained(encoder)
        tokenizer.save_pretrained(encoder)
        shares(model, encoder, parallel_pairs(6, 1), Path(there) / "warm", ONE)
        found = {"four_rows": [], "one_row": []}  # type: dict[str, list[dict[str, float]]]
        for seed in range(repeats):
            data = parallel_pairs(pairs, seed)
            for name, methods in (("four_rows", TABLE), ("one_row", ONE)):
                found[name].append(shares(model, encoder, data, Path(there) / f"{name}{seed}", methods))
    told = {name: _medians(runs) for name, runs in found.items()}
    return {"pairs": pairs, **told, "limit": LIMIT}


def _medians(runs: list[dict[str, float]]) -> dict[str, float]:
    return {
        "explaining": round(statistics.median(run["explaining"] for run in runs), 2),
        "comparing": round(statistics.median(run["comparing"] for run in runs), 2),
        "share": round(statistics.median(run["comparing"] / sum(run.values()) for run in runs), 4),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=150, help="inputs, each in two languages")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    found = measure(options.pairs, options.repeats)
    if options.json:
        json.dump(found, sys.stdout, indent=1)
        print()
        return
    for name, what in (("four_rows", "saliency in its four rows"), ("one_row", "one of them alone")):
        one = found[name]
        print(
            f"{what}: aligning and correlating is {100 * one['share']:.1f} % of the time "
            f"({one['comparing']} s, compared with {one['explaining']} s of explaining {found['pairs']} pairs)"
        )
    print(f"limit for the four rows: {100 * LIMIT:.0f} %")


if __name__ == "__main__":
    main()
