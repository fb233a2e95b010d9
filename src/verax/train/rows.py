"""Instances as rows of token ids for training, with the tokens that may be masked, in batches of about equal length."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from verax.models.hf_encoder import max_length
from verax.models.labels import class_of
from verax.types import BoolArray, Dataset, Instance, UserError

Batch = dict[str, Tensor]
Row = dict[str, list[int]]
_POOL = 32
"""Batches are cut from pools of this many, sorted by length: little padding, and the order is still random."""


@dataclass(frozen=True, eq=False, slots=True)
class Rows:
    """Encoded instances, not padded, cut at the model's length.

    Args:
        columns: token ids and what else the tokenizer gives, of each instance.
        maskable: which tokens may be masked, shape [tokens] each: never those that the encoding adds.
        golds: number of each gold class among the model's classes, shape [rows].
    """

    columns: tuple[Row, ...]
    maskable: tuple[BoolArray, ...]
    golds: Tensor

    def __len__(self) -> int:
        return len(self.columns)


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
        parts: whose tokens may be masked; None: all.
        longest: cut there, if it is less than the model can read.
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
    namespace = max_length(model.config, tokenizer)
    encoded = tokenizer(
        *(list(part) for part in texts), truncation=True, max_length=min(namespace, longest or namespace)
    )
    columns = tuple({name: encoded[name][row] for name in encoded} for row in range(len(dataset)))
    maskable = tuple(
        np.array([part is not None and (parts is None or part in parts) for part in encoded.sequence_ids(row)])
        for row in range(len(dataset))
    )
    return Rows(columns, maskable, golds)


def check_parts(instances: Sequence[Instance]) -> None:
    """Refuse instances of more parts than a classifier reads, or of different numbers of parts."""
    counts = {len(instance.parts): instance.id for instance in instances}
    for count, name in counts.items():
        if count > 2 or len(counts) > 1:
            raise UserError(f"instance {name!r} has {count} part(s); a classifier reads one, or two, in all instances")


def gold_classes(model: Any, dataset: Dataset) -> Tensor:
    """The number of each instance's gold class among the model's classes; shape [instances]."""
    names = [model.config.id2label[number] for number in range(model.config.num_labels)]
    golds = []
    for instance in dataset.instances:
        gold = class_of(instance.label, names)
        if gold is None:
            what = "has no label" if instance.label is None else f"has the label {instance.label!r}"
            known = ", ".join(names)
            raise UserError(f"{dataset.name}: instance {instance.id!r} {what}; training needs one of {known}")
        golds.append(gold)
    return torch.tensor(golds, dtype=torch.long)


def batches(lengths: Sequence[int], size: int, order: np.random.Generator) -> list[list[int]]:
    """Every index once, in batches of about equal length, in random order."""
    shuffled = order.permutation(len(lengths))
    cut: list[list[int]] = []
    for start in range(0, len(shuffled), size * _POOL):
        pool = sorted((int(i) for i in shuffled[start : start + size * _POOL]), key=lambda i: lengths[i])
        cut += [pool[i : i + size] for i in range(0, len(pool), size)]
    return [cut[i] for i in order.permutation(len(cut))]


def collate(tokenizer: Any, rows: Sequence[Row], device: torch.device) -> Batch:
    """Encoded rows as one padded batch on the model's device."""
    padded = tokenizer.pad(list(rows), return_tensors="pt")
    return {name: tensor.to(device) for name, tensor in padded.items()}
