"""Simulatability: does an agent that sees the explanation predict the model's answer better than one that does not?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from verax.metrics.budget import Budget, Matched, check_budget
from verax.metrics.simulatability.insertion import Insertion, with_explanation
from verax.models.subject import Subject
from verax.train.loop import FineTuning
from verax.types import Highlight, Instance, Measured, Passes, Undefined, UserError


class Answers(NamedTuple):
    """Numbers of classes: that of the model, and those predicted by the agents of each seed, with and without."""

    model: int
    shown: tuple[int, ...]
    without: tuple[int, ...]


@dataclass(frozen=True)
class Simulatability:
    """Share of agents that predict the model's class given the explanation, minus the share without it.

    An agent has the architecture of the model and learns to predict the model's class. It is trained on 60 % of the
    inputs, its best epoch is selected on 20 %, and it is measured on the rest. The predicted classes are kept, from
    which macro F1 on the data set, SF and RSF are computed.

    Args:
        insertion: how the explanation is inserted into the input: `symbol` or `text`.
        k: as many words are shown as the top k span pairs contain.
        budget: `base` takes the span pairs of the same base; `shared` the mean over all span explanations of the run.
        seeds: number of agents for each method, and of agents without explanations.
        base: the checkpoint that agents start from; by default the base of the model, if it is known.
        epochs, learning_rate, batch_size: of their training.
        seed: of the split into training, selection and test inputs.
    """

    insertion: Insertion = "symbol"
    k: int = 1
    budget: Matched = "base"
    seeds: int = 3
    base: str | None = None
    epochs: int = 10
    learning_rate: float = 5e-5
    batch_size: int = 16
    seed: int = 0

    name: ClassVar[str] = "simulatability"
    display: ClassVar[str] = "Simulatability"
    summary: ClassVar[str] = (
        "Whether agents that see the explanation predict the model's class better; gives SF and RSF."
    )
    cost: ClassVar[str] = "none; trains `seeds` agents per method, and `seeds` without explanations"
    measures: ClassVar[str] = "simulatability"
    needs: ClassVar[frozenset[str]] = frozenset({"agents"})
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Sun, Atanasova and Augenstein 2024, Equations 12 to 15 and Appendix B"
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float | None, float | None]] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        check_budget("simulatability", self.k, None)
        for name in ("seeds", "epochs", "batch_size"):
            if getattr(self, name) < 1:
                raise UserError(f"simulatability: {name}: got {getattr(self, name)}, it must be at least 1")
        if not 0 < self.learning_rate < 1:
            raise UserError(f"simulatability: learning_rate: got {self.learning_rate:g}, it must lie between 0 and 1")

    def passes(self, n: int) -> Passes:
        """No pass of the model: the agents are asked."""
        return Passes(0, 0)

    def shown(self, instance: Instance, highlight: Highlight, budget: Budget) -> tuple[str, ...]:
        """The parts of an instance as an agent with explanations reads them."""
        return with_explanation(instance, highlight, budget.at(self.k), self.insertion)

    def recipe(self, number: int) -> FineTuning:
        """Training of the agents of one seed."""
        return FineTuning(epochs=self.epochs, batch_size=self.batch_size, learning_rate=self.learning_rate, seed=number)

    def __call__(self, x: Subject, highlight: Highlight, *, agents: Mapping[str, Answers]) -> Measured:
        """The difference of the shares, and every class that was named.

        Args:
            agents: what the agents answered, by instance; those that they learned from are not there.
        """
        if highlight.instance_id not in agents:
            raise Undefined("not_held_out", "the agents learned from it")
        model, shown, without = agents[highlight.instance_id]
        right = [float(np.mean([named == model for named in group])) for group in (shown, without)]
        series = {"model": (float(model),), "with": tuple(map(float, shown)), "without": tuple(map(float, without))}
        return Measured(right[0] - right[1], series=series)
