"""One measure of every method, over all languages and in each: means, intervals, and which methods are best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from verax.results.run import Run
from verax.stats.correlation import Spread, spread
from verax.stats.intervals import RESAMPLES, bootstrap_sums, with_interval
from verax.stats.joint import JointTest, joint_test
from verax.studies.crosslingual.rows import Explainer, LanguageRun, Measure, MeasureValues, randomised_row
from verax.types import Estimate, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class GridCell:
    """One method under one measure, over all languages or in one.

    Args:
        value: the mean with its interval; None with `reason`.
        n, skipped: instances with a value, and with a reason instead; of several runs the fewest and the most.
        best: whether no other method of its output is significantly better. Never for baselines and controls.
        difference: from the random explanation; None for that itself, and where a run has none.
        p: of that difference, in the joint test of all methods under the measure.
        better, worse: significantly different from random, in which direction.
        like_random: not significantly different, although it could have been.
        above_form: whether it is significantly better than the best content-free scores; None for baselines and
            controls, and without such scores.
        above_randomised: whether it is significantly better than the same method applied to randomised weights; None
            where that was not run.
        by_architecture: mean and standard deviation over the runs of each architecture; empty for one run.
    """

    value: Estimate | None
    n: int
    skipped: int
    reason: str | None = None
    best: bool = False
    difference: Estimate | None = None
    p: float | None = None
    better: bool = False
    worse: bool = False
    like_random: bool = False
    above_form: bool | None = None
    above_randomised: bool | None = None
    by_architecture: tuple[Spread | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Grid:
    """One measure of every method.

    Args:
        language: None for the mean over languages.
        cells: by the method's label in the first run.
        average: over the methods that have a value in all languages, without baselines and controls.
        average_by_architecture: mean and deviation of that average over the runs of each architecture.
        test: the joint test of all methods of the study, in their order.
        form: label of the best content-free scores; None without any.
    """

    measure: Measure
    language: str | None
    cells: Mapping[str, GridCell]
    average: Estimate | None
    test: JointTest
    form: str | None = None
    average_by_architecture: tuple[Spread | None, ...] = ()


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
        faithfulness_by_architecture: faithfulness likewise; empty for the reference too.
    """

    lang: str
    faithfulness: Estimate | None
    accuracy: Estimate | None
    n: int
    by_architecture: tuple[Spread | None, ...] = ()
    faithfulness_by_architecture: tuple[Spread | None, ...] = ()


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
        self._random = next((place for place, method in enumerate(methods) if method.role == "random"), None)
        self._form = [place for place, method in enumerate(methods) if method.role == "content_free"]
        places = {(method.row, method.output): place for place, method in enumerate(methods)}
        self._randomised = [places.get((randomised_row(method.row), method.output)) for method in methods]

    @property
    def sequential(self) -> bool:
        """Whether results decided how many inputs there are; with several runs, the units of the test are runs."""
        return len(self.runs) == 1 and self.runs[0].run.manifest.sequential

    def grids(self, measure: Measure, languages: tuple[str, ...], *, each: bool) -> list[Grid]:
        """The mean over languages, then, if requested, each language."""
        return self.grids_of(self.read(measure, languages), measure, languages, each=each)

    def read(self, measure: Measure, languages: tuple[str, ...]) -> list[MeasureValues]:
        """The values of a measure in each run."""
        return [
            one.values(measure.metric, [method.labels[place] for method in self.methods], languages)
            for place, one in enumerate(self.runs)
        ]

    def grids_of(
        self, read: Sequence[MeasureValues], measure: Measure, languages: tuple[str, ...], *, each: bool
    ) -> list[Grid]:
        """Grids of the values of each run."""
        stacked = np.stack([layers(one.values) for one in read])  # [runs, methods, 1 + languages]
        shown = (None, *(languages if each else ()))
        differences = [Difference(layer, place, other) for layer in range(len(shown)) for place, other in self._rivals]
        averaged = self._averaged(_mean_of_runs(stacked))
        resampled = self._resampled([one.values for one in read], stacked, differences, averaged)
        gaps = dict(zip(differences, resampled.differences, strict=True))
        n = np.stack([_with_total(np.isfinite(one.values).sum(0)) for one in read]).min(0)
        skipped = np.stack([_with_total(one.skipped) for one in read]).max(0)
        tolerance = max(one.run.manifest.tolerance(measure.metric) for one in self.runs)
        grids = []
        for layer, language in enumerate(shown):
            units = by_layer(read[0].values, layer) if len(read) == 1 else stacked[:, :, layer]
            test = joint_test(
                units,
                higher_is_better=measure.higher_is_better,
                tolerance=tolerance,
                seed=self.seed,
                sequential=self.sequential,
            )
            form = test.strongest([place for place in self._form if n[place, layer]])
            cells = {}
            for place, method in enumerate(self.methods):
                if not (n[place, layer] or skipped[place, layer]):
                    continue
                value = resampled.means[place][layer]
                random = None if method.role == "random" or value is None else self._random
                control = self._randomised[place] if value is not None else None
                cells[method.label] = GridCell(
                    value=value,
                    n=int(n[place, layer]),
                    skipped=int(skipped[place, layer]),
                    reason=_reason(value, n[place], languages, layer),
                    best=value is not None and self._is_best(place, test) and not test.undecided(place, random),
                    difference=None if random is None else gaps[Difference(layer, place, random)],
                    **test.against(place, random)._asdict(),
                    above_form=test.beats(place, form) if form is not None and method.is_method else None,
                    above_randomised=None if control is None else test.beats(place, control),
                    by_architecture=self._by_architecture(stacked[:, place, layer]),
                )
            best = None if form is None else self.methods[form].label
            by_run = stacked[:, averaged, layer].mean(1) if averaged else np.full(len(stacked), np.nan)
            average = (resampled.averages[layer], test, best, self._by_architecture(by_run))
            grids.append(Grid(measure, language, cells, *average))
        return grids

    def languages(self, reference: str, by_language: Sequence[Grid]) -> tuple[LanguageAccuracy, ...]:
        """Accuracy and average faithfulness of each language, the reference first."""
        names = (reference, *(str(grid.language) for grid in by_language))
        right = [one.correct(names) for one in self.runs]
        stacked = np.stack([layers(one) for one in right])
        resampled = self._resampled(right, stacked, [], [])
        n = np.stack([np.isfinite(one).sum(0)[0] for one in right]).min(0)
        averages = (None, *(grid.average for grid in by_language))
        spreads = ((), *(grid.average_by_architecture for grid in by_language))
        return tuple(
            LanguageAccuracy(
                lang=lang,
                faithfulness=averages[place],
                accuracy=resampled.means[0][place + 1],
                n=int(n[place]),
                by_architecture=self._by_architecture(stacked[:, 0, place + 1]),
                faithfulness_by_architecture=spreads[place],
            )
            for place, lang in enumerate(names)
        )

    def column(self, grid: Grid) -> dict[str, float]:
        """The value of every method, without baselines and controls, by its label."""
        cells = [(one.label, grid.cells.get(one.label)) for one in self.methods if one.is_method]
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
        return [place for place, method in enumerate(self.methods) if whole[place] and method.is_method]

    @property
    def _rivals(self) -> list[tuple[int, int]]:
        """Everything else with the random explanation."""
        if self._random is None:
            return []
        return [(place, self._random) for place, method in enumerate(self.methods) if method.role != "random"]

    def _is_best(self, place: int, test: JointTest) -> bool:
        """Whether a method may be the best among those that explain the same output."""
        own = self.methods[place].output
        among = [i for i, other in enumerate(self.methods) if own is None or other.output in {None, own}]
        return place in test.best([i for i in among if not self.methods[i].is_method], among)

    def _by_architecture(self, values: FloatArray) -> tuple[Spread | None, ...]:
        """Mean and deviation over the runs of each architecture; `values` has shape [runs]."""
        chosen = [values[(self._of_run == number) & np.isfinite(values)] for number in range(len(self.architectures))]
        return tuple(spread(known) if len(known) else None for known in chosen)


def by_layer(values: FloatArray, layer: int) -> FloatArray:
    """The values that one input has in a layer, translations averaged in the first: -> [groups, methods].

    Args:
        values: shape [groups, methods, languages], NaN where there is none.
        layer: 0 for all languages together, then each language.
    """
    if layer:
        return values[:, :, layer - 1]
    known = np.isfinite(values)
    return _mean(np.where(known, values, 0.0).sum(-1), known.sum(-1))


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
