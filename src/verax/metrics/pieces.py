"""Pieces of an explanation in rank order, up to a number of words, so that kinds of explanation are comparable.

A piece is a word, a pair of words or a pair of spans. A piece that would exceed the number contributes its words with
the highest total scores: the sum over all units that contain them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from verax.metrics.ranking import best_first
from verax.models.subject import Subject
from verax.types import BoolArray, Highlight, Unit

Word = tuple[int, int]
"""A word: its part, and its position there."""


def words_of(unit: Unit) -> Iterator[Word]:
    """The words of a unit, span by span."""
    for span in unit:
        yield from ((span.part, word) for word in range(span.start, span.end))


def pieces_up_to(highlight: Highlight, most: int, among: Collection[Word] | None = None) -> list[tuple[Word, ...]]:
    """The words of each piece, best piece first, with at most `most` words in all pieces together.

    A word may be in several pieces. If `among` is given, other words are ignored: an explanation made elsewhere may
    score words that were cut off.
    """
    chosen: set[Word] = set()
    pieces: list[tuple[Word, ...]] = []
    for number in best_first(np.array(highlight.scores)).tolist():
        if len(chosen) >= most:
            break
        words = [w for w in dict.fromkeys(words_of(highlight.units[number])) if among is None or w in among]
        if not words:
            continue
        new = [word for word in words if word not in chosen]
        left = most - len(chosen)
        if len(new) > left:
            totals = _totals(highlight)
            kept = set(sorted(new, key=lambda word: (-totals[word], word))[:left]) | chosen
            words = [word for word in words if word in kept]
        chosen.update(words)
        pieces.append(tuple(words))
    return pieces


def _totals(highlight: Highlight) -> dict[Word, float]:
    """Sum of the scores of the units that contain a word."""
    totals: dict[Word, float] = defaultdict(float)
    for unit, score in zip(highlight.units, highlight.scores, strict=True):
        for word in set(words_of(unit)):
            totals[word] += score
    return totals


def top_words(x: Subject, highlight: Highlight, most: int) -> BoolArray:
    """Mask of the top words of x, shape [n_units]: exactly `most` of them, or all if there are fewer.

    Words outside all units come last, in reading order.
    """
    return marked(x, pieces_up_to(highlight, most, set(x.words)), most)


def marked(x: Subject, pieces: Sequence[tuple[Word, ...]], most: int) -> BoolArray:
    """Mask of the words of pieces over those of x, filled up to `most` with others in reading order."""
    held = {word for piece in pieces for word in piece}
    mask = np.array([word in held for word in x.words], bool)
    missing = most - int(mask.sum())
    if missing > 0:
        mask[np.flatnonzero(~mask)[:missing]] = True
    return mask
