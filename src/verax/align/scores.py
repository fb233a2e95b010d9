"""Evaluation of alignments: precision, recall and alignment error rate against gold links."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from verax.types import Links


@dataclass(frozen=True, slots=True)
class AlignmentScores:
    """Counts over all pairs of texts of a corpus.

    Args:
        links: links of the aligner (A).
        sure: sure gold links (S).
        right: links of the aligner that are sure or possible (A and P).
        surely_right: links of the aligner that are sure (A and S).
    """

    pairs: int
    links: int
    sure: int
    right: int
    surely_right: int

    @property
    def precision(self) -> float | None:
        """Share of the aligner's links that are sure or possible; None without links."""
        return self.right / self.links if self.links else None

    @property
    def recall(self) -> float | None:
        """Share of the sure links that the aligner has; None without sure links."""
        return self.surely_right / self.sure if self.sure else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall."""
        precision, recall = self.precision, self.recall
        if precision is None or recall is None:
            return None
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    @property
    def aer(self) -> float | None:
        """Alignment error rate, 1 - (|A and S| + |A and P|) / (|A| + |S|): 0 is best. Och and Ney 2003, Equation 20."""
        total = self.links + self.sure
        return 1 - (self.surely_right + self.right) / total if total else None


def score_alignments(aligned: Iterable[Links], gold: Iterable[tuple[Links, Links]]) -> AlignmentScores:
    """Compare the links of each pair of texts with its sure and its possible gold links.

    Args:
        gold: the sure and the possible links of each; a sure link is always possible too.
    """
    counts = [(0, 0, 0, 0, 0)]
    for links, (sure, possible) in zip(aligned, gold, strict=True):
        a, s = set(links), set(sure)
        counts.append((1, len(a), len(s), len(a & (s | set(possible))), len(a & s)))
    return AlignmentScores(*map(sum, zip(*counts, strict=True)))
