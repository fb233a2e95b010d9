"""Pieces of an explanation in rank order, up to a number of words: what makes kinds of explanation comparable.

A piece is a word, a pair of words or a pair of spans. One that would lead beyond the number gives those of its words
that have the higher total score, the sum over all units that hold them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from verax.metrics.ranking import best_first
from verax.models.subject import Subject
from verax.types import BoolArray, Highlight, Unit

Word = tuple[int, int]
"""A word by its part and its number there."""


def words_of(unit: Unit) -> Iterator[Word]:
    """The words of a unit, span by span."""
    for span in unit:
        yield from ((span.part, word) for word in range(span.start, span.end))


def pieces_up_to(highlight: Highlight, most: int, among: Collection[Word] | None = None) -> list[tuple[Word, ...]]:
    """The words of each piece, best piece first, so that all pieces together hold at most `most` words.

    All that there are if they hold fewer. A word that an earlier piece holds is in the later one too. Words that are
    not `among` those that count (an explanation made elsewhere may score words that were cut off) are passed over.
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
        namespace = most - len(chosen)
        if len(new) > namespace:
            totals = _totals(highlight)
            kept = set(sorted(new, key=lambda word: (-totals[word], word))[:namespace]) | chosen
            words = [word for word in words if word in kept]
        chosen.update(words)
        pieces.append(tuple(words))
    return pieces


def _totals(highlight: Highlight) -> dict[Word, float]:
    """The sum of the scores of the units that hold a word."""
    totals: dict[Word, float] = defaultdict(float)
    for unit, score in zip(highlight.units, highlight.scores, strict=True):
        for word in set(words_of(unit)):
            totals[word] += score
    return totals


def top_words(x: Subject, highlight: Highlight, most: int) -> BoolArray:
    """Which words of x are chosen, shape [n_units]: exactly `most` of them, or all if there are fewer.

    Words in no unit come last, in reading order.
    """
    return marked(x, pieces_up_to(highlight, most, set(x.words)), most)


def marked(x: Subject, pieces: Sequence[tuple[Word, ...]], most: int) -> BoolArray:
    """The words of pieces as a mask over those of x, filled up to `most` by the others in reading order."""
    held = {word for piece in pieces for word in piece}
    mask = np.array([word in held for word in x.words], bool)
    missing = most - int(mask.sum())
    if missing > 0:
        mask[np.flatnonzero(~mask)[:missing]] = True
    return mask
