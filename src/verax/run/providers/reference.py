"""The distribution of a model's hidden states on a validation set: learned once, stored with the model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from verax.engine.engine import Engine, Outcome, Task
from verax.engine.protocols import Metric
from verax.engine.questions import Hidden, QuestionGenerator
from verax.metrics.faithfulness.in_distribution import InDistribution
from verax.models.classifier import Classifier, Row
from verax.models.removal import CODES
from verax.models.subject import Subject
from verax.registry import entries
from verax.run.context import RunContext
from verax.run.parameters import Configured
from verax.run.plan import input_key
from verax.run.progress import progress_counter
from verax.run.providers import Provider, Request
from verax.stats.masf import InDistributionTest, Variant
from verax.store.files import replace_file
from verax.store.keys import hash_bytes, key_of
from verax.types import Dataset, FloatArray, Highlight, Instance, Undefined, UserError

VERSION = 2
"""Of what is stored, its layout included: part of its key."""
FOLDER = "verax"
EXAMPLES = 40
_ARRAYS = ("neurons", "layers", "inputs")


class ReferenceProvider(Provider):
    """What each metric learns of the model from the validation data of the run."""

    def __init__(self, run: RunContext, metrics: Sequence[Configured[Any]], others: Mapping[str, Provider]) -> None:
        super().__init__(run, metrics, others)
        validation = run.open_validation()
        self.references = {one.label: Reference.of(one.component, run.model, validation) for one in metrics}
        self._learned: dict[str, InDistributionTest] = {}

    def key(self, metric: Configured[Metric]) -> str:
        """Hash of everything that determines what is learned."""
        return self.references[metric.label].key

    def prepare(self, engine: Engine, console: Console) -> None:
        """Learn, or read what an earlier run stored."""
        for label, reference in self.references.items():
            self._learned[label] = reference.learn(self.run.model, engine, console)

    def provide(self, request: Request) -> InDistributionTest:
        """What was learned for the metric."""
        return self._learned[request.metric.label]

    @classmethod
    def example(cls, metric: Any, subjects: Sequence[Subject]) -> Callable[[Subject, Highlight], InDistributionTest]:
        """Learned from the inputs themselves, each with other words masked, as often as it takes."""
        rng = np.random.default_rng(0)
        maxima = []
        for x in islice(cycle(subjects), EXAMPLES):
            state = ((rng.random(len(x.encoding.units)) < rng.random()) * CODES["mask"]).astype(np.int8)
            maxima.append(x.model.hidden([Row(x.encoding, state)])[0])
        variant: Variant = getattr(metric, "variant", "conformal")
        seed = getattr(metric, "seed", 0)
        learned = InDistributionTest.fit(np.stack(maxima), variant, seed=seed)
        return lambda x, highlight: learned


@dataclass(frozen=True, eq=False)
class Reference:
    """A validation set as one metric sees it, whether the metric has learned from it or not.

    Args:
        key: hash of everything that determines what is learned.
        masking: how the inputs are masked.
        instances: the inputs.
        parts: the parts that are masked; None: all.
    """

    key: str
    metric: InDistribution
    masking: str
    instances: tuple[Instance, ...]
    parts: tuple[int, ...] | None

    @classmethod
    def of(cls, metric: InDistribution, model: Classifier, validation: Dataset) -> Reference:
        """Draw the inputs; raises UserError for a set that is too small."""
        metric.check_size(min(len(validation), metric.validation))
        masking, parts = trained_masking(model) if metric.masking == "auto" else (metric.masking, None)
        order = np.random.default_rng(metric.seed).permutation(len(validation))[: metric.validation]
        instances = tuple(validation.instances[i] for i in sorted(order))
        key = key_of(
            row="reference",
            version=VERSION,
            model=model.fingerprint,
            inputs=[input_key(instance) for instance in instances],
            masking=masking,
            parts=parts,
            variant=metric.variant,
            seed=metric.seed,
        )
        return cls(key, metric, masking, instances, parts)

    def learn(self, model: Classifier, engine: Engine, console: Console) -> InDistributionTest:
        """What an earlier run stored, or else what is learned now, stored for the next one."""
        kept = read_masf(self._places(model), self.metric)
        if kept is not None:
            return kept
        rows: list[FloatArray | None] = [None] * len(self.instances)
        with progress_counter("learning what is in-distribution", len(rows), console) as advance:
            engine.run(self._tasks(model, rows, advance))
        seen = [row for row in rows if row is not None]
        self.metric.check_size(len(seen))
        learned = InDistributionTest.fit(np.stack(seen), self.metric.variant, seed=self.metric.seed)
        write_masf(self._places(model), learned)
        return learned

    def _tasks(self, model: Classifier, rows: list[FloatArray | None], advance: Any) -> Iterator[Task[Any]]:
        for number, instance in enumerate(self.instances):
            try:
                x = Subject(model.by_token(instance), model, self.parts).encoded()
            except Undefined:  # nothing is learned from an input that the model cannot read
                advance()
                continue

            def done(outcome: Outcome[FloatArray], number: int = number) -> Iterable[Task[Any]]:
                rows[number] = outcome.value
                advance()
                return ()

            yield Task(self._maxima(x, number), done)

    def _maxima(self, x: Subject, number: int) -> QuestionGenerator[FloatArray]:
        """Maxima of an input masked as in training: each input, or every other one, at a random rate of its own."""
        rng = x.rng(self.metric.seed, "in_distribution")
        masked = self.masking == "masking" or (self.masking == "half" and number % 2 == 1)
        keep = rng.random((1, x.n_units)) >= (rng.random() if masked else 0.0)
        maxima: FloatArray = yield Hidden(x, keep, self.metric.removal)
        return np.asarray(maxima[0])

    def _places(self, model: Classifier) -> list[Path]:
        """Files to store it in: next to the model's weights or, where they are not writable, in the user's cache."""
        name = f"in-distribution-{self.key[:16]}.safetensors"
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "verax"
        home = getattr(model, "home", None)
        shipped = model.name in entries("models")
        return [cache / name] if home is None or shipped else [Path(home) / FOLDER / name, cache / name]


def trained_masking(model: Classifier) -> tuple[str, tuple[int, ...] | None]:
    """How a model was masked in training, and which parts of its inputs; `none` if it does not say."""
    parts = model.about.get("masked_parts", "")
    return model.about.get("masking", "none"), tuple(int(part) for part in parts.split(",")) if parts else None


def read_masf(places: Iterable[Path], metric: InDistribution) -> InDistributionTest | None:
    """What the first readable file holds; a damaged file is ignored."""
    for path in places:
        try:
            with safe_open(path, framework="numpy") as file:
                arrays = [file.get_tensor(name) for name in _ARRAYS]
                whole = (file.metadata() or {}).get("sha256") == _hash(arrays)
        except (OSError, SafetensorError):
            continue
        if whole:
            return InDistributionTest(metric.variant, *arrays)
    return None


def write_masf(places: Iterable[Path], learned: InDistributionTest) -> None:
    """Store it in the first file that can be written; if none can, it is learned again each time."""
    arrays = {name: np.ascontiguousarray(getattr(learned, name)) for name in _ARRAYS}
    data = save(arrays, metadata={"sha256": _hash(arrays.values())})
    for path in places:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            replace_file(path, data)
        except (OSError, UserError):
            continue
        return


def _hash(arrays: Iterable[FloatArray]) -> str:
    return hash_bytes(*(array.tobytes() for array in arrays))
