"""Crosslingual faithfulness: translations that a model reads alike should be explained alike."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from verax.align.embedding import Embedding
from verax.align.protocol import Aligner
from verax.metrics.ranking import needs_tokens
from verax.models.subject import Subject
from verax.models.words import FORM_FEATURES, FormFeature, word_form
from verax.registry import ShortForms
from verax.types import (
    FloatArray,
    Highlight,
    Instance,
    IntArray,
    Links,
    Measured,
    MeasuredProperty,
    NoPasses,
    Undefined,
    UserError,
)

AlignParts = Literal["apart", "joint"]


class AlignedReference(NamedTuple):
    """The same input in the reference language, its explanation, and which words belong together.

    `links` counts words over all parts in reading order: (word of the reference, word of the input), shape [links, 2].
    """

    reference: Instance
    highlight: Highlight
    links: IntArray


@dataclass(frozen=True)
class CrosslingualFaithfulness(NoPasses):
    """Spearman correlation between the scores of an input's words and those of the words that translate them.

    For each word of the input in the reference language the scores of the aligned words of the translation are summed,
    0 if there is none (Equation 3). Inputs in the reference language get no score of their own; the mean over a
    language, and the mean of the languages, are computed afterwards (Equation 4).

    Args:
        reference_lang: the language that the others are compared with.
        aligner: aligns the words; by default with the hidden states of the explained model.
        align_parts: `apart` aligns each part on its own, `joint` all parts as one text.
        controlling: features of the form of words that are held constant, such as `[part, subwords]`: a partial rank
            correlation, of what these features of a word and of the words aligned with it do not explain.
    """

    reference_lang: str = "en"
    aligner: Aligner = Embedding()  # noqa: RUF009 - frozen, so it can be shared
    align_parts: AlignParts = "apart"
    controlling: tuple[FormFeature, ...] = ()

    name: ClassVar[str] = "crosslingual_faithfulness"
    display: ClassVar[str] = "Cross-lingual ρ"
    summary: ClassVar[str] = "Rank correlation between the scores of words and of their translations; higher is better."
    cost: ClassVar[str] = "none"
    short_forms: ClassVar[ShortForms] = {
        "aligner": {"embedding": "", "random": "random links"},
        "controlling": {"[]": "", '["part", "subwords"]': "partial"},
    }
    measures: ClassVar[MeasuredProperty] = "crosslingual"
    needs: ClassVar[frozenset[str]] = frozenset({"alignment"})
    baselines: ClassVar[tuple[tuple[str, Mapping[str, str]], ...]] = tuple(
        ("content_free", {"feature": feature}) for feature in FORM_FEATURES
    )
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

    def __call__(self, x: Subject, highlight: Highlight, *, alignment: AlignedReference) -> Measured:
        """The correlation for one explanation; `linked` counts the words of the reference that have a link."""
        needs_tokens(highlight)
        own = scores_of_words(x.instance, highlight)
        reference = scores_of_words(alignment.reference, alignment.highlight)
        aligned, linked = aligned_scores(np.where(np.isnan(own), 0.0, own), alignment.links, len(reference))
        seen = ~np.isnan(reference)  # words that were cut off have no score to compare
        constant = self._constant(x, alignment)[seen] if self.controlling else None
        value = spearman(reference[seen], aligned[seen], constant)
        return Measured(value, series={"linked": (float(linked), float(len(reference)))})

    def _constant(self, x: Subject, alignment: AlignedReference) -> FloatArray:
        """The features held constant, of the words of the reference and of those aligned: [words, features]."""
        known: dict[Hashable, FloatArray] = x.memo.setdefault("form across languages", {})
        key = (alignment.links.tobytes(), self.controlling)
        if key not in known:
            other = x.edited(alignment.reference)
            columns = [_form(other, feature) for feature in self.controlling]
            for feature in self.controlling:
                if feature != "part":  # links stay within parts, or make the part of the aligned words meaningless
                    columns.append(aligned_scores(_form(x.original, feature), alignment.links, len(columns[0]))[0])
            known[key] = np.stack(columns, axis=1)
        return known[key]


def _form(x: Subject, feature: FormFeature) -> FloatArray:
    """A feature of all words of an input, shape [words]; 0 for words that were cut off."""
    values = np.zeros(x.encoding.n_units)
    values[x.alive] = word_form(x, feature)
    return values


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
        words: number of words of the reference; the sums have shape [words], 0 without a link.
    """
    if not len(links):
        raise Undefined("no_links", "no word of the translation is aligned with a word of the reference")
    to, of = np.asarray(links).T
    sums = np.bincount(to, scores[of], words).astype(np.float64, copy=False)
    return sums, int(np.count_nonzero(np.bincount(to)))


def spearman(a: FloatArray, b: FloatArray, constant: FloatArray | None = None) -> float:
    """Spearman's rank correlation of reference and translation, with mean ranks for ties: [n], [n] -> value.

    Raises Undefined if one side is constant.

    Args:
        constant: shape [n, features]; the correlation is then the partial one: that of the residuals of both sides'
            ranks after a linear regression on the ranks of these features.
    """
    if len(a) < 2:
        raise Undefined("too_few_words", f"{len(a)} words: a correlation needs two")
    ranks = np.stack([_ranks(side) - (len(side) + 1) / 2 for side in (a, b)], axis=1)
    sizes = np.linalg.norm(ranks, axis=0)
    _require_variation(sizes, "all scores of the {} are equal")
    if constant is not None:
        features = np.stack([_ranks(column) - (len(column) + 1) / 2 for column in constant.T], axis=1)
        ranks = ranks - features @ np.linalg.lstsq(features, ranks, rcond=None)[0]
        left = np.linalg.norm(ranks, axis=0)
        _require_variation(np.where(left > 1e-9 * sizes, left, 0.0), "the form of words explains all scores of the {}")
        sizes = left
    return float(np.clip(ranks[:, 0] @ ranks[:, 1] / (sizes[0] * sizes[1]), -1.0, 1.0))


def _require_variation(sizes: FloatArray, problem: str) -> None:
    if not sizes.all():
        which = "reference" if not sizes[0] else "translation"
        raise Undefined("constant_scores", f"{problem.format(which)}: the correlation is undefined")


def _ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, with mean ranks for ties: [n] -> [n]; much faster than scipy, as one table needs half a million."""
    ordered = np.sort(values)
    below, up_to = ordered.searchsorted(values, "left"), ordered.searchsorted(values, "right")
    return np.asarray((below + up_to + 1) / 2)
