"""Evaluation of alignments: precision, recall and alignment error rate against gold links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from verax.types import Links


@dataclass(frozen=True, slots=True)
class AlignmentScores:
    """Links of a whole corpus against its gold, counted over all pairs of texts.

    Args:
        pairs: how many pairs of texts.
        links: how many links were found (A).
        sure: how many sure links there are (S).
        right: how many of those found are sure or possible (A and P).
        surely_right: how many of those found are sure (A and S).
    """

    pairs: int
    links: int
    sure: int
    right: int
    surely_right: int

    @property
    def precision(self) -> float | None:
        """The share of links found that are sure or possible; None if none was found."""
        return self.right / self.links if self.links else None

    @property
    def recall(self) -> float | None:
        """The share of sure links that were found; None if there is none."""
        return self.surely_right / self.sure if self.sure else None

    @property
    def f1(self) -> float | None:
        """The harmonic mean of both."""
        precision, recall = self.precision, self.recall
        if precision is None or recall is None:
            return None
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    @property
    def aer(self) -> float | None:
        """Alignment error rate, 1 - (|A and S| + |A and P|) / (|A| + |S|): 0 is best. Och and Ney 2003, Equation 20."""
        total = self.links + self.sure
        return 1 - (self.surely_right + self.right) / total if total else None


def score_alignments(found: Iterable[Links], gold: Iterable[tuple[Links, Links]]) -> AlignmentScores:
    """Compare the links of each pair of texts with its sure and its possible ones.

    Args:
        found: for each pair of texts, the links that an aligner gave.
        gold: for each, those that are sure, and those that are possible; a sure link is always possible too.
    """
    counts = [0, 0, 0, 0, 0]
    for links, (sure, possible) in zip(found, gold, strict=True):
        a, s = set(links), set(sure)
        p = s | set(possible)
        for place, value in enumerate((1, len(a), len(s), len(a & p), len(a & s))):
            counts[place] += value
    return AlignmentScores(*counts)
