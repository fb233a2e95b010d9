"""One measure of every method, over all languages and in each: values, intervals, and who is best."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from verax.stats.crosslingual_means import Contrast, Resampled, layers, resample_groups, resample_runs
from verax.stats.crosslingual_relations import Spread, spread
from verax.stats.crosslingual_rows import Explainer, LanguageRun, Measure, correct, values_of
from verax.stats.unified import holds_zero
from verax.types import Estimate, FloatArray

FEWEST = 6
"""Inputs below which nothing is told apart: a paired test of five can't reach 0.05."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One method under one measure, over all languages or in one.

    Args:
        value: the mean with its interval; None with `reason`.
        n, skipped: instances that have a value, and that have a reason instead; of several runs the fewest and most.
        best: whether it is the best of its output, or can't be told apart from it: the 95 % interval of their
            difference holds 0. Never of the random explanation.
        difference: how far it lies above the random explanation; None of that itself, and where there is none.
        by_architecture: mean and standard deviation over the runs of each architecture; empty of one run.
        told: whether there are inputs enough to tell any two methods apart.
    """

    value: Estimate | None
    n: int
    skipped: int
    reason: str | None = None
    best: bool = False
    difference: Estimate | None = None
    by_architecture: tuple[Spread | None, ...] = ()
    told: bool = True

    @property
    def like_random(self) -> bool:
        """Whether the interval of the difference holds 0, or is of too few inputs to mean anything."""
        return self.difference is not None and (not self.told or holds_zero(self.difference))


@dataclass(frozen=True, slots=True)
class Grid:
    """One measure of every method.

    Args:
        language: None for the mean over languages.
        cells: by the method's label.
        average: over the methods that have a value in all languages, without the random one.
    """

    measure: Measure
    language: str | None
    cells: Mapping[str, Cell]
    average: Estimate | None


class Architecture(NamedTuple):
    """Runs of models of the same architecture and size, which differ in their seed."""

    name: str
    runs: int


@dataclass(frozen=True, slots=True)
class Language:
    """How well the model knows a language, and how faithful explanations are in it, averaged over methods.

    Args:
        faithfulness: None of the reference language, and where no method has a value.
        accuracy: over the `n` instances that can be judged.
        by_architecture: accuracy over the runs of each architecture; empty of one run.
    """

    lang: str
    faithfulness: Estimate | None
    accuracy: Estimate | None
    n: int
    by_architecture: tuple[Spread | None, ...] = ()


class GridMaker:
    """Makes grids of one run by resampling its inputs, of several by resampling the runs."""

    def __init__(
        self, runs: Sequence[LanguageRun], methods: tuple[Explainer, ...], outputs: tuple[str, ...], seed: int
    ) -> None:
        self.runs, self.methods, self.outputs, self.seed = runs, methods, outputs, seed
        named = _architectures([run.card for run in runs]) if len(runs) > 1 else []
        names = list(dict.fromkeys(named))
        self.architectures = tuple(Architecture(name, named.count(name)) for name in names)
        self._of_run = np.array([names.index(name) for name in named], np.int64)

    def grids(self, measure: Measure, languages: tuple[str, ...], *, each: bool) -> list[Grid]:
        """The mean over languages, then, if it is asked for, each language."""
        labels = [method.label for method in self.methods]
        read = [values_of(run, measure.metric, labels, languages) for run in self.runs]
        stacked = np.stack([layers(one.values) for one in read])  # [runs, methods, 1 + languages]
        observed = _mean_of_runs(stacked)
        told = (None, *(languages if each else ()))
        contrasts = list(self._contrasts(observed[:, : len(told)], higher=measure.higher_is_better))
        averaged = self._averaged(observed)
        found = self._resampled([one.values for one in read], stacked, contrasts, averaged)
        gaps = dict(zip(contrasts, found.contrasts, strict=True))
        n = np.stack([_with_total(np.isfinite(one.values).sum(0)) for one in read]).min(0)
        skipped = np.stack([_with_total(one.skipped) for one in read]).max(0)
        enough = len(self.runs) > 1 or len(read[0].values) >= FEWEST
        grids = []
        for layer, language in enumerate(told):
            best = self._best(observed[:, layer], higher=measure.higher_is_better)
            cells = {}
            for place, label in enumerate(labels):
                if not n[place, layer] and not skipped[place, layer]:
                    continue
                cells[label] = Cell(
                    value=found.means[place][layer],
                    n=int(n[place, layer]),
                    skipped=int(skipped[place, layer]),
                    reason=_reason(found.means[place][layer], n[place], languages, layer),
                    best=self._is_best(place, layer, best, gaps, enough=enough),
                    difference=self._difference(place, layer, gaps),
                    by_architecture=self._by_architecture(stacked[:, place, layer]),
                    told=enough,
                )
            grids.append(Grid(measure, language, cells, found.averages[layer]))
        return grids

    def languages(self, reference: str, by_language: Sequence[Grid]) -> tuple[Language, ...]:
        """Accuracy and average faithfulness of each language."""
        names = (reference, *(str(grid.language) for grid in by_language))
        right = [correct(run, names) for run in self.runs]
        stacked = np.stack([layers(one) for one in right])
        found = self._resampled(right, stacked, [], [])
        n = np.stack([np.isfinite(one).sum(0)[0] for one in right]).min(0)
        averages = (None, *(grid.average for grid in by_language))
        return tuple(
            Language(
                lang=lang,
                faithfulness=averages[place],
                accuracy=found.means[0][place + 1],
                n=int(n[place]),
                by_architecture=self._by_architecture(stacked[:, 0, place + 1]),
            )
            for place, lang in enumerate(names)
        )

    def column(self, grid: Grid) -> dict[str, float]:
        """The value of every method but the random one."""
        chosen = [method.label for method in self.methods if not method.random]
        return {
            label: cell.value.value for label in chosen if (cell := grid.cells.get(label)) is not None and cell.value
        }

    def _resampled(
        self, values: Sequence[FloatArray], stacked: FloatArray, contrasts: list[Contrast], averaged: list[int]
    ) -> Resampled:
        if len(self.runs) == 1:
            return resample_groups(values[0], contrasts, averaged, seed=self.seed)
        return resample_runs(stacked, contrasts, averaged, seed=self.seed)

    def _averaged(self, observed: FloatArray) -> list[int]:
        """The methods that have a value in every language: averages of languages are then over the same methods."""
        whole = np.isfinite(observed[:, 0])
        return [place for place, method in enumerate(self.methods) if whole[place] and not method.random]

    def _rivals(self, place: int) -> list[int]:
        """The methods in the same column as one."""
        mine = self.methods[place].output
        return [
            other
            for other, method in enumerate(self.methods)
            if not method.random and (mine is None or method.output in {None, mine})
        ]

    def _best(self, column: FloatArray, *, higher: bool) -> dict[int, int]:
        """For each method the best one of its column."""
        found = {}
        for place, method in enumerate(self.methods):
            known = [other for other in self._rivals(place) if np.isfinite(column[other])]
            if not method.random and known and np.isfinite(column[place]):
                found[place] = (max if higher else min)(known, key=lambda other: column[other])
        return found

    def _contrasts(self, observed: FloatArray, *, higher: bool) -> Iterator[Contrast]:
        """Each method with the best of its column, and with the random one."""
        random = next((place for place, method in enumerate(self.methods) if method.random), None)
        for layer in range(observed.shape[1]):
            for place, best in self._best(observed[:, layer], higher=higher).items():
                if place != best:
                    yield Contrast(layer, place, best)
                if random is not None:
                    yield Contrast(layer, place, random)

    def _is_best(
        self, place: int, layer: int, best: Mapping[int, int], gaps: Mapping[Contrast, Estimate | None], *, enough: bool
    ) -> bool:
        if place not in best or best[place] == place or not enough:
            return place in best
        gap = gaps[Contrast(layer, place, best[place])]
        return gap is not None and holds_zero(gap)

    def _difference(self, place: int, layer: int, gaps: Mapping[Contrast, Estimate | None]) -> Estimate | None:
        random = [other for other, method in enumerate(self.methods) if method.random]
        return gaps.get(Contrast(layer, place, random[0])) if random else None

    def _by_architecture(self, values: FloatArray) -> tuple[Spread | None, ...]:
        """Mean and deviation over the runs of each architecture; `values` has shape [runs]."""
        found = []
        for number in range(len(self.architectures)):
            known = [float(value) for value in values[self._of_run == number] if np.isfinite(value)]
            found.append(spread(known) if known else None)
        return tuple(found)


def _reason(value: Estimate | None, n: Any, languages: Sequence[str], layer: int) -> str | None:
    """Why there is no value: which languages have none."""
    if value is not None:
        return None
    without = [lang for place, lang in enumerate(languages, 1) if not n[place] and layer in {0, place}]
    return f"no value in {', '.join(without)}"


def _mean_of_runs(stacked: FloatArray) -> FloatArray:
    """Means over the runs that have a value, shape [methods, layers]."""
    known = np.isfinite(stacked)
    sums = np.where(known, stacked, 0.0).sum(0)
    return np.asarray(np.divide(sums, known.sum(0), out=np.full(sums.shape, np.nan), where=known.any(0)))


def _with_total(counts: Any) -> Any:
    """Counts of all languages together, then of each: [methods, languages] -> [methods, 1 + languages]."""
    return np.concatenate([counts.sum(-1, keepdims=True), counts], axis=-1)


def _architectures(cards: Sequence[Mapping[str, Any]]) -> list[str]:
    """What the models of runs are called in tables; with their size where two of a name differ in it."""
    facts = [_facts(card) for card in cards]
    sizes: dict[str, set[str]] = {}
    for name, size in facts:
        sizes.setdefault(name, set()).add(size)
    return [f"{name} ({size} parameters)" if len(sizes[name]) > 1 else name for name, size in facts]


def _facts(card: Mapping[str, Any]) -> tuple[str, str]:
    model = card.get("model")
    known = model if isinstance(model, Mapping) else {}
    name = str(known.get("architecture") or known.get("name") or "model")
    return name.removesuffix("ForSequenceClassification"), str(known.get("parameters", "?"))
