"""The distribution of a model's hidden states on a validation set: learned once, stored with the model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from rich.console import Console
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from verax.engine.ask import ask_all
from verax.engine.engine import Engine
from verax.engine.protocols import Metric
from verax.engine.questions import Hidden, HiddenStatistic, QuestionGenerator
from verax.metrics.faithfulness.in_distribution import InDistribution
from verax.metrics.faithfulness.recursive_masking import masked_at_random
from verax.models.classifier import Classifier
from verax.models.encoding import PerturbedInput
from verax.models.removal import CODES
from verax.models.subject import Subject
from verax.registry import entries
from verax.run.context import RunContext
from verax.run.parameters import Configured
from verax.run.plan import input_key, length
from verax.run.progress import progress_counter
from verax.run.providers import Provider, Request
from verax.stats.masf import InDistributionTest
from verax.store.files import replace_file
from verax.store.keys import JSON, hash_bytes, key_of
from verax.types import Dataset, FloatArray, Highlight, Instance, Passes, Undefined, UserError

VERSION = 3
"""Version of the stored file, part of its key."""
FOLDER = "verax"
EXAMPLES = 40
_ARRAYS = ("neurons", "layers", "inputs")


class ReferenceProvider(Provider):
    """Tests for in-distribution inputs, each fitted on the validation data of the run."""

    owns_seed: ClassVar[bool] = True

    def __init__(self, run: RunContext, metrics: Sequence[Configured[Any]], others: Mapping[str, Provider]) -> None:
        super().__init__(run, metrics, others)
        validation, by_token = run.open_validation(), run.spec.data.granularity == "token"
        self.references = {
            one.label: Reference.of(one.component, run.model, validation, run.parts, by_token=by_token)
            for one in metrics
        }
        self._learned: dict[str, InDistributionTest] = {}

    def key(self, metric: Configured[Metric]) -> str:
        """Hash of everything that determines the fitted test."""
        return self.references[metric.label].key

    def preparation(self) -> Iterator[tuple[int, Passes]]:
        """Passes for the tests that no earlier run stored."""
        for reference in self.references.values():
            yield from reference.passes(self.run.model)

    def prepare(self, engine: Engine, console: Console) -> None:
        """Fit the tests, or read those that an earlier run stored."""
        for label, reference in self.references.items():
            self._learned[label] = reference.learn(self.run.model, engine, console)

    def provide(self, request: Request) -> InDistributionTest:
        """The test of the metric."""
        return self._learned[request.metric.label]

    @classmethod
    def example(cls, metric: Any, subjects: Sequence[Subject]) -> Callable[[Subject, Highlight], InDistributionTest]:
        """Fitted on the inputs themselves, repeated with other words masked."""
        rng = np.random.default_rng(0)
        maxima = []
        for x in islice(cycle(subjects), EXAMPLES):
            state = ((rng.random(x.encoding.n_units) < rng.random()) * CODES["mask"]).astype(np.int8)
            maxima.append(x.model.hidden([PerturbedInput(x.encoding, state)])[0])
        learned = InDistributionTest.fit(np.stack(maxima), getattr(metric, "variant", "conformal"))
        learned = learned.calibrated(learned.statistics(np.stack(maxima))[None])
        return lambda x, highlight: learned


@dataclass(frozen=True, eq=False)
class Reference:
    """The validation inputs of one metric, and how they are masked.

    Args:
        key: hash of everything that determines the fitted test.
        masking: how the model was trained.
        instances: the inputs.
        trained_parts: the parts that were masked in training; None: all.
        parts: the parts that are masked in the run; None: all.
        by_token: whether the run masks tokens, not words.
    """

    key: str
    metric: InDistribution
    masking: str
    instances: tuple[Instance, ...]
    trained_parts: tuple[int, ...] | None
    parts: tuple[int, ...] | None
    by_token: bool

    @classmethod
    def of(
        cls,
        metric: InDistribution,
        model: Classifier,
        validation: Dataset,
        parts: tuple[int, ...] | None = None,
        *,
        by_token: bool = False,
    ) -> Reference:
        """Draw the inputs; raises UserError for a set that is too small."""
        metric.check_size(min(len(validation), metric.validation))
        masking, trained = trained_masking(model) if metric.masking == "auto" else (metric.masking, None)
        order = np.random.default_rng(metric.seed).permutation(len(validation))[: metric.validation]
        instances = tuple(validation.instances[i] for i in sorted(order))
        ratios: JSON = None
        if metric.variant == "conformal" and masking != "none":
            ratios = {"steps": metric.steps, "parts": parts, "by_token": by_token}
        key = key_of(
            row="reference",
            version=VERSION,
            model=model.fingerprint,
            device=model.about.get("device", "").partition(":")[0],
            inputs=[input_key(instance) for instance in instances],
            masking=masking,
            parts=trained,
            variant=metric.variant,
            seed=metric.seed,
            ratios=ratios,
        )
        return cls(key, metric, masking, instances, trained, parts, by_token)

    def learn(self, model: Classifier, engine: Engine, console: Console) -> InDistributionTest:
        """The test that an earlier run stored, or a new one, which is stored for the next run."""
        kept = read_masf(self._places(model), self.metric)
        if kept is not None:
            return kept
        readable = [
            instance for instance in self.instances if _is_readable(instance, model, self.parts, self.trained_parts)
        ]
        self.metric.check_size(len(readable))
        fitted, ranked = list(range(len(readable))), []
        if self.metric.variant == "conformal":
            order = np.random.default_rng(self.metric.seed).permutation(len(readable)).tolist()
            fitted, ranked = order[: len(order) // 2], order[len(order) // 2 :]
        with progress_counter("learning what is in-distribution", len(readable), console) as advance:

            def answers(generators: Iterator[QuestionGenerator[FloatArray]]) -> FloatArray:
                rows: list[FloatArray] = []
                questions = ((None, generator) for generator in generators)
                ask_all(questions, lambda _, row: rows.append(row), ended=advance, engine=engine)
                self.metric.check_size(len(rows) * (2 if ranked else 1))
                return np.stack(rows)

            learned = InDistributionTest.fit(
                answers(self._maxima(readable[i], model, number) for number, i in enumerate(fitted)),
                self.metric.variant,
            )
            if ranked:
                statistics = answers(self._statistics(readable[i], model, learned) for i in ranked)
                learned = learned.calibrated(statistics.T)
        write_masf(self._places(model), learned)
        return learned

    def passes(self, model: Classifier) -> Iterator[tuple[int, Passes]]:
        """Words of each validation input and passes about it, at most; none if an earlier run stored the test."""
        if read_masf(self._places(model), self.metric) is not None:
            return
        ranked = len(self.instances) - len(self.instances) // 2 if self.metric.variant == "conformal" else 0
        ratios = 1 if self.masking == "none" else self.metric.steps + 1
        for number, instance in enumerate(self.instances):
            yield length(instance), Passes(ratios if number < ranked else 1, 0)

    def _maxima(self, instance: Instance, model: Classifier, number: int) -> QuestionGenerator[FloatArray]:
        """Maxima of an input masked as in training: each input, or every other one, at a random rate of its own."""
        x = Subject(model.by_token(instance), model, self.trained_parts)
        rng = x.rng(self.metric.seed, "in_distribution")
        masked = self.masking == "masking" or (self.masking == "half" and number % 2 == 1)
        keep = rng.random((1, x.n_units)) >= (rng.random() if masked else 0.0)
        maxima: FloatArray = yield Hidden(x, keep, self.metric.removal)
        return np.asarray(maxima[0])

    def _statistics(
        self, instance: Instance, model: Classifier, learned: InDistributionTest
    ) -> QuestionGenerator[FloatArray]:
        """Statistics of an input masked at random at each ratio, as the run masks; shape [steps + 1].

        That of the unmasked input alone, shape [1], if nothing was masked in training.
        """
        x = Subject(model.by_token(instance) if self.by_token else instance, model, self.parts)
        rng = x.rng(self.metric.seed, "in_distribution at each ratio")
        keep = masked_at_random(x.n_units, self.metric.steps, rng)
        if self.masking == "none":
            keep = keep[:1]
        statistics: FloatArray = yield HiddenStatistic(x, keep, self.metric.removal, statistic=learned.statistics)
        return statistics

    def _places(self, model: Classifier) -> list[Path]:
        """Files to store it in: next to the model's weights or, where they are not writable, in the user's cache."""
        name = f"in-distribution-{self.key[:16]}.safetensors"
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "verax"
        home = getattr(model, "home", None)
        shipped = model.name in entries("models")
        return [cache / name] if home is None or shipped else [Path(home) / FOLDER / name, cache / name]


def _is_readable(instance: Instance, model: Classifier, *parts: tuple[int, ...] | None) -> bool:
    """Whether the model can read an input and has a word to mask: nothing is learned from others."""
    try:
        for masked in parts:
            Subject(instance, model, masked).encoded()
    except Undefined:
        return False
    return True


def trained_masking(model: Classifier) -> tuple[str, tuple[int, ...] | None]:
    """How a model was masked in training, and in which parts; `none` if it is not recorded."""
    parts = model.about.get("masked_parts", "")
    return model.about.get("masking", "none"), tuple(int(part) for part in parts.split(",")) if parts else None


def read_masf(places: Iterable[Path], metric: InDistribution) -> InDistributionTest | None:
    """The test in the first readable file; a damaged file is ignored."""
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
    """Store a test in the first writable file; if there is none, it is fitted again each time."""
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
