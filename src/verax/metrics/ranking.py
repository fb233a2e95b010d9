"""Explanations of all kinds in rank order: scores of words, the top words, and budgets that make kinds comparable.

A piece of an explanation is a word, a pair of words or a pair of spans. A piece that would exceed a number of words
contributes its words with the highest total scores: the sum over all units that contain them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from verax.models.subject import Subject
from verax.types import (
    BY_BUDGET,
    OTHER_BUDGETS,
    BoolArray,
    FloatArray,
    Highlight,
    IntArray,
    Undefined,
    Unit,
    UserError,
    require_at_least,
)

WordPlace = tuple[int, int]
"""A word: its part, and its position there."""
BudgetSource = Literal["base", "shared"]
"""Which span pairs set the budget: those of the same base, or all of the run, so that all methods share one."""


def words_of(unit: Unit) -> Iterator[WordPlace]:
    """The words of a unit, span by span."""
    for span in unit:
        yield from ((span.part, word) for word in range(span.start, span.end))


def word_scores(x: Subject, highlight: Highlight) -> FloatArray:
    """The score of each word of x, shape [n_units].

    A word in several units (pairs, spans) has the largest of their scores; words outside all units come last, tied.
    Raises Undefined if an explanation by words does not score every word.
    """
    if highlight.units == x.units:  # as most explanations by words
        return np.array(highlight.scores, np.float64)
    best: dict[WordPlace, float] = {}
    for unit, score in zip(highlight.units, highlight.scores, strict=True):
        for word in words_of(unit):
            best[word] = max(score, best.get(word, -np.inf))
    words = x.words
    missing = sum(word not in best for word in words)
    if missing and (highlight.kind == "token" or not best):
        raise Undefined("unscored_words", f"{missing} of {x.n_units} words have no score")
    last = min(best.values(), default=0.0) - 1.0
    return np.array([best.get(word, last) for word in words])


def needs_tokens(highlight: Highlight) -> None:
    """Raise Undefined for an explanation that scores anything but words."""
    if highlight.kind != "token":
        raise Undefined("needs_token_scores", f"this metric measures token scores, not {highlight.kind}")


def best_first(scores: FloatArray) -> IntArray:
    """Indices by signed score, descending; ties go to the lower index."""
    return np.argsort(-scores, kind="stable")


def pieces_up_to(
    highlight: Highlight, max_words: int, among: Collection[WordPlace] | None = None
) -> list[tuple[WordPlace, ...]]:
    """The words of each piece, best piece first, with at most `max_words` words in all pieces together.

    A word may be in several pieces. If `among` is given, other words are ignored: an explanation made elsewhere may
    score words that were cut off.
    """
    chosen: set[WordPlace] = set()
    pieces: list[tuple[WordPlace, ...]] = []
    for number in best_first(np.array(highlight.scores)).tolist():
        if len(chosen) >= max_words:
            break
        words = [w for w in dict.fromkeys(words_of(highlight.units[number])) if among is None or w in among]
        if not words:
            continue
        new = [word for word in words if word not in chosen]
        left = max_words - len(chosen)
        if len(new) > left:
            totals = _totals(highlight)
            kept = set(sorted(new, key=lambda word: (-totals[word], word))[:left]) | chosen
            words = [word for word in words if word in kept]
        chosen.update(words)
        pieces.append(tuple(words))
    return pieces


def _totals(highlight: Highlight) -> dict[WordPlace, float]:
    """Sum of the scores of the units that contain a word."""
    totals: dict[WordPlace, float] = defaultdict(float)
    for unit, score in zip(highlight.units, highlight.scores, strict=True):
        for word in set(words_of(unit)):
            totals[word] += score
    return totals


def top_words(x: Subject, highlight: Highlight, max_words: int) -> BoolArray:
    """Mask of the top words of x, shape [n_units]: exactly `max_words` of them, or all if there are fewer.

    Words outside all units come last, in reading order.
    """
    return mask_of(x, pieces_up_to(highlight, max_words, set(x.words)), max_words)


def mask_of(x: Subject, pieces: Sequence[tuple[WordPlace, ...]], max_words: int) -> BoolArray:
    """Mask of the words of pieces over those of x, filled up to `max_words` with others in reading order."""
    words = {word for piece in pieces for word in piece}
    mask = np.array([word in words for word in x.words], bool)
    missing = max_words - int(mask.sum())
    if missing > 0:
        mask[np.flatnonzero(~mask)[:missing]] = True
    return mask


@dataclass(frozen=True, slots=True)
class Budget:
    """Number of words and pieces of the span explanations of an input.

    Args:
        words: theta(x, k) for k = 1, 2, ...: the number of different words in the top k span pairs (Equation 6); the
            last one counts for larger k.
        pieces: number of span pairs (k_x in Equation 18).
        others: budgets that other seeds of the span explanations would have set.
    """

    words: tuple[int, ...]
    pieces: int
    others: tuple[Budget, ...] = ()

    def at(self, k: int) -> int:
        """theta(x, k)."""
        return self.words[min(k, len(self.words)) - 1]


def budget_of(spans: Sequence[Highlight], among: Collection[WordPlace] | None = None) -> Budget:
    """The budget of one span explanation; for several, their rounded mean, as a random explanation has no base.

    If `among` is given, only these words count (budgets by other seeds have been counted by the method).
    """
    budget = _mean_budget([_grown(highlight, among) for highlight in spans])
    drawn = [_other_budgets(highlight) for highlight in spans]
    return replace(budget, others=tuple(_mean_budget(grown) for grown in zip(*drawn, strict=False)))


def _mean_budget(grown: Sequence[Sequence[int]]) -> Budget:
    """The rounded mean of theta(x, k), and of the number of pieces."""
    longest = max(map(len, grown))
    filled = np.array([(*words, *[words[-1]] * (longest - len(words))) for words in grown], np.float64)
    # rounded half up: Python rounds half to even
    words = np.floor(filled.mean(0) + 0.5).astype(int).tolist()
    return Budget(tuple(words), int(np.mean([len(words) for words in grown]) + 0.5))


def _other_budgets(highlight: Highlight) -> list[list[int]]:
    """theta(x, k) for every k, by other seeds, as louvain notes them."""
    noted = str(highlight.notes.get(OTHER_BUDGETS, ""))
    return [[int(size) for size in one.split(",")] for one in noted.split(";") if one]


def _grown(highlight: Highlight, among: Collection[WordPlace] | None) -> list[int]:
    """Number of different words in the top k units, for every k."""
    words: set[WordPlace] = set()
    sizes = []
    for number in best_first(np.array(highlight.scores)).tolist():
        words.update(word for word in words_of(highlight.units[number]) if among is None or word in among)
        sizes.append(len(words))
    return sizes


def by_budget(values: Iterable[float]) -> dict[str, tuple[float, ...]]:
    """The series of a metric's values at budgets by other seeds; none where there are none."""
    known = tuple(values)
    return {BY_BUDGET: known} if known else {}


def check_budget(metric: str, k: int, words: tuple[int, ...] | None = None) -> None:
    """Reject invalid numbers of span pairs or words."""
    require_at_least(metric, 1, k=k)
    if words is not None and (not words or min(words) < 1):
        raise UserError(f"{metric}: words: got {list(words)}; give numbers of words, each at least 1")
