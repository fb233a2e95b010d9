"""The data of a training: the splits that a spec names, or those that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from verax.data.files import named_files
from verax.jobs.training.spec import RecipeSpec
from verax.registry import entries
from verax.run.opening import open_data
from verax.run.plan import input_key
from verax.run.spec import DataSpec
from verax.train.rows import check_parts
from verax.types import Dataset, UserError

HELD_OUT = 0.2
"""Share of a file that is held out for validation if no other file is named."""


@dataclass(frozen=True)
class Splits:
    """The data of a training; `left_out` counts the instances that were removed, by reason, as a run names it."""

    train: Dataset
    validation: Dataset
    test: Dataset | None
    left_out: Mapping[str, int] = field(default_factory=dict)

    @property
    def datasets(self) -> dict[str, Dataset]:
        """The splits that exist, by name."""
        named = {"train": self.train, "validation": self.validation, "test": self.test}
        return {name: data for name, data in named.items() if data is not None}

    @property
    def evaluated(self) -> dict[str, Dataset]:
        """The splits on which a trained model is evaluated."""
        return {name: data for name, data in self.datasets.items() if name != "train"}

    def readable(self) -> Splits:
        """The instances all of whose parts have words: a run skips the others too."""
        return self._without("empty", lambda data: [any(not part.words for part in x.parts) for x in data.instances])

    def fitting(self, tokenizer: Any, longest: int) -> Splits:
        """The instances with at most this many tokens."""

        def too_long(data: Dataset) -> list[bool]:
            if not len(data):
                return []
            texts = zip(*((part.raw for part in instance.parts) for instance in data.instances), strict=True)
            return [len(ids) > longest for ids in tokenizer(*map(list, texts), verbose=False)["input_ids"]]

        return self._without("too_long", too_long)

    def _without(self, reason: str, removed: Callable[[Dataset], list[bool]]) -> Splits:
        """The splits without the instances for which it is true."""
        kept, lost = {}, 0
        for name, data in self.datasets.items():
            gone = removed(data)
            instances = tuple(x for x, out in zip(data.instances, gone, strict=True) if not out)
            kept[name], lost = replace(data, instances=instances), lost + sum(gone)
        left_out = {**self.left_out, **({reason: lost} if lost else {})}
        return Splits(kept["train"], kept["validation"], kept.get("test"), left_out)


def open_splits(spec: RecipeSpec, seed: int = 0, *, for_classifier: bool = True) -> Splits:
    """Open the training data, and the data on which epochs are selected and models are evaluated.

    Args:
        for_classifier: refuse inputs that a classifier can't read, which are those of more than two parts.
    """
    is_file = bool(named_files(spec.data.name))

    def other(given: DataSpec | None, split: str) -> Dataset:
        """The given data, or all of another split of the training data."""
        if given is None:
            given = spec.data.model_copy(update={"split": split, "limit": None, "sample": None})
        return open_data(_with_split(given, split if given.name == spec.data.name else None), seed)

    train = open_data(_with_split(spec.data, None if is_file else "train"), seed)
    if spec.validation is None and is_file:
        train, validation = hold_out(train, HELD_OUT)
    else:
        validation = other(spec.validation, "validation")
    test = None
    if spec.test is not None or spec.data.name in entries("datasets"):
        test = other(spec.test, "test")
    if len(train.labels) < 2:
        labels = (
            f"the only label of {train.name} is {train.labels[0]!r}" if train.labels else f"{train.name} has no labels"
        )
        raise UserError(f"data: {labels}; training needs at least two classes")
    splits = Splits(train, validation, test)
    if for_classifier:
        check_parts([instance for data in splits.datasets.values() for instance in data.instances])
    return splits


def _with_split(spec: DataSpec, split: str | None) -> DataSpec:
    """The data with a split, unless it names one itself."""
    return spec if spec.split is not None else spec.model_copy(update={"split": split})


def hold_out(data: Dataset, share: float) -> tuple[Dataset, Dataset]:
    """Split a dataset at random, always in the same way, into the rest and the share that is held out.

    Translations of one input stay together: otherwise a held-out input would be known in another language.
    """
    wanted = len(data) - round((1 - share) * len(data))
    groups: dict[str, list[int]] = {}
    for i, instance in enumerate(data.instances):
        name = f"{i}" if instance.parallel_id is None else f"parallel {instance.parallel_id}"
        groups.setdefault(name, []).append(i)
    group_of = {i: group for group in groups.values() for i in group}
    held: set[int] = set()
    for i in np.random.default_rng(0).permutation(len(data)).tolist():
        if len(held) < wanted:
            held.update(group_of[i])
    if not 0 < len(held) < len(data):
        raise UserError(f"{data.name}: {len(data)} instances are too few to hold a fifth out; name a --validation")
    rest = tuple(instance for i, instance in enumerate(data.instances) if i not in held)
    return replace(data, instances=rest), replace(data, instances=tuple(data.instances[i] for i in sorted(held)))


def input_keys(data: Dataset) -> list[str]:
    """The content keys of the inputs of a dataset, in order."""
    return [input_key(instance) for instance in data.instances]


def number_of_parts(datasets: Sequence[Dataset]) -> int:
    """The number of parts that every input has: prompts are written for one number of them."""
    counts = {len(instance.parts): instance.id for data in datasets for instance in data.instances}
    if not counts:
        raise UserError("data: no input has any words")
    if len(counts) > 1:
        (few, first), (many, second) = sorted(counts.items())[:2]
        raise UserError(
            f"data: instance {first!r} has {few} part(s) and {second!r} has {many}; all need the same number"
        )
    return next(iter(counts))
