"""Matched budgets: how many words an explanation may point at, taken from the span pairs of the same input."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from verax.metrics.pieces import Word, words_of
from verax.metrics.ranking import best_first
from verax.types import Highlight, UserError

Matched = Literal["base", "shared"]
"""Whose span pairs set the budget: those of the same base, or all of the run, so that every method has the same."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What the span explanations of an input allow for.

    Args:
        words: theta(x, k) for k = 1, 2, ...: the number of different words in the top k span pairs (Equation 6); it
            stays where there are fewer pairs.
        pieces: how many span pairs there are (k_x in Equation 18).
    """

    words: tuple[int, ...]
    pieces: int

    def at(self, k: int) -> int:
        """theta(x, k)."""
        return self.words[min(k, len(self.words)) - 1]


def budget_of(spans: Sequence[Highlight], among: Collection[Word] | None = None) -> Budget:
    """The budget of one span explanation; of several their mean, rounded: a random explanation has no base.

    Only the words `among` those that count are counted.
    """
    grown = [_grown(highlight, among) for highlight in spans]
    longest = max(map(len, grown))
    filled = np.array([(*words, *[words[-1]] * (longest - len(words))) for words in grown], np.float64)
    # rounded half up, as a person would: Python's own rounding goes to the even number
    words = np.floor(filled.mean(0) + 0.5).astype(int).tolist()
    return Budget(tuple(words), int(np.mean([len(highlight.units) for highlight in spans]) + 0.5))


def _grown(highlight: Highlight, among: Collection[Word] | None) -> list[int]:
    """The number of different words in the top k units, for every k."""
    held: set[Word] = set()
    sizes = []
    for number in best_first(np.array(highlight.scores)).tolist():
        held.update(word for word in words_of(highlight.units[number]) if among is None or word in among)
        sizes.append(len(held))
    return sizes


def check_budget(metric: str, k: int, words: tuple[int, ...] | None) -> None:
    """Refuse numbers that are no budget."""
    if k < 1:
        raise UserError(f"{metric}: k: got {k}, it must be at least 1")
    if words is not None and (not words or min(words) < 1):
        raise UserError(f"{metric}: words: got {list(words)}; give numbers of words, each at least 1")
