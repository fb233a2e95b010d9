"""Beam search for the order of removal that reduces the target most."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import ClassVar

import numpy as np

from verax.engine.questions import Outputs, QuestionGenerator, resolve
from verax.models.subject import Subject
from verax.types import Attribution, FloatArray, Kind, Passes, Removal, Target, UserError

Order = tuple[int, ...]


@dataclass(frozen=True)
class Beam:
    """Words in the order of removal that maximises the sum over steps of f(x) - f(x without the removed words).

    After each step the `width` best orders are kept; of orders that remove the same words only the better one. The word
    that is removed first gets the score n, the last one 1.

    Args:
        target: what of the model is explained.
        width: number of orders that are kept.
        removal: how words are removed.
    """

    target: Target = Target()
    width: int = 10
    removal: Removal = "mask"

    name: ClassVar[str] = "beam"
    display: ClassVar[str] = "Beam"
    summary: ClassVar[str] = "Order of removal that lowers the target most, by beam search."
    cost: ClassVar[str] = "about width n^2 / 2 forward"
    kind: ClassVar[Kind] = "token"
    recursive: ClassVar[bool] = True
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Zhou and Shah 2023, The solvability of interpretability evaluation metrics"

    def __post_init__(self) -> None:
        if self.width < 1:
            raise UserError(f"beam: width: got {self.width}, it must be at least 1")

    def passes(self, n: int) -> Passes:
        """At each step every order of the beam with each of its remaining words, and the full input."""
        return Passes(1 + sum(min(comb(n, k + 1), min(self.width, comb(n, k)) * (n - k)) for k in range(n - 1)), 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question for each step: the input without each new set of removed words."""
        n = x.n_units
        full: FloatArray = yield Outputs(x, np.empty((0, n), bool), and_full=True)
        readout = yield from resolve(self.target, x)
        whole = float(readout(full)[0])
        beam: dict[frozenset[int], tuple[float, Order]] = {frozenset(): (0.0, ())}
        for _ in range(n - 1):
            longer = _longer(beam, n)
            keep = np.ones((len(longer), n), bool)
            for row, removed in zip(keep, longer, strict=True):
                row[list(removed)] = False
            logits: FloatArray = yield Outputs(x, keep, self.removal)
            drops = whole - readout(logits)
            reached = [
                (total + float(drop), order, removed)
                for (removed, (total, order)), drop in zip(longer.items(), drops, strict=True)
            ]
            reached.sort(key=lambda candidate: (-candidate[0], candidate[1]))
            beam = {removed: (total, order) for total, order, removed in reached[: self.width]}
        # one word remains in every order, and removing it is the same step for all of them
        total, order = min(_longer(beam, n).values(), key=lambda candidate: (-candidate[0], candidate[1]))
        scores = np.empty(n)
        scores[list(order)] = np.arange(n, 0, -1)
        return x.attribution(scores, cumulative_drop=total)


def _longer(beam: dict[frozenset[int], tuple[float, Order]], n: int) -> dict[frozenset[int], tuple[float, Order]]:
    """Every order of the beam with one more word; of those that remove the same words, the better (first if equal).

    The totals are still those of the shorter orders.
    """
    longer: dict[frozenset[int], tuple[float, Order]] = {}
    for removed, (total, order) in beam.items():
        for word in range(n):
            if word in removed:
                continue
            known = longer.get(removed | {word})
            if known is None or (-total, (*order, word)) < (-known[0], known[1]):
                longer[removed | {word}] = (total, (*order, word))
    return longer
