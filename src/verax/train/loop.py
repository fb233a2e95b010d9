"""The training loop: AdamW with warm-up and linear decay; the best epoch is kept; interrupted trainings continue."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from verax.engine.batches import is_out_of_memory
from verax.models.devices import half_precision
from verax.results.render.console import TerminalConsole
from verax.train.resume import Resume, Weights, random_state, read_weights, set_random_state, write_weights
from verax.train.rows import Masking, Selection
from verax.types import UserError

T = TypeVar("T")
R = TypeVar("R")
Autocast = Literal["bfloat16", "float16"]


@dataclass(frozen=True, slots=True)
class FineTuning:
    """The recipe of a fine-tuning.

    Args:
        epochs: passes over the training data; the epoch with the best validation performance is kept, the first one if
            several are equal.
        batch_size: instances per optimiser step.
        learning_rate: peak, reached after the warm-up; it then decays linearly to zero.
        warmup: share of all optimiser steps over which the learning rate rises.
        weight_decay: of AdamW, on all weights except biases and norms.
        max_grad_norm: longer gradients are clipped.
        masking: what is masked in training: `none`, `masking` (every instance) or `half` (every other one of each
            mini-batch), each at a rate drawn from [0, 1].
        parts: the parts whose tokens are masked; None for all.
        longest: inputs are truncated to this many tokens; None for the length of the model.
        seed: for the order of instances, dropout and masks.
        autocast: precision of the matrix products in training; weights, sums and the optimiser stay in float32. None:
            float32 too.
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
    autocast: Autocast | None = None

    def as_dict(self) -> dict[str, Any]:
        """Its fields, for keys and model cards; without autocast if there is none, as before there was any."""
        fields = asdict(self)
        return fields if self.autocast else {name: value for name, value in fields.items() if name != "autocast"}


@dataclass(slots=True)
class Trained:
    """The history of a training.

    Args:
        losses: mean training loss of each epoch.
        curves: validation performance after each epoch on the set itself (`none`) and, if masking is involved, on a
            masked copy (`masking`) and on both (`both`); for an editor also its success rate (`success`).
        best: index of the best epoch by each requested selection.
    """

    losses: list[float] = field(default_factory=list)
    curves: dict[str, list[float]] = field(default_factory=dict)
    best: dict[Selection, int] = field(default_factory=dict)


class _EpochSoFar(NamedTuple):
    """The part of an epoch that is done: optimiser steps, and the loss summed over its items."""

    steps: int = 0
    loss: float = 0.0
    items: int = 0


class Loop(ABC):
    """One training; a subclass defines its mini-batches and how epochs are compared.

    Args:
        micro_batch: inputs that are computed at once; the gradients of a mini-batch are summed over its pieces. It is
            halved when memory runs out.
    """

    def __init__(
        self,
        model: Any,
        recipe: FineTuning,
        select: tuple[Selection, ...],
        size: int,
        resume: Resume | None,
        micro_batch: int | None = None,
    ) -> None:
        self.model, self.recipe, self.select, self.resume = model, recipe, select, resume
        self.micro_batch = min(micro_batch or recipe.batch_size, recipe.batch_size)
        self.optimiser = torch.optim.AdamW(parameter_groups(model, recipe.weight_decay), lr=recipe.learning_rate)
        self._products = None if recipe.autocast is None else half_precision(recipe.autocast, model.device)
        # small gradients vanish in float16 unless they are scaled
        scaled = self._products == torch.float16
        self._scaler = torch.amp.GradScaler(model.device.type if scaled else "cpu", enabled=scaled)
        self.order = np.random.default_rng(recipe.seed)
        self.steps_per_epoch = -(-size // recipe.batch_size)
        self.trained = Trained()
        self.weights: dict[Selection, Weights] = {}
        self.console: Console = TerminalConsole(stderr=True)
        self._done = _EpochSoFar()
        self._saved_at = time.monotonic()

    @abstractmethod
    def _batches(self, epoch: int) -> Generator[Sequence[Any]]:
        """The rows of each mini-batch of an epoch; all that is random about them is drawn here."""

    @abstractmethod
    def _loss(self, rows: Sequence[Any]) -> tuple[Tensor, int]:
        """The loss summed over the items of some rows, and the number of items."""

    @abstractmethod
    def _items(self, rows: Sequence[Any]) -> int:
        """The number of items of some rows, without computing their loss."""

    @abstractmethod
    def _validate(self) -> Mapping[str, float]:
        """Validation performance after an epoch, by each selection, and what else is recorded."""

    @abstractmethod
    def _describe(self, values: Mapping[str, float]) -> str:
        """The validation performance as text."""

    def train(self, console: Console | None, on_epoch: Callable[[int], object] = lambda _: None) -> None:
        """Train, and leave the model in evaluation mode with the best weights by the first selection.

        The random state of the caller does not change.
        """
        with torch.random.fork_rng():
            torch.manual_seed(self.recipe.seed)
            self.console = console or self.console
            self._run(self.console, on_epoch)
        self.model.load_state_dict(self.weights[self.select[0]])
        self.model.eval()

    def _run(self, console: Console, on_epoch: Callable[[int], object]) -> None:
        first = self._continue()
        if first:
            on_epoch(first)
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console) as progress:
            total = self.recipe.epochs * self.steps_per_epoch
            done = first * self.steps_per_epoch + self._done.steps
            bar = progress.add_task("training", total=total, completed=done)
            for epoch in range(first, self.recipe.epochs):
                self.trained.losses.append(self._epoch(epoch, progress, bar))
                values = self._validate()
                for selection, value in values.items():
                    self.trained.curves.setdefault(selection, []).append(value)
                self._keep_best(epoch)
                self._save(epoch)
                on_epoch(epoch + 1)
                loss = self.trained.losses[-1]
                console.print(f"epoch {epoch + 1}: loss {loss:.3f}, {self._describe(values)}", highlight=False)

    def _epoch(self, epoch: int, progress: Progress, bar: TaskID) -> float:
        """One pass over the training data; returns the mean loss."""
        done, self._done = self._done, _EpochSoFar()
        order = self.order.bit_generator.state  # from which the same mini-batches are drawn again
        self.model.train()
        with closing(self._batches(epoch)) as batches:
            for number, rows in enumerate(batches):
                if number < done.steps:  # before the interruption
                    continue
                loss = self._step(epoch * self.steps_per_epoch + number, rows)
                done = _EpochSoFar(number + 1, done.loss + loss, done.items + self._items(rows))
                progress.advance(bar)
                if self.resume is not None and time.monotonic() - self._saved_at >= 60 * self.resume.save_every:
                    self._save_within(epoch, done, order)
        return done.loss / done.items

    def _step(self, step: int, rows: Sequence[Any]) -> float:
        """One step of the optimiser; returns the loss of the mini-batch, summed over its items."""
        steps = self.recipe.epochs * self.steps_per_epoch
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.learning_rate * rate(step, steps, self.recipe.warmup)
        loss = self._gradients(rows)
        self._scaler.unscale_(self.optimiser)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.max_grad_norm)
        self._scaler.step(self.optimiser)
        self._scaler.update()
        self.optimiser.zero_grad(set_to_none=True)
        return loss

    def _gradients(self, rows: Sequence[Any]) -> float:
        """Gradients of the mean loss of a mini-batch, computed piece by piece; returns the summed loss."""
        items, random = self._items(rows), random_state(self.model)
        while True:
            size, total = self.micro_batch, 0.0
            try:
                for start in range(0, len(rows), size):
                    with torch.autocast(self.model.device.type, self._products, enabled=self._products is not None):
                        loss, _ = self._loss(rows[start : start + size])
                    self._scaler.scale(loss / items).backward()  # type: ignore[no-untyped-call]
                    total += loss.item()
                return total
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                if size == 1:
                    raise UserError(
                        "batch_size: a single input does not fit into memory; leave out long inputs with longest, or "
                        "train a smaller model"
                    ) from error
            # some weights have the gradients of the piece that failed: the whole mini-batch starts again
            self.optimiser.zero_grad(set_to_none=True)
            set_random_state(self.model, random)
            self.micro_batch = min(size, len(rows)) // 2 or 1
            self.console.print(f"out of memory: {self.micro_batch} inputs at once from now on", highlight=False)

    def _keep_best(self, epoch: int) -> None:
        for selection in self.select:
            if self._is_best(selection, epoch):
                self.trained.best[selection] = epoch
                state = self.model.state_dict()
                self.weights[selection] = {name: tensor.detach().to("cpu", copy=True) for name, tensor in state.items()}

    def _is_best(self, selection: Selection, epoch: int) -> bool:
        """Whether this epoch, the last one so far, is the first with the best validation performance."""
        values = self.trained.curves[selection]
        return values.index(max(values)) == epoch

    def _save(self, epoch: int) -> None:
        if self.resume is None:
            return
        best = {selection: self.resume.best(selection, at) for selection, at in self.trained.best.items()}
        for selection, path in best.items():
            if self.trained.best[selection] == epoch:
                write_weights(path, self.weights[selection])
        facts = {"epoch": epoch, "order": self.order.bit_generator.state, "trained": asdict(self.trained)}
        facts["scaler"] = self._scaler.state_dict()
        self.resume.save(self.model, self.optimiser if epoch + 1 < self.recipe.epochs else None, facts)
        self.resume.remove_best_except(set(best.values()))
        self._saved_at = time.monotonic()

    def _save_within(self, epoch: int, done: _EpochSoFar, order: Mapping[str, Any]) -> None:
        """Store the state in the middle of an epoch."""
        assert self.resume is not None  # noqa: S101 - asked by the caller
        facts = {"epoch": epoch - 1, "order": order, "trained": asdict(self.trained), "done": list(done)}
        facts["scaler"] = self._scaler.state_dict()
        self.resume.save(self.model, self.optimiser, facts)
        self._saved_at = time.monotonic()

    def _continue(self) -> int:
        """Restore the state of an interrupted training; returns the epoch to start with."""
        facts = None if self.resume is None else self.resume.load(self.model, self.optimiser)
        if facts is None or self.resume is None:
            return 0
        self.trained = Trained(**facts["trained"])
        self.order.bit_generator.state = facts["order"]
        if facts.get("scaler"):
            self._scaler.load_state_dict(facts["scaler"])
        self._done = _EpochSoFar(*facts.get("done", ()))
        for selection, epoch in self.trained.best.items():
            self.weights[selection] = read_weights(self.resume.best(selection, epoch))[0]
        return int(facts["epoch"]) + 1


def in_pieces(rows: Sequence[T], size: int, compute: Callable[[Sequence[T]], R]) -> Iterator[R]:
    """Results of pieces of some rows, in order; pieces are halved from the first one that does not fit into memory."""
    start = 0
    while start < len(rows):
        try:
            result = compute(rows[start : start + size])
        except Exception as error:
            size = min(size, len(rows) - start) // 2
            if not size or not is_out_of_memory(error):
                raise
            continue
        start += size
        yield result


def rate(step: int, steps: int, warmup: float) -> float:
    """The learning rate at an optimiser step, as a share of its peak: linear warm-up, then linear decay to zero."""
    rising = round(warmup * steps)
    return (step + 1) / (rising + 1) if step < rising else (steps - step) / max(1, steps - rising)


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict[str, Any]]:
    """The parameters in two groups: matrices decay; biases and norms, which have one axis, do not."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    return [
        {"params": [weight for weight in trained if weight.ndim > 1], "weight_decay": weight_decay},
        {"params": [weight for weight in trained if weight.ndim <= 1], "weight_decay": 0.0},
    ]
