"""Fine-tuning of a sequence classifier, plain or masked: AdamW, warm-up and decay, the best epoch is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from verax.models.first_position import last_layer, only_first_position
from verax.stats.performance import performance
from verax.train.masking import NAMES, Masking, Selection, mask_token, masked_batch, masked_copy
from verax.train.measure import counts
from verax.train.resume import Resume, Weights, generator_state, read_weights, write_weights
from verax.train.rows import Batch, Rows, batches, collate, encode
from verax.types import Dataset, FloatArray, Performance, UserError

_DRAWN_FOR = {"masks": 1, "validation": 2}
"""What else is drawn from a seed, so that none of it moves with the order of the instances."""


@dataclass(frozen=True, slots=True)
class FineTuning:
    """The recipe.

    Args:
        epochs: passes over the training data; the one with the best validation performance is kept (the first of
            equals).
        batch_size: instances for each step of the optimiser.
        learning_rate: its peak, reached after the warm-up; from there it falls to zero in a straight line.
        warmup: share of all optimiser steps over which the learning rate rises.
        weight_decay: AdamW's, on all weights but biases and norms.
        max_grad_norm: longer gradients are shortened to this.
        masking: what is masked in training: `none`, `masking` (every instance) or `half` (every other one of each
            mini-batch), each at a rate drawn from [0, 1].
        parts: whose tokens are masked; None: all.
        longest: inputs are cut at so many tokens; None: at the model's length.
        seed: for the order of instances, dropout, and masks.
    """

    epochs: int = 3
    batch_size: int = 16
    learning_rate: float = 2e-5
    warmup: float = 0.06
    weight_decay: float = 0.01
    max_grad_norm: float = 1.0
    masking: Masking = "none"
    parts: tuple[int, ...] | None = None
    longest: int | None = None
    seed: int = 0


@dataclass(slots=True)
class Trained:
    """What happened.

    Args:
        losses: mean training loss of each epoch.
        curves: validation performance of each epoch, on the validation set as it is (`none`) and, if any masking is
            involved, on a masked copy (`masking`) and on the two together (`both`).
        best: for each selection that was asked for the epoch with the best performance, counted from 0.
    """

    losses: list[float] = field(default_factory=list)
    curves: dict[Selection, list[float]] = field(default_factory=dict)
    best: dict[Selection, int] = field(default_factory=dict)


def fit(
    model: Any,
    tokenizer: Any,
    train: Dataset,
    validation: Dataset,
    recipe: FineTuning,
    *,
    select: Sequence[Selection] = ("none",),
    resume: Resume | None = None,
    console: Console | None = None,
) -> tuple[Trained, dict[Selection, Weights]]:
    """Train a model in place and leave it, in evaluation mode, with the best weights by the first selection.

    The same seed, data and number of threads give the same bits, also if the training was killed and went on; the
    caller's random state is left alone.

    Args:
        select: what the best epoch is chosen on; several give several models of one training.
        resume: where the state after each epoch is kept, and gone on from.

    Returns:
        What happened, and the best weights by each selection.
    """
    rows = [encode(model, tokenizer, data, parts=recipe.parts, longest=recipe.longest) for data in (train, validation)]
    options: dict[str, Any] = {"select": select, "resume": resume, "console": console}
    return fit_rows(model, tokenizer, rows[0], rows[1], validation.metric, recipe, **options)


def fit_rows(
    model: Any,
    tokenizer: Any,
    train: Rows,
    validation: Rows,
    metric: Performance,
    recipe: FineTuning,
    *,
    select: Sequence[Selection] = ("none",),
    resume: Resume | None = None,
    console: Console | None = None,
) -> tuple[Trained, dict[Selection, Weights]]:
    """The same on rows that are encoded already; `metric` tells the best epoch."""
    for name, rows in (("train", train), ("validation", validation)):
        if not len(rows):
            raise UserError(f"{name}: the dataset is empty")
    training = _Training(model, tokenizer, recipe, tuple(select), train, validation, metric, resume)
    with torch.random.fork_rng():
        torch.manual_seed(recipe.seed)
        training.run(console or Console(stderr=True))
    model.load_state_dict(training.weights[select[0]])
    model.eval()
    return training.trained, training.weights


class _Training:
    """One training on its way."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        recipe: FineTuning,
        select: tuple[Selection, ...],
        train: Rows,
        validation: Rows,
        metric: Performance,
        resume: Resume | None,
    ) -> None:
        self.model, self.tokenizer, self.recipe, self.select, self.resume = model, tokenizer, recipe, select, resume
        masked = recipe.masking != "none" or any(selection != "none" for selection in select)
        self.mask_id = mask_token(tokenizer, model.config.name_or_path) if masked else None
        self.rows = train
        self.watched = Watched.of(validation, metric, self.mask_id, recipe.seed)
        self.optimiser = torch.optim.AdamW(parameter_groups(model, recipe.weight_decay), lr=recipe.learning_rate)
        self.order = np.random.default_rng(recipe.seed)
        self.steps_each = -(-len(self.rows) // recipe.batch_size)
        self.trained = Trained()
        self.weights: dict[Selection, Weights] = {}

    def run(self, console: Console) -> None:
        begun = self._go_on()
        with _progress(console) as progress:
            total = self.recipe.epochs * self.steps_each
            bar = progress.add_task("training", total=total, completed=begun * self.steps_each)
            for epoch in range(begun, self.recipe.epochs):
                self.trained.losses.append(self._epoch(epoch, progress, bar))
                figures = self.watched.measure(self.model, self.tokenizer)
                for selection, value in figures.items():
                    self.trained.curves.setdefault(selection, []).append(value)
                self._keep_best(epoch)
                self._save(epoch)
                shown = ", ".join(f"{NAMES[name]} {value:.4f}" for name, value in figures.items())
                console.print(f"epoch {epoch + 1}: loss {self.trained.losses[-1]:.3f}, {shown}", highlight=False)

    def _epoch(self, epoch: int, progress: Progress, bar: TaskID) -> float:
        """One pass over the training data; the mean loss."""
        recipe, total = self.recipe, 0.0
        masks = np.random.default_rng([recipe.seed, epoch, _DRAWN_FOR["masks"]])
        lengths = [len(row["input_ids"]) for row in self.rows.columns]
        self.model.train()
        # the last layer for the first position alone: the same loss and gradients, for less work
        with only_first_position(last_layer(self.model), whole_attention=True):
            for number, chosen in enumerate(batches(lengths, recipe.batch_size, self.order)):
                rows = masked_batch(self.rows, chosen, recipe.masking, self.mask_id, masks)
                batch = collate(self.tokenizer, rows, self.model.device)
                total += self._step(epoch * self.steps_each + number, batch, self.rows.golds[chosen]) * len(chosen)
                progress.advance(bar)
        return total / len(self.rows)

    def _step(self, step: int, batch: Batch, golds: Tensor) -> float:
        steps = self.recipe.epochs * self.steps_each
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.learning_rate * rate(step, steps, self.recipe.warmup)
        loss = nn.functional.cross_entropy(self.model(**batch).logits, golds.to(self.model.device))
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.max_grad_norm)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return loss.item()

    def _keep_best(self, epoch: int) -> None:
        for selection in self.select:
            values = self.trained.curves[selection]
            if values[-1] == max(values) and values.index(max(values)) == epoch:
                self.trained.best[selection] = epoch
                state = self.model.state_dict()
                self.weights[selection] = {name: tensor.detach().clone() for name, tensor in state.items()}

    def _save(self, epoch: int) -> None:
        if self.resume is None:
            return
        best = {selection: self.resume.best(selection, at) for selection, at in self.trained.best.items()}
        for selection, path in best.items():
            if self.trained.best[selection] == epoch:
                write_weights(path, self.weights[selection])
        trained = {"losses": self.trained.losses, "curves": self.trained.curves, "best": self.trained.best}
        facts = {"epoch": epoch, "order": generator_state(self.order), "trained": trained}
        self.resume.save(self.model, self.optimiser, facts)
        self.resume.forget(set(best.values()))

    def _go_on(self) -> int:
        """The epoch to begin with."""
        facts = None if self.resume is None else self.resume.load(self.model, self.optimiser)
        if facts is None or self.resume is None:
            return 0
        self.trained = Trained(**facts["trained"])
        self.order.bit_generator.state = facts["order"]
        for selection, epoch in self.trained.best.items():
            self.weights[selection] = read_weights(self.resume.best(selection, epoch))[0]
        return int(facts["epoch"]) + 1


@dataclass(frozen=True, eq=False, slots=True)
class Watched:
    """The validation set as it is, and a copy masked once and for all, so that epochs can be compared."""

    plain: Rows
    masked: Rows | None
    metric: Performance

    @classmethod
    def of(cls, rows: Rows, metric: Performance, mask_id: int | None, seed: int) -> Watched:
        """Draw the masks of the copy, if masks are involved at all."""
        rng = np.random.default_rng([seed, _DRAWN_FOR["validation"]])
        return cls(rows, None if mask_id is None else masked_copy(rows, mask_id, rng), metric)

    def measure(self, model: Any, tokenizer: Any) -> dict[Selection, float]:
        """The performance by each selection."""
        plain = counts(model, tokenizer, self.plain)
        found: dict[Selection, FloatArray] = {"none": plain}
        if self.masked is not None:
            masked = counts(model, tokenizer, self.masked)
            found |= {"masking": masked, "both": plain + masked}
        return {selection: float(performance(sums, self.metric)) for selection, sums in found.items()}


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


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    )
