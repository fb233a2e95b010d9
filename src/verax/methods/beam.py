"""Beam search for the order of removal that reduces the target most."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import ClassVar, NamedTuple

import numpy as np

from verax.engine.questions import Outputs, QuestionGenerator, resolve_target
from verax.models.subject import Subject
from verax.types import Attribution, BoolArray, FloatArray, IntArray, Kind, Passes, Removal, Target, require_at_least

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


class _Longer(NamedTuple):
    """Orders of a beam with one more word each; they are spelt out only for those that are kept."""

    beam: _Orders
    parents: IntArray
    """Number in the beam of the order that is continued, shape [candidates]."""
    words: IntArray
    """The word that is added, shape [candidates]."""
    removed: BoolArray
    """Shape [candidates, words]."""

    def order(self, number: int) -> Order:
        """One of the orders."""
        return (*self.beam.orders[self.parents[number]], int(self.words[number]))

    def best(self, drops: FloatArray, width: int) -> _Orders:
        """The best `width` orders, best first, when their last step has these drops."""
        totals = np.array(self.beam.totals)[self.parents] + drops
        least = np.sort(totals)[-width] if len(totals) > width else -np.inf
        # the orders themselves, which grow with the input, are compared only among those that may be chosen
        ranked = sorted((-float(totals[i]), self.order(i), i) for i in np.flatnonzero(~(totals < least)).tolist())[
            :width
        ]
        chosen = [i for _, _, i in ranked]
        return _Orders(self.removed[chosen], totals[chosen].tolist(), [order for _, order, _ in ranked])


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
    ranks: ClassVar[bool] = True
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
            beam = longer.best(whole - readout(logits), self.width)
        # one word remains in every order, and removing it is the same step for all of them
        last = _longer(beam)
        scores = np.empty(n)
        scores[list(last.order(0))] = np.arange(n, 0, -1)
        return x.attribution(scores, cumulative_drop=beam.totals[last.parents[0]])


def _longer(beam: _Orders) -> _Longer:
    """Every order of the beam with one more word; of those that remove the same words, the better (first if equal)."""
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
    return _Longer(beam, parents[chosen], words[chosen], removed[chosen])
