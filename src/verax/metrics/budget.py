"""Matched budgets: the number of words that an explanation may select, from the span pairs of the same input."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from verax.metrics.pieces import Word, words_of
from verax.metrics.ranking import best_first
from verax.types import Highlight, UserError

Matched = Literal["base", "shared"]
"""Which span pairs set the budget: those of the same base, or all of the run, so that all methods share one."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Number of words and pieces of the span explanations of an input.

    Args:
        words: theta(x, k) for k = 1, 2, ...: the number of different words in the top k span pairs (Equation 6); the
            last one counts for larger k.
        pieces: number of span pairs (k_x in Equation 18).
    """

    words: tuple[int, ...]
    pieces: int

    def at(self, k: int) -> int:
        """theta(x, k)."""
        return self.words[min(k, len(self.words)) - 1]


def budget_of(spans: Sequence[Highlight], among: Collection[Word] | None = None) -> Budget:
    """The budget of one span explanation; for several, their rounded mean, as a random explanation has no base.

    If `among` is given, only these words count.
    """
    grown = [_grown(highlight, among) for highlight in spans]
    longest = max(map(len, grown))
    filled = np.array([(*words, *[words[-1]] * (longest - len(words))) for words in grown], np.float64)
    # rounded half up: Python rounds half to even
    words = np.floor(filled.mean(0) + 0.5).astype(int).tolist()
    return Budget(tuple(words), int(np.mean([len(highlight.units) for highlight in spans]) + 0.5))


def _grown(highlight: Highlight, among: Collection[Word] | None) -> list[int]:
    """Number of different words in the top k units, for every k."""
    held: set[Word] = set()
    sizes = []
    for number in best_first(np.array(highlight.scores)).tolist():
        held.update(word for word in words_of(highlight.units[number]) if among is None or word in among)
        sizes.append(len(held))
    return sizes


def check_budget(metric: str, k: int, words: tuple[int, ...] | None) -> None:
    """Reject numbers that are no budget."""
    if k < 1:
        raise UserError(f"{metric}: k: got {k}, it must be at least 1")
    if words is not None and (not words or min(words) < 1):
        raise UserError(f"{metric}: words: got {list(words)}; give numbers of words, each at least 1")
