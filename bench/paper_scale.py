"""What two runs of the size of a paper would take on this machine, extrapolated from a sample of their own work.

    python -m bench.paper_scale

The models have the shape of the real ones and random weights; the inputs are random words of the lengths of the real
data. Passes, rows and bytes are counted as `verax run --dry-run` does, for a few inputs, and multiplied. Time is that
of this machine; on another one, multiply passes by its own seconds per pass.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from bench.models import PairMaker, random_bert
from verax.registry import resolve
from verax.run.cost import estimate_cost
from verax.run.prepare import prepare
from verax.run.spec import parse_spec
from verax.types import Dataset

HOUR = 3600.0


class Paper(NamedTuple):
    """A run of a paper: the shape of its model, its preset, inputs, models, and metrics that need no translation."""

    title: str
    layers: int
    hidden: int
    preset: str
    metrics: tuple[str, ...]
    inputs: int
    models: int


PAPERS = (
    Paper("XNLI, 15 languages x 5,010, XLM-R base", 12, 768, "crosslingual", ("comprehensiveness",), 15 * 5010, 1),
    Paper(
        "16 data sets x 2,000 test inputs, 5 seeds, RoBERTa-large",
        24,
        1024,
        "faithfulness-measurable",
        ("recursive_masking",),
        16 * 2000,
        5,
    ),
)


def measure(paper: Paper, sample: int, seconds: float) -> dict[str, Any]:
    """Passes, hours, memory and disk of a whole run."""
    _, _, model = random_bert(layers=paper.layers, hidden=paper.hidden)
    made = PairMaker(seed=1).instances(sample)
    labelled = tuple(replace(instance, label=model.labels[i % len(model.labels)]) for i, instance in enumerate(made))
    data = Dataset("pairs", labelled, model.labels)
    methods = resolve("presets", paper.preset).content["methods"]
    spec = {"model": "random", "data": "pairs", "methods": methods, "metrics": list(paper.metrics)}
    with tempfile.TemporaryDirectory() as folder:
        cost = estimate_cost(prepare(parse_spec(spec), model, data), Path(folder) / "run", seconds=seconds)
    assert cost.expected is not None  # noqa: S101 - a model in this process
    times = paper.inputs * paper.models / sample
    expected = cost.expected
    return {
        "run": paper.title,
        "methods": len(methods),
        "rows": round(cost.left.rows * times),
        "forward": round(expected.forward * times),
        "backward": round(expected.backward * times),
        "hours": round((expected.seconds or 0.0) * times / HOUR, 1),
        "hours_if_idle": round((1 - cost.waited) * (expected.seconds or 0.0) * times / HOUR, 1),
        "memory_gb": round(cost.memory.peak / 1e9, 2),
        "disk_gb": round(cost.disk * times / 1e9, 2),
    }


def main() -> None:
    """Print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, default=24, help="inputs that are planned and partly computed")
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of the sample")
    given = parser.parse_args()
    for paper in PAPERS:
        print(measure(paper, given.sample, given.seconds), flush=True)


if __name__ == "__main__":
    main()
