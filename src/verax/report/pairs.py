"""The pairs of words or spans of an explanation by interactions: in order, in words, and as a table."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import NamedTuple

from verax.results.render.markup import Html, tag
from verax.results.render.numbers import count, signed
from verax.types import Highlight, Instance, Span, Unit

SHOWN = 10
"""How many pairs a page holds and a terminal prints of each explanation."""
CHOICES = (1, 3, 5, 10)
"""How many of them a reader can choose to see."""
TOP = 5
"""How many are seen by default."""


class Pair(NamedTuple):
    """Two spans, the words they hold, and their score with its rank.

    `directed` says that the other direction, from the second span to the first, has a score of its own.
    """

    rank: int
    unit: Unit
    words: tuple[str, ...]
    score: float
    directed: bool

    @property
    def said(self) -> str:
        """The pair in one line."""
        return f"{self.rank}. {joined(self.words, '→' if self.directed else '↔')} {signed(self.score)}"


def top_pairs(highlight: Highlight, instance: Instance, top: int = SHOWN) -> tuple[Pair, ...]:
    """The pairs with the highest scores, in the order of the metrics: signed, ties to the one that comes first."""
    scores = highlight.scores
    best = heapq.nsmallest(top, range(len(scores)), key=lambda index: (-scores[index], index))
    units = frozenset(highlight.units)
    found = []
    for rank, index in enumerate(best, 1):
        unit = highlight.units[index]
        directed = unit[0] != unit[-1] and unit[::-1] in units
        found.append(Pair(rank, unit, words_of(unit, instance), scores[index], directed))
    return tuple(found)


def words_of(unit: Unit, instance: Instance) -> tuple[str, ...]:
    """The text of each span of a unit."""
    return tuple(_text(span, instance) for span in unit)


def joined(words: Sequence[str], sign: str = "↔") -> str:
    """Both sides of a pair in one line."""
    return f" {sign} ".join(words)


def heads(pairs: Sequence[Pair]) -> tuple[str, str]:
    """What the columns of words are called in a table of pairs."""
    return ("from", "to") if any(pair.directed for pair in pairs) else ("words", "words")


def _text(span: Span, instance: Instance) -> str:
    part = instance.parts[span.part]
    return part.raw[part.offsets[span.start][0] : part.offsets[span.end - 1][1]]


def step(rank: int) -> str:
    """The class of what is seen only if so many pairs are chosen."""
    return f"k{next(choice for choice in CHOICES if rank <= choice)}"


def pairs_table(pairs: Sequence[Pair], total: int, *, inline: bool) -> Html:
    """Rank, words and score of each pair, on demand: what the picture shows, for those who can't see it."""
    head = tag("tr", [tag("th", name, scope="col") for name in ("#", *heads(pairs), "score")])
    rows = [
        tag(
            "tr",
            tag("td", pair.rank),
            [tag("td", tag("bdi", words)) for words in pair.words],
            tag("td", signed(pair.score)),
            class_=None if inline else step(pair.rank),
        )
        for pair in pairs
    ]
    said = "Pairs and scores" + (f" (the highest of {count(total)})" if total > len(pairs) else "")
    small = "font-size:.85em" if inline else None
    return tag("details", tag("summary", said), tag("table", tag("thead", head), tag("tbody", rows)), style=small)
