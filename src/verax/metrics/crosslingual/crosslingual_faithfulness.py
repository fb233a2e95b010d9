"""Crosslingual faithfulness: translations that a model reads alike should be explained alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from verax.align.embedding import Embedding
from verax.align.protocol import Aligner
from verax.metrics.ranking import needs_tokens
from verax.models.subject import Subject
from verax.types import FloatArray, Highlight, Instance, IntArray, Links, Measured, Passes, Undefined, UserError

AlignParts = Literal["apart", "joint"]


class AlignedReference(NamedTuple):
    """The same input in the reference language, its explanation, and which words belong together.

    `links` counts words over all parts in reading order: (word of the reference, word of the input), shape [links, 2].
    """

    reference: Instance
    highlight: Highlight
    links: IntArray


@dataclass(frozen=True)
class CrosslingualFaithfulness:
    """Spearman correlation between the scores of an input's words and those of the words that translate them.

    For each word of the input in the reference language the scores of the aligned words of the translation are summed,
    0 if there is none (Equation 3). Inputs in the reference language get no score of their own; the mean over a
    language, and the mean of the languages, are computed afterwards (Equation 4).

    Args:
        reference_lang: the language that the others are compared with.
        aligner: aligns the words; by default with the hidden states of the explained model.
        align_parts: `apart` aligns each part on its own, `joint` all parts as one text.
    """

    reference_lang: str = "en"
    aligner: Aligner = Embedding()  # noqa: RUF009 - frozen, so it can be shared
    align_parts: AlignParts = "apart"

    name: ClassVar[str] = "crosslingual_faithfulness"
    display: ClassVar[str] = "Cross-lingual ρ"
    summary: ClassVar[str] = "Rank correlation between the scores of words and of their translations; higher is better."
    cost: ClassVar[str] = "none"
    measures: ClassVar[str] = "crosslingual"
    needs: ClassVar[frozenset[str]] = frozenset({"alignment"})
    version: ClassVar[int] = 1
    reference: ClassVar[str] = (
        "Zaman and Belinkov 2022, A multilingual perspective towards the evaluation of attribution methods in natural "
        "language inference, Equations 3 and 4"
    )
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float | None, float | None]] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        if not self.reference_lang:
            raise UserError("crosslingual_faithfulness: reference_lang: got nothing; name a language, such as en")

    def passes(self, n: int) -> Passes:
        """No pass: both explanations exist already."""
        return Passes(0, 0)

    def __call__(self, x: Subject, highlight: Highlight, *, alignment: AlignedReference) -> Measured:
        """The correlation for one explanation; `linked` counts the words of the reference that have a link.

        Args:
            x: an input in another language than the reference.
            highlight: its explanation.
            alignment: the reference, its explanation by the same method, and the links.
        """
        needs_tokens(highlight)
        own = scores_of_words(x.instance, highlight)
        reference = scores_of_words(alignment.reference, alignment.highlight)
        aligned, linked = aligned_scores(np.where(np.isnan(own), 0.0, own), alignment.links, len(reference))
        seen = ~np.isnan(reference)  # words that the model did not get to see have no score to compare
        value = spearman(reference[seen], aligned[seen])
        return Measured(value, series={"linked": (float(linked), float(len(reference)))})


def scores_of_words(instance: Instance, highlight: Highlight) -> FloatArray:
    """The score of each word of all parts in reading order, shape [words]; NaN for words without one."""
    starts = np.cumsum([0, *(len(part.words) for part in instance.parts)])
    scores = np.full(starts[-1], np.nan)
    scores[[starts[unit[0].part] + unit[0].start for unit in highlight.units]] = highlight.scores
    return scores


def aligned_scores(scores: FloatArray, links: Links | IntArray, words: int) -> tuple[FloatArray, int]:
    """For each word of the reference the sum over the words linked with it, and the number of words with a link.

    Args:
        scores: of the translation's words, shape [its words].
        links: (word of the reference, word of the translation), shape [links, 2].
        words: of the reference.

    Returns:
        Shape [words], 0 without a link; and the number of words that have one.
    """
    if not len(links):
        raise Undefined("no_links", "no word of the translation is aligned with a word of the reference")
    to, of = np.asarray(links).T
    sums = np.bincount(to, scores[of], words).astype(np.float64, copy=False)
    return sums, int(np.count_nonzero(np.bincount(to)))


def spearman(a: FloatArray, b: FloatArray) -> float:
    """Spearman's rank correlation, with mean ranks for ties; raises Undefined if one side is constant.

    Args:
        a, b: shape [n]; of the reference and of the translation.
    """
    if len(a) < 2:
        raise Undefined("too_few_words", f"{len(a)} words: a correlation needs two")
    ranks = [_ranks(side) - (len(side) + 1) / 2 for side in (a, b)]
    sizes = [float(np.sqrt(side @ side)) for side in ranks]
    if not all(sizes):
        which = "reference" if not sizes[0] else "translation"
        raise Undefined("constant_scores", f"all scores of the {which} are equal: the correlation is undefined")
    return float(np.clip(ranks[0] @ ranks[1] / (sizes[0] * sizes[1]), -1.0, 1.0))


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, with mean ranks for ties; much faster than scipy, as one table needs half a million.

    Args:
        values: shape [n].
    """
    ordered = np.sort(values)
    below, up_to = ordered.searchsorted(values, "left"), ordered.searchsorted(values, "right")
    return np.asarray((below + up_to + 1) / 2)
