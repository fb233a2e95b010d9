"""One measure of every method, over all languages and in each: means, intervals, and which methods are best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from verax.results.run import Run
from verax.stats.correlation import Spread, spread
from verax.stats.inference import RESAMPLES
from verax.stats.resampling import bootstrap_sums, with_interval
from verax.studies.crosslingual.rows import Explainer, LanguageRun, Measure
from verax.types import Estimate, FloatArray, IntArray

FEWEST_INPUTS = 6
"""Inputs below which no difference is significant: a paired test of five cannot reach 0.05."""


@dataclass(frozen=True, slots=True)
class GridCell:
    """One method under one measure, over all languages or in one.

    Args:
        value: the mean with its interval; None with `reason`.
        n, skipped: instances with a value, and with a reason instead; of several runs the fewest and the most.
        best: whether it is the best of its output, or not significantly different from it: the 95 % interval of their
            difference contains 0. Never for the random explanation.
        difference: from the random explanation; None for that itself, and where a run has none.
        by_architecture: mean and standard deviation over the runs of each architecture; empty for one run.
        conclusive: whether there are enough inputs for any difference to be significant.
    """

    value: Estimate | None
    n: int
    skipped: int
    reason: str | None = None
    best: bool = False
    difference: Estimate | None = None
    by_architecture: tuple[Spread | None, ...] = ()
    conclusive: bool = True

    @property
    def like_random(self) -> bool:
        """Whether it is not significantly different from the random explanation."""
        return self.difference is not None and (not self.conclusive or self.difference.may_be(0.0))


@dataclass(frozen=True, slots=True)
class Grid:
    """One measure of every method.

    Args:
        language: None for the mean over languages.
        cells: by the method's label in the first run.
        average: over the methods that have a value in all languages, without the random one.
    """

    measure: Measure
    language: str | None
    cells: Mapping[str, GridCell]
    average: Estimate | None


class Architecture(NamedTuple):
    """Runs of models of the same architecture and size, which differ in their seed."""

    name: str
    runs: int


@dataclass(frozen=True, slots=True)
class LanguageAccuracy:
    """How accurate the model is in a language, and how faithful explanations are in it, averaged over methods.

    Args:
        faithfulness: None for the reference language, and where no method has a value.
        accuracy: over the `n` instances whose label the model has a class for.
        by_architecture: accuracy over the runs of each architecture; empty for one run.
    """

    lang: str
    faithfulness: Estimate | None
    accuracy: Estimate | None
    n: int
    by_architecture: tuple[Spread | None, ...] = ()


class Difference(NamedTuple):
    """Two methods, by their index, whose difference (first minus second) in one layer has an interval."""

    layer: int
    first: int
    second: int


class Resampled(NamedTuple):
    """Means with their intervals.

    Args:
        means: by method and layer; None where there is no value.
        differences: in the order in which they were requested.
        averages: of each layer, over the requested methods.
    """

    means: list[list[Estimate | None]]
    differences: list[Estimate | None]
    averages: list[Estimate | None]


def layers(values: FloatArray) -> FloatArray:
    """All languages together, then each: [groups, methods, languages] -> [methods, 1 + languages].

    The first is the unweighted mean over languages of the mean over instances (Equation 4). It is NaN where a language
    has no value: means over different languages cannot be compared.
    """
    known = np.isfinite(values)
    return _with_overall(_mean(np.where(known, values, 0.0).sum(0), known.sum(0)))


def _mean(sums: FloatArray, counts: FloatArray | IntArray) -> FloatArray:
    return np.asarray(np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0.5))


def _with_overall(by_language: FloatArray) -> FloatArray:
    return np.concatenate([by_language.mean(-1, keepdims=True), by_language], axis=-1)


def resample(
    values: FloatArray,
    differences: Sequence[Difference],
    averaged: Sequence[int],
    *,
    overall: bool,
    seed: int = 0,
    resamples: int = RESAMPLES,
) -> Resampled:
    """Means over groups or runs, with BCa intervals: each is drawn as a whole, with all its methods and languages.

    Args:
        values: of one run, shape [groups, methods, languages]; of several, shape [runs, methods, layers]; NaN where
            there is none.
        averaged: the methods that averages are over.
        overall: whether the mean over languages comes first, as a further layer.
    """
    n, methods, columns = values.shape
    known = np.isfinite(values).reshape(n, -1)

    def statistics(sums: FloatArray, counts: FloatArray) -> FloatArray:
        """Means, differences and averages next to each other: [rows, columns] -> [rows, statistics]."""
        means = _mean(sums, counts).reshape(*sums.shape[:-1], methods, columns)
        means = _with_overall(means) if overall else means
        gaps = [means[..., one.first, one.layer] - means[..., one.second, one.layer] for one in differences]
        average = means[..., list(averaged), :].mean(-2) if len(averaged) else np.full_like(means[..., 0, :], np.nan)
        return np.concatenate([means.reshape(*sums.shape[:-1], -1), *(gap[..., None] for gap in gaps), average], -1)

    filled = np.where(known, values.reshape(n, -1), 0.0)
    ends = bootstrap_sums((filled, known.astype(np.float64)), statistics, seed=seed, resamples=resamples)
    estimates = [with_interval(*three) if np.isfinite(three[0]) else None for three in zip(*ends, strict=True)]
    depth = columns + overall
    table = [estimates[start : start + depth] for start in range(0, methods * depth, depth)]
    rest = estimates[methods * depth :]
    return Resampled(table, rest[: len(differences)], rest[len(differences) :])


class GridMaker:
    """Makes grids: of one run by resampling its inputs, of several by resampling the runs."""

    def __init__(self, runs: Sequence[LanguageRun], methods: tuple[Explainer, ...], seed: int) -> None:
        self.runs, self.methods, self.seed = runs, methods, seed
        named = _architectures([one.run for one in runs]) if len(runs) > 1 else []
        names = list(dict.fromkeys(named))
        self.architectures = tuple(Architecture(name, named.count(name)) for name in names)
        self._of_run = np.array([names.index(name) for name in named], np.int64)
        self._random = next((place for place, method in enumerate(methods) if method.random), None)

    def grids(self, measure: Measure, languages: tuple[str, ...], *, each: bool) -> list[Grid]:
        """The mean over languages, then, if requested, each language."""
        read = [
            one.values(measure.metric, [method.labels[place] for method in self.methods], languages)
            for place, one in enumerate(self.runs)
        ]
        stacked = np.stack([layers(one.values) for one in read])  # [runs, methods, 1 + languages]
        observed = _mean_of_runs(stacked)
        shown = (None, *(languages if each else ()))
        best = [self._best(observed[:, layer], higher=measure.higher_is_better) for layer in range(len(shown))]
        differences = list(self._differences(best))
        resampled = self._resampled([one.values for one in read], stacked, differences, self._averaged(observed))
        gaps = dict(zip(differences, resampled.differences, strict=True))
        n = np.stack([_with_total(np.isfinite(one.values).sum(0)) for one in read]).min(0)
        skipped = np.stack([_with_total(one.skipped) for one in read]).max(0)
        conclusive = len(self.runs) > 1 or len(read[0].values) >= FEWEST_INPUTS
        grids = []
        for layer, language in enumerate(shown):
            cells = {
                method.label: GridCell(
                    value=resampled.means[place][layer],
                    n=int(n[place, layer]),
                    skipped=int(skipped[place, layer]),
                    reason=_reason(resampled.means[place][layer], n[place], languages, layer),
                    best=_is_best(place, layer, best[layer], gaps, conclusive=conclusive),
                    difference=self._from_random(place, layer, gaps),
                    by_architecture=self._by_architecture(stacked[:, place, layer]),
                    conclusive=conclusive,
                )
                for place, method in enumerate(self.methods)
                if n[place, layer] or skipped[place, layer]
            }
            grids.append(Grid(measure, language, cells, resampled.averages[layer]))
        return grids

    def languages(self, reference: str, by_language: Sequence[Grid]) -> tuple[LanguageAccuracy, ...]:
        """Accuracy and average faithfulness of each language, the reference first."""
        names = (reference, *(str(grid.language) for grid in by_language))
        right = [one.correct(names) for one in self.runs]
        stacked = np.stack([layers(one) for one in right])
        resampled = self._resampled(right, stacked, [], [])
        n = np.stack([np.isfinite(one).sum(0)[0] for one in right]).min(0)
        averages = (None, *(grid.average for grid in by_language))
        return tuple(
            LanguageAccuracy(
                lang=lang,
                faithfulness=averages[place],
                accuracy=resampled.means[0][place + 1],
                n=int(n[place]),
                by_architecture=self._by_architecture(stacked[:, 0, place + 1]),
            )
            for place, lang in enumerate(names)
        )

    def column(self, grid: Grid) -> dict[str, float]:
        """The value of every method but the random one, by its label."""
        cells = [(one.label, grid.cells.get(one.label)) for one in self.methods if not one.random]
        return {label: cell.value.value for label, cell in cells if cell is not None and cell.value is not None}

    def _resampled(
        self, values: Sequence[FloatArray], stacked: FloatArray, differences: list[Difference], averaged: list[int]
    ) -> Resampled:
        if len(self.runs) == 1:
            return resample(values[0], differences, averaged, overall=True, seed=self.seed)
        return resample(stacked, differences, averaged, overall=False, seed=self.seed)

    def _averaged(self, observed: FloatArray) -> list[int]:
        """The methods that have a value in every language: languages are then averaged over the same methods."""
        whole = np.isfinite(observed[:, 0])
        return [place for place, method in enumerate(self.methods) if whole[place] and not method.random]

    def _best(self, column: FloatArray, *, higher: bool) -> dict[int, int]:
        """For each method with a value the best of its output; the random one is neither."""
        known = [place for place, method in enumerate(self.methods) if not method.random and np.isfinite(column[place])]
        best = {}
        for place in known:
            own = self.methods[place].output
            rivals = [other for other in known if own is None or self.methods[other].output in {None, own}]
            best[place] = (max if higher else min)(rivals, key=lambda other: column[other])
        return best

    def _differences(self, best: Sequence[Mapping[int, int]]) -> Iterator[Difference]:
        """Of each method from the best of its output, and from the random one, in each layer."""
        for layer, pairs in enumerate(best):
            for place, first in pairs.items():
                if place != first:
                    yield Difference(layer, place, first)
                if self._random is not None:
                    yield Difference(layer, place, self._random)

    def _from_random(self, place: int, layer: int, gaps: Mapping[Difference, Estimate | None]) -> Estimate | None:
        return None if self._random is None else gaps.get(Difference(layer, place, self._random))

    def _by_architecture(self, values: FloatArray) -> tuple[Spread | None, ...]:
        """Mean and deviation over the runs of each architecture; `values` has shape [runs]."""
        chosen = [values[(self._of_run == number) & np.isfinite(values)] for number in range(len(self.architectures))]
        return tuple(spread(known) if len(known) else None for known in chosen)


def _is_best(
    place: int, layer: int, best: Mapping[int, int], gaps: Mapping[Difference, Estimate | None], *, conclusive: bool
) -> bool:
    if place not in best or best[place] == place or not conclusive:
        return place in best
    gap = gaps[Difference(layer, place, best[place])]
    return gap is not None and gap.may_be(0.0)


def _reason(value: Estimate | None, n: IntArray, languages: Sequence[str], layer: int) -> str | None:
    """Why there is no value: the languages that have none; `n` has shape [1 + languages]."""
    if value is not None:
        return None
    without = [lang for place, lang in enumerate(languages, 1) if not n[place] and layer in {0, place}]
    return f"no value in {', '.join(without)}"


def _mean_of_runs(stacked: FloatArray) -> FloatArray:
    """Means over the runs that have a value, shape [methods, layers]."""
    known = np.isfinite(stacked)
    return _mean(np.where(known, stacked, 0.0).sum(0), known.sum(0))


def _with_total(counts: IntArray) -> IntArray:
    """Counts of all languages together, then of each: [methods, languages] -> [methods, 1 + languages]."""
    return np.concatenate([counts.sum(-1, keepdims=True), counts], axis=-1)


def _architectures(runs: Sequence[Run]) -> list[str]:
    """The architecture of each run's model, with its size where models of one architecture differ in it."""
    models = [run.manifest.model for run in runs]
    names = [(model.architecture or model.name).removesuffix("ForSequenceClassification") for model in models]
    sizes: dict[str, set[str]] = {}
    for name, model in zip(names, models, strict=True):
        sizes.setdefault(name, set()).add(model.parameters)
    return [
        f"{name} ({model.parameters or '?'} parameters)" if len(sizes[name]) > 1 else name
        for name, model in zip(names, models, strict=True)
    ]
