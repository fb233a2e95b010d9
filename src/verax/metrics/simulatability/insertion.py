"""An explanation inserted into the text that it explains, for an agent to read (Appendix B).

Both ways show exactly the words of `pieces_up_to`, so that every kind of explanation shows the same number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np

from verax.metrics.pieces import Word, pieces_up_to, words_of
from verax.metrics.ranking import best_first
from verax.train.agent_start import CLOSE, OPEN, rank_mark
from verax.types import Highlight, Instance, Span, Text

Insertion = Literal["symbol", "text"]


def with_explanation(instance: Instance, highlight: Highlight, most: int, insertion: Insertion) -> tuple[str, ...]:
    """The texts of an instance with the best pieces of its explanation inserted, at most `most` words.

    Args:
        insertion: `symbol` puts `<<` and `>>` around each word or span, followed by the rank of its piece; `text`
            repeats the pieces after the last part, best first.
    """
    pieces = list(_pieces(highlight, most))
    if insertion == "text":
        return _appended(instance, pieces)
    return tuple(_marked(text, number, pieces) for number, text in enumerate(instance.parts))


def _pieces(highlight: Highlight, most: int) -> Iterator[list[list[Span]]]:
    """Each piece as its sides, and each side as its runs of selected words; empty sides are omitted."""
    order = best_first(np.array(highlight.scores)).tolist()
    for number, words in zip(order, pieces_up_to(highlight, most), strict=False):
        kept = set(words)
        sides = [_runs([word for word in words_of((span,)) if word in kept]) for span in highlight.units[number]]
        yield [side for side in sides if side]


def _runs(words: Sequence[Word]) -> list[Span]:
    """Neighbouring words as spans."""
    runs: list[Span] = []
    for part, word in words:
        if runs and runs[-1].part == part and runs[-1].end == word:
            runs[-1] = runs[-1]._replace(end=word + 1)
        else:
            runs.append(Span(part, word, word + 1))
    return runs


def _marked(text: Text, part: int, pieces: Sequence[Sequence[Sequence[Span]]]) -> str:
    """The text with each of its runs in brackets, which may overlap; a run of two pieces has both their ranks."""
    ranks: dict[Span, list[int]] = defaultdict(list)
    for rank, sides in enumerate(pieces, 1):
        for run in dict.fromkeys(run for side in sides for run in side if run.part == part):
            ranks[run].append(rank)
    written, at = "", 0
    for place, mark in _marks(text, ranks):
        written += text.raw[at:place] + mark
        at = place
    whole = written + text.raw[at:]
    return whole.removeprefix(" ") if whole.startswith(f" {OPEN}") else whole


def _marks(text: Text, ranks: Mapping[Span, Sequence[int]]) -> Iterator[tuple[int, str]]:
    """Marks with their positions, in order: closing marks first; inner pairs are inside outer ones."""
    found = []
    for (_, start, end), held in ranks.items():
        first, last = text.offsets[start][0], text.offsets[end - 1][1]
        # before the space in front of the word: the symbol brings its own space, and the word keeps its own
        before = len(text.raw[:first].rstrip())
        found.append(((before, 1, -last), f" {OPEN}"))
        found.append(((last, 0, -first), " ".join(["", CLOSE, *map(rank_mark, held)])))
    for (place, *_), mark in sorted(found):
        yield place, mark


def _appended(instance: Instance, pieces: Sequence[Sequence[Sequence[Span]]]) -> tuple[str, ...]:
    """The parts, the last one followed by the pieces."""
    appended = "; ".join(
        ", ".join(" ".join(_words(instance, run) for run in side) for side in sides) for sides in pieces if sides
    )
    *parts, last = (text.raw for text in instance.parts)
    return (*parts, f"{last} {appended}" if appended else last)


def _words(instance: Instance, run: Span) -> str:
    """A run of words as in the text."""
    text = instance.parts[run.part]
    return text.raw[text.offsets[run.start][0] : text.offsets[run.end - 1][1]]
