"""Instances as rows of token ids for training: encoding, random masks, and batches of similar length."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from verax.models.checkpoint import max_length
from verax.models.targets import class_of
from verax.types import BoolArray, Dataset, Instance, UserError

Features = dict[str, list[int]]
"""Token ids and the other inputs of a model for one instance, not padded."""

Masking = Literal["none", "masking", "half"]
"""What is masked in training: nothing, every row, or every other row of each mini-batch."""

Selection = Literal["none", "masking", "both"]
"""What the best epoch is selected on: the validation set, a masked copy of it, or both."""

SELECTION_NAMES: dict[str, str] = {"none": "unmasked", "masking": "masked", "both": "both copies"}

_POOL = 32
"""Batches are cut from pools of this many, sorted by length: little padding, and the order is still random."""


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """Encoded instances, truncated to the length of the model.

    Args:
        features: the inputs of the model for each instance.
        maskable: which tokens may be masked, shape [tokens] each; never special tokens.
        golds: index of each gold class among the classes of the model, shape [rows].
    """

    features: tuple[Features, ...]
    maskable: tuple[BoolArray, ...]
    golds: Tensor

    def __len__(self) -> int:
        return len(self.features)


def encode(
    model: Any,
    tokenizer: Any,
    dataset: Dataset,
    *,
    parts: Collection[int] | None = None,
    longest: int | None = None,
) -> Rows:
    """The rows of a dataset.

    Args:
        parts: the parts whose tokens may be masked; None for all.
        longest: truncate to this many tokens, or to the length of the model if that is less.
    """
    if tokenizer.pad_token_id is None:
        raise UserError(
            f"the tokenizer of {model.config.name_or_path!r} has no padding token, so it can't make batches of texts"
        )
    check_parts(dataset.instances)
    golds = gold_classes(model, dataset)
    if not len(dataset):
        return Rows((), (), golds)
    texts = zip(*((part.raw for part in instance.parts) for instance in dataset.instances), strict=True)
    length = max_length(model.config, tokenizer)
    encoded = tokenizer(*(list(part) for part in texts), truncation=True, max_length=min(length, longest or length))
    features = tuple({name: encoded[name][row] for name in encoded} for row in range(len(dataset)))
    maskable = tuple(
        np.array([part is not None and (parts is None or part in parts) for part in encoded.sequence_ids(row)])
        for row in range(len(dataset))
    )
    return Rows(features, maskable, golds)


def check_parts(instances: Sequence[Instance]) -> None:
    """Reject instances with more than two parts or with different numbers of parts."""
    counts = {len(instance.parts): instance.id for instance in instances}
    for count, name in counts.items():
        if count > 2 or len(counts) > 1:
            raise UserError(f"instance {name!r} has {count} part(s); a classifier reads one, or two, in all instances")


def gold_classes(model: Any, dataset: Dataset) -> Tensor:
    """The index of each gold class among the classes of the model; shape [instances]."""
    names = [model.config.id2label[number] for number in range(model.config.num_labels)]
    golds = []
    for instance in dataset.instances:
        gold = class_of(instance.label, names)
        if gold is None:
            raise label_error(dataset, instance, names)
        golds.append(gold)
    return torch.tensor(golds, dtype=torch.long)


def label_error(dataset: Dataset, instance: Instance, labels: Sequence[str]) -> UserError:
    """The error for an instance with none of these classes."""
    problem = "has no label" if instance.label is None else f"has the label {instance.label!r}"
    return UserError(f"{dataset.name}: instance {instance.id!r} {problem}; training needs one of {', '.join(labels)}")


def batches(lengths: Sequence[int], size: int, order: np.random.Generator) -> list[list[int]]:
    """Every index once, in batches of similar length, in random order."""
    shuffled = order.permutation(len(lengths))
    cut: list[list[int]] = []
    for start in range(0, len(shuffled), size * _POOL):
        pool = sorted((int(i) for i in shuffled[start : start + size * _POOL]), key=lambda i: lengths[i])
        cut += [pool[i : i + size] for i in range(0, len(pool), size)]
    return [cut[i] for i in order.permutation(len(cut))]


def collate(tokenizer: Any, features: Sequence[Features], device: torch.device) -> dict[str, Tensor]:
    """Some rows as one padded batch on a device."""
    padded = tokenizer.pad(list(features), return_tensors="pt")
    return {name: tensor.to(device) for name, tensor in padded.items()}


def mask_token(tokenizer: Any, name: str) -> int:
    """The id of the mask token."""
    if tokenizer.mask_token_id is None:
        raise UserError(
            f"the tokenizer of {name!r} has no mask token: masked fine-tuning needs a masked language model (BERT, "
            "RoBERTa, DistilBERT, XLM-R, DeBERTa, ...)"
        )
    return int(tokenizer.mask_token_id)


def mask(features: Features, chosen: BoolArray, mask_id: int) -> Features:
    """A row with the chosen tokens masked; `chosen` has shape [tokens]."""
    ids = [mask_id if masked else i for i, masked in zip(features["input_ids"], chosen.tolist(), strict=True)]
    return {**features, "input_ids": ids}


def mask_at_random(features: Features, maskable: BoolArray, mask_id: int, rng: np.random.Generator) -> Features:
    """A row with each maskable token masked at random, at a rate drawn for this row from [0, 1]."""
    rate = rng.random()
    return mask(features, maskable & (rng.random(len(maskable)) < rate), mask_id)


def masked_batch(
    rows: Rows, chosen: Sequence[int], masking: Masking, mask_id: int | None, rng: np.random.Generator
) -> list[Features]:
    """The chosen rows as a mini-batch of masked fine-tuning (Algorithm 1): every row or every second one is masked."""
    if masking == "none" or mask_id is None:
        return [rows.features[i] for i in chosen]
    return [
        rows.features[i]
        if masking == "half" and place % 2 == 0
        else mask_at_random(rows.features[i], rows.maskable[i], mask_id, rng)
        for place, i in enumerate(chosen)
    ]


def masked_copy(rows: Rows, mask_id: int, rng: np.random.Generator) -> Rows:
    """Every row masked at random, each at its own rate."""
    return _map_features(rows, lambda features, maskable: mask_at_random(features, maskable, mask_id, rng))


def fully_masked(rows: Rows, mask_id: int) -> Rows:
    """Every row with all its maskable tokens masked."""
    return _map_features(rows, lambda features, maskable: mask(features, maskable, mask_id))


def _map_features(rows: Rows, change: Callable[[Features, BoolArray], Features]) -> Rows:
    return replace(rows, features=tuple(map(change, rows.features, rows.maskable)))
