"""Beam search for the order of removal that reduces the target most."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import ClassVar, NamedTuple

import numpy as np

from verax.engine.questions import Outputs, QuestionGenerator, resolve_target
from verax.models.subject import Subject
from verax.types import Attribution, BoolArray, FloatArray, Kind, Passes, Removal, Target, require_at_least

Order = tuple[int, ...]


class _Orders(NamedTuple):
    """Orders of removal, each with the words that it removes and its total drop."""

    removed: BoolArray
    """Shape [orders, words]."""
    totals: list[float]
    orders: list[Order]

    def rank(self, number: int) -> tuple[float, Order]:
        """What sorts the best order first; equal totals go by the order itself."""
        return -self.totals[number], self.orders[number]

    def best(self, width: int) -> _Orders:
        """The best `width` orders, best first."""
        totals = np.array(self.totals)
        least = np.sort(totals)[-width] if len(totals) > width else -np.inf
        # the orders themselves, which grow with the input, are compared only among those that may be chosen
        chosen = sorted(np.flatnonzero(~(totals < least)).tolist(), key=self.rank)[:width]
        return _Orders(self.removed[chosen], [self.totals[i] for i in chosen], [self.orders[i] for i in chosen])


@dataclass(frozen=True)
class Beam:
    """Words in the order of removal that maximises the sum over steps of f(x) - f(x without the removed words).

    After each step the `width` best orders are kept; of orders that remove the same words only the better one. The word
    that is removed first gets the score n, the last one 1.

    Args:
        width: number of orders that are kept.
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
        require_at_least("beam", 1, width=self.width)

    def passes(self, n: int) -> Passes:
        """At each step every order of the beam with each of its remaining words, and the full input."""
        return Passes(1 + sum(min(comb(n, k + 1), min(self.width, comb(n, k)) * (n - k)) for k in range(n - 1)), 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question for each step: the input without each new set of removed words."""
        n = x.n_units
        full: FloatArray = yield Outputs(x, np.empty((0, n), bool), and_full=True)
        readout = yield from resolve_target(self.target, x)
        whole = float(readout(full)[0])
        beam = _Orders(np.zeros((1, n), bool), [0.0], [()])
        for _ in range(n - 1):
            longer = _longer(beam)
            logits: FloatArray = yield Outputs(x, ~longer.removed, self.removal)
            totals = np.array(longer.totals) + (whole - readout(logits))
            beam = longer._replace(totals=totals.tolist()).best(self.width)
        # one word remains in every order, and removing it is the same step for all of them
        last = _longer(beam)
        total, order = last.totals[0], last.orders[0]
        scores = np.empty(n)
        scores[list(order)] = np.arange(n, 0, -1)
        return x.attribution(scores, cumulative_drop=total)


def _longer(beam: _Orders) -> _Orders:
    """Every order of the beam with one more word; of those that remove the same words, the better (first if equal).

    The totals are still those of the shorter orders.
    """
    parents, words = np.nonzero(~beam.removed)
    removed = beam.removed[parents]
    removed[np.arange(len(words)), words] = True
    parent_of, word_of = parents.tolist(), words.tolist()

    def rank(row: int) -> tuple[float, Order, int]:
        return (*beam.rank(parent_of[row]), word_of[row])

    best: dict[bytes, int] = {}
    for row, key in enumerate(map(bytes, np.packbits(removed, axis=1))):
        known = best.setdefault(key, row)
        if known != row and rank(row) < rank(known):
            best[key] = row
    chosen = list(best.values())
    return _Orders(
        removed[chosen],
        [beam.totals[parent_of[row]] for row in chosen],
        [(*beam.orders[parent_of[row]], word_of[row]) for row in chosen],
    )
