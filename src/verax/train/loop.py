"""What every fine-tuning does, epoch by epoch: AdamW, warm-up and decay; the best is kept; a killed one goes on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from torch import Tensor, nn

from verax.train.masking import Masking, Selection
from verax.train.resume import Resume, Weights, generator_state, read_weights, write_weights


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
        curves: what was measured on the validation set after each epoch, on the set as it is (`none`) and, if any
            masking is involved, on a masked copy (`masking`) and on the two together (`both`).
        best: for each selection that was asked for the epoch with the best performance, counted from 0.
    """

    losses: list[float] = field(default_factory=list)
    curves: dict[Selection, list[float]] = field(default_factory=dict)
    best: dict[Selection, int] = field(default_factory=dict)


class Loop(ABC):
    """One training on its way; a kind of it says what a mini-batch is and how epochs are compared.

    Args:
        model: trained in place.
        recipe: how.
        select: what the best epoch is chosen on.
        size: how many things there are to train on.
        resume: where the state after each epoch is kept, and gone on from.
    """

    lowest: ClassVar[bool] = False
    """Whether the best of the measured values is the lowest of them."""

    def __init__(
        self, model: Any, recipe: FineTuning, select: tuple[Selection, ...], size: int, resume: Resume | None
    ) -> None:
        self.model, self.recipe, self.select, self.resume = model, recipe, select, resume
        self.optimiser = torch.optim.AdamW(parameter_groups(model, recipe.weight_decay), lr=recipe.learning_rate)
        self.order = np.random.default_rng(recipe.seed)
        self.steps_each = -(-size // recipe.batch_size)
        self.trained = Trained()
        self.weights: dict[Selection, Weights] = {}

    @abstractmethod
    def _losses(self, epoch: int) -> Generator[tuple[Tensor, int]]:
        """The mean loss of each mini-batch in turn, and over how many things it is the mean."""

    @abstractmethod
    def _measured(self) -> dict[Selection, float]:
        """How good the model is after an epoch, by each selection."""

    @abstractmethod
    def _told(self, figures: dict[Selection, float]) -> str:
        """The same for people."""

    def finish(self, console: Console | None) -> None:
        """Train, and leave the model in evaluation mode with the best weights by the first selection.

        The caller's random state is left alone.
        """
        with torch.random.fork_rng():
            torch.manual_seed(self.recipe.seed)
            self.run(console or Console(stderr=True))
        self.model.load_state_dict(self.weights[self.select[0]])
        self.model.eval()

    def run(self, console: Console) -> None:
        """Every epoch that is still to come."""
        begun = self._go_on()
        with _progress(console) as progress:
            total = self.recipe.epochs * self.steps_each
            bar = progress.add_task("training", total=total, completed=begun * self.steps_each)
            for epoch in range(begun, self.recipe.epochs):
                self.trained.losses.append(self._epoch(epoch, progress, bar))
                figures = self._measured()
                for selection, value in figures.items():
                    self.trained.curves.setdefault(selection, []).append(value)
                self._keep_best(epoch)
                self._save(epoch)
                shown = f"epoch {epoch + 1}: loss {self.trained.losses[-1]:.3f}, {self._told(figures)}"
                console.print(shown, highlight=False)

    def _epoch(self, epoch: int, progress: Progress, bar: TaskID) -> float:
        """One pass over the training data; the mean loss."""
        total, count = 0.0, 0
        self.model.train()
        with closing(self._losses(epoch)) as losses:
            for number, (loss, things) in enumerate(losses):
                total += self._step(epoch * self.steps_each + number, loss) * things
                count += things
                progress.advance(bar)
        return total / count

    def _step(self, step: int, loss: Tensor) -> float:
        steps = self.recipe.epochs * self.steps_each
        for group in self.optimiser.param_groups:
            group["lr"] = self.recipe.learning_rate * rate(step, steps, self.recipe.warmup)
        loss.backward()  # type: ignore[no-untyped-call]
        nn.utils.clip_grad_norm_(self.model.parameters(), self.recipe.max_grad_norm)
        self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return loss.item()

    def _keep_best(self, epoch: int) -> None:
        for selection in self.select:
            values = self.trained.curves[selection]
            if values.index(min(values) if self.lowest else max(values)) == epoch:
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
