"""What faithfulness depends on besides the method: the same prediction in both languages, and good links."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from verax.stats.correlation import Correlation, pearson
from verax.stats.intervals import mean_interval
from verax.studies.crosslingual.grids import Grid, GridMaker, by_layer
from verax.studies.crosslingual.rows import LanguageRun, Measure, MeasureValues
from verax.types import BoolArray, Estimate, FloatArray, Links

_GIVEN = "given"
_BINS = 4


class PredictionSplit(NamedTuple):
    """Faithfulness over the pairs of translations with the same prediction, and with different ones.

    `pairs` counts them, over all runs.
    """

    same: Grid
    different: Grid
    pairs: tuple[int, int]


class QualityPoint(NamedTuple):
    """Pairs of translations: how good their links are, and how faithful explanations are, averaged over methods."""

    name: str
    quality: Estimate
    faithfulness: Estimate


class LinkQuality(NamedTuple):
    """Faithfulness by the quality of links.

    Args:
        measured: what quality means: `F1` against the links that came with the data, if the run has them too, or else
            the share of words of the reference that have a link.
    """

    measured: str
    languages: tuple[QualityPoint, ...]
    quarters: tuple[QualityPoint, ...]
    correlation: Correlation


def split_by_prediction(
    made: GridMaker, measure: Measure, reference: str, languages: tuple[str, ...]
) -> PredictionSplit | None:
    """The split of each method; None if no pair has two predictions. Languages are pooled: some have few of a kind."""
    same = [one.same_prediction(reference, languages) for one in made.runs]
    counts = [int(sum(np.nansum(known == wanted) for known in same)) for wanted in (1.0, 0.0)]
    if not any(counts):
        return None
    read = made.read(measure, languages)
    grids = []
    for wanted in (1.0, 0.0):
        masked = [
            np.where((known == wanted)[:, None, :], one.values, np.nan) for known, one in zip(same, read, strict=True)
        ]
        pooled = [
            MeasureValues(by_layer(values, 0)[:, :, None], np.zeros((values.shape[1], 1), np.int64))
            for values in masked
        ]
        grids.append(made.grids_of(pooled, measure, ("any language",), each=False)[0])
    return PredictionSplit(grids[0], grids[1], (counts[0], counts[1]))


def link_quality(made: GridMaker, measure: Measure, languages: tuple[str, ...]) -> LinkQuality | None:
    """Faithfulness by the quality of links; None without links."""
    found = [_quality(one, measure, languages) for one in made.runs]
    measured = found[0][0]
    read = made.read(measure, languages)
    chosen = [place for place, method in enumerate(made.methods) if method.is_method]
    quality = _mean([values for _, values in found])
    faithfulness = _mean([by_layer(one.values[:, chosen].transpose(0, 2, 1), 0) for one in read])
    known = np.isfinite(quality) & np.isfinite(faithfulness)
    if not known.any():
        return None
    column = np.arange(len(languages))
    by_language = [_point(lang, quality, faithfulness, known & (column == i)) for i, lang in enumerate(languages)]
    edges = np.quantile(quality[known], np.linspace(0, 1, _BINS + 1)[1:-1])
    quarter = np.searchsorted(edges, quality, side="left")
    quarters = [_point(f"quarter {i + 1}", quality, faithfulness, known & (quarter == i)) for i in range(_BINS)]
    pairs = list(zip(quality[known].tolist(), faithfulness[known].tolist(), strict=True))
    return LinkQuality(
        measured,
        tuple(point for point in by_language if point),
        tuple(point for point in quarters if point),
        pearson(pairs, "pairs of translations"),
    )


def _mean(arrays: Sequence[FloatArray]) -> FloatArray:
    """The mean over runs of what each has, NaN where none has a value."""
    return by_layer(np.stack(arrays, axis=-1), 0)


def _point(name: str, quality: FloatArray, faithfulness: FloatArray, chosen: BoolArray) -> QualityPoint | None:
    """The mean of some pairs, with an interval over inputs; the arrays have shape [groups, languages]."""
    if not chosen.any():
        return None
    sides = [_over_inputs(np.where(chosen, values, np.nan)) for values in (quality, faithfulness)]
    return QualityPoint(name, sides[0], sides[1])


def _over_inputs(values: FloatArray) -> Estimate:
    means = by_layer(values[:, None, :], 0)[:, 0]
    return mean_interval(means[np.isfinite(means)].tolist())


def _quality(one: LanguageRun, measure: Measure, languages: tuple[str, ...]) -> tuple[str, FloatArray]:
    """What quality means in a run, and its values: shape [groups, languages], NaN where there is none."""
    rows = one.run.alignments()
    labels = dict.fromkeys(row.aligner for row in rows)
    chosen = measure.find_aligner(labels)
    links = {row.instance_id: row.links for row in rows if row.aligner == chosen and row.reason is None}
    gold = {row.instance_id: row.links for row in rows if row.aligner == _GIVEN and row.reason is None}
    if gold and chosen != _GIVEN:
        known = {name: _f1(of, gold[name]) for name, of in links.items() if name in gold}
        return "F1 of links", one.by_group(known, languages)
    return "share of words with a link", one.by_group(one.linked(measure.metric), languages)


def _f1(links: Links, gold: Links) -> float:
    both = len(set(links) & set(gold))
    return 2 * both / (len(set(links)) + len(set(gold))) if links or gold else 1.0
