"""Plain training of a Hugging Face sequence classifier: AdamW, warm-up and decay, the best epoch is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from verax.models.first_position import last_layer, only_first_position
from verax.models.labels import class_of
from verax.types import Dataset, Instance, UserError

Batch = dict[str, Tensor]
_EVAL_BATCH = 256
_POOL = 32
"""Batches are cut from pools of this many, sorted by length: little padding, and the order is still random."""


@dataclass(frozen=True, slots=True)
class PlainTraining:
    """The recipe.

    Args:
        epochs: passes over the training data; the one with the best validation accuracy is kept (the first of equals).
        batch_size: instances for each step of the optimiser.
        learning_rate: its peak, reached after the warm-up; from there it falls to zero in a straight line.
        warmup: share of all optimiser steps over which the learning rate rises.
        weight_decay: AdamW's, on all weights but biases and norms.
        max_grad_norm: longer gradients are shortened to this.
        seed: for the order of instances and dropout.
    """

    epochs: int = 3
    batch_size: int = 16
    learning_rate: float = 2e-5
    warmup: float = 0.06
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Trained:
    """What happened: mean training loss and validation accuracy of each epoch, and the epoch that was kept (from 0)."""

    losses: tuple[float, ...]
    accuracies: tuple[float, ...]
    best_epoch: int


def fit(model: Any, tokenizer: Any, train: Dataset, validation: Dataset, recipe: PlainTraining) -> Trained:
    """Train a model in place and leave it, in evaluation mode, with the weights of its best epoch.

    The same seed, data and number of threads give the same bits; the caller's random state is left alone.
    """
    rows, golds = encode(tokenizer, train.instances), gold_classes(model, train)
    if not rows or not len(validation):
        raise UserError(f"{'train' if not rows else 'validation'}: the dataset is empty")
    steps = recipe.epochs * -(-len(rows) // recipe.batch_size)
    optimiser = torch.optim.AdamW(parameter_groups(model, recipe.weight_decay), lr=recipe.learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: rate(step, steps, recipe.warmup))
    order = np.random.default_rng(recipe.seed)
    losses, accuracies, best = [], [], -1.0
    kept: dict[str, Tensor] = {}
    cut = only_first_position(last_layer(model), whole_attention=True)  # the same loss and gradients, for less work
    with torch.random.fork_rng(), _progress() as progress, cut:
        torch.manual_seed(recipe.seed)
        bar = progress.add_task("training", total=steps, note="")
        for epoch in range(recipe.epochs):
            model.train()
            total = 0.0
            for chosen in batches([len(row["input_ids"]) for row in rows], recipe.batch_size, order):
                loss = _step(model, collate(tokenizer, [rows[i] for i in chosen]), golds[chosen], recipe.max_grad_norm)
                optimiser.step()
                schedule.step()
                optimiser.zero_grad(set_to_none=True)
                total += loss * len(chosen)
                progress.advance(bar)
            losses.append(total / len(rows))
            accuracies.append(accuracy(model, tokenizer, validation))
            progress.update(bar, note=f"epoch {epoch + 1}: loss {losses[-1]:.3f}, accuracy {accuracies[-1]:.4f}")
            if accuracies[-1] > best:
                best = accuracies[-1]
                kept = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    model.load_state_dict(kept)
    model.eval()
    return Trained(tuple(losses), tuple(accuracies), accuracies.index(best))


def _step(model: Any, batch: Batch, golds: Tensor, max_grad_norm: float) -> float:
    loss = nn.functional.cross_entropy(model(**batch).logits, golds)
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(model.parameters(), max_grad_norm)
    return loss.item()


def rate(step: int, steps: int, warmup: float) -> float:
    """The learning rate at an optimiser step, as a share of its peak: up in a straight line, then down to zero."""
    rising = round(warmup * steps)
    return (step + 1) / (rising + 1) if step < rising else (steps - step) / max(1, steps - rising)


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """Weights in two groups: matrices decay; biases and the weights of norms, which have one axis, do not."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    return [
        {"params": [weight for weight in trained if weight.ndim > 1], "weight_decay": weight_decay},
        {"params": [weight for weight in trained if weight.ndim <= 1], "weight_decay": 0.0},
    ]


def encode(tokenizer: Any, instances: Sequence[Instance]) -> list[dict[str, list[int]]]:
    """Token ids (and what else the tokenizer gives) of each instance, not padded, cut at the model's length."""
    counts = {len(instance.parts): instance.id for instance in instances}
    for count, name in counts.items():
        if count > 2 or len(counts) > 1:
            raise UserError(f"instance {name!r} has {count} part(s); a classifier reads one, or two, in all instances")
    if not instances:
        return []
    texts = zip(*((part.raw for part in instance.parts) for instance in instances), strict=True)
    columns = tokenizer(*(list(part) for part in texts), truncation=True)
    return [{name: columns[name][row] for name in columns} for row in range(len(instances))]


def gold_classes(model: Any, dataset: Dataset) -> Tensor:
    """The number of each instance's gold class among the model's classes; shape [instances]."""
    names = [model.config.id2label[number] for number in range(model.config.num_labels)]
    golds = []
    for instance in dataset.instances:
        gold = class_of(instance.label, names)
        if gold is None:
            raise UserError(f"instance {instance.id!r}: label {instance.label!r} is none of {', '.join(names)}")
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


def collate(tokenizer: Any, rows: Sequence[dict[str, list[int]]]) -> Batch:
    """Encoded rows as one padded batch."""
    return dict(tokenizer.pad(list(rows), return_tensors="pt"))


@torch.no_grad()
def accuracy(model: Any, tokenizer: Any, dataset: Dataset) -> float:
    """The share of instances whose gold class the model, in evaluation mode, ranks first."""
    model.eval()
    rows, golds = encode(tokenizer, dataset.instances), gold_classes(model, dataset)
    right = 0
    for start in range(0, len(rows), _EVAL_BATCH):
        logits = model(**collate(tokenizer, rows[start : start + _EVAL_BATCH])).logits
        right += int((logits.argmax(-1) == golds[start : start + _EVAL_BATCH]).sum())
    return right / len(rows)


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
