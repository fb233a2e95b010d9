"""Evaluation across languages: every method by output and language, compared with accuracy and other measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

from verax.results.matching import require_different_models, require_equal
from verax.results.run import Run
from verax.stats.correlation import Correlation, Spread, kendall, pearson, spread
from verax.studies.crosslingual.conditions import LinkQuality, PredictionSplit, link_quality, split_by_prediction
from verax.studies.crosslingual.grids import Architecture, Grid, GridCell, GridMaker, LanguageAccuracy
from verax.studies.crosslingual.rows import (
    METRIC,
    ROLES,
    Explainer,
    LanguageRun,
    Measure,
    MeasureName,
    Role,
    explainers,
    measures,
    outputs_of,
    reference_of,
)
from verax.studies.marks import JOINT_TEST, SEQUENTIAL_TEST
from verax.types import UserError

TOP = 5
"""Most accurate languages of a model, the reference among them, that are candidates for an evaluation (Section 3.2)."""


class RankAgreement(NamedTuple):
    """Kendall's tau between the rankings of the same methods by two measures, the better first in both."""

    first: MeasureName
    second: MeasureName
    tau: Correlation


class GridRow(NamedTuple):
    """A row of a table: a method with its aggregation, and a cell for each output."""

    name: str
    role: Role
    cells: tuple[GridCell | None, ...]


@dataclass(frozen=True, slots=True)
class CrossLingual:
    """A run in several languages, or several runs of models on the same data.

    Args:
        reference: the language that the others are compared with.
        outputs: what is explained, the columns of the tables.
        overall: faithfulness over all languages by each aligner, that of the tables first (Table 1, Figure 7).
        partial: the same with features of the form of words held constant.
        by_language: with the first aligner (Tables 11 to 17).
        others: comprehensiveness, sufficiency and plausibility in the reference language (Tables 3 and 4).
        languages: the reference first (Tables 2 and 7).
        common: languages, without the reference, among the `TOP` most accurate ones of every architecture.
        map_by_language: plausibility in each language in which it was measured, if there are several (Table 5).
        split: faithfulness where both languages have the same prediction, and where they have not.
        spreads: mean and standard deviation of each measure over methods (Section 3.2.3).
        architectures: of several runs; empty for one.
        over: what the intervals are over: inputs with all their translations, or runs.
        notes: which tests the marks come from.
    """

    reference: str
    methods: tuple[Explainer, ...]
    outputs: tuple[str, ...]
    overall: tuple[Grid, ...]
    partial: tuple[Grid, ...]
    by_language: tuple[Grid, ...]
    others: tuple[Grid, ...]
    languages: tuple[LanguageAccuracy, ...]
    common: tuple[str, ...]
    map_by_language: tuple[Grid, ...]
    split: PredictionSplit | None
    quality: LinkQuality | None
    correlation: Correlation
    spreads: Mapping[MeasureName, Spread]
    agreements: tuple[RankAgreement, ...]
    architectures: tuple[Architecture, ...]
    runs: int
    over: Literal["inputs", "runs"]
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def rows(self, grid: Grid) -> list[GridRow]:
        """The rows of a grid that have a cell: methods, then controls and baselines, random scores last."""
        rows: dict[tuple[Role, str], list[GridCell | None]] = {}
        for method in self.methods:
            cells = rows.setdefault((method.role, method.row), [None] * len(self.outputs))
            for place, output in enumerate(self.outputs):
                if method.output in {None, output}:
                    cells[place] = grid.cells.get(method.label)
        found = [GridRow(name, role, tuple(cells)) for (role, name), cells in rows.items() if any(cells)]
        return sorted(found, key=lambda row: ROLES.index(row.role))


def analyse(runs: Sequence[Run], *, seed: int = 0) -> CrossLingual | None:
    """The tables of one run, or of several of different models on the same data.

    None if no run has cross-lingual faithfulness in a language other than its reference.
    """
    read = [LanguageRun(run) for run in runs]
    applicable = [one for one in read if _faithfulness(one) and one.others(reference_of(one.run.manifest))]
    if not applicable:
        return None
    _require_together(read, applicable)
    manifest = runs[0].manifest
    reference = reference_of(manifest)
    others = read[0].others(reference)
    methods, unmatched = explainers(runs)
    shown = [one for one in measures(manifest) if all(run.measured(one) for run in read)]
    made = GridMaker(read, methods, seed)
    across = [measure for measure in shown if measure.name == "faithfulness"]
    overall, *by_language = made.grids(across[0], others, each=True)
    rest_across = [made.grids(measure, others, each=False)[0] for measure in across[1:]]
    by_aligner = (overall, *(grid for grid in rest_across if not grid.measure.controlling))
    rest = [made.grids(measure, (reference,), each=False)[0] for measure in shown if measure.name != "faithfulness"]
    rest = [grid for grid in rest if made.column(grid)]
    columns = {grid.measure: made.column(grid) for grid in (overall, *rest)}
    languages = made.languages(reference, by_language)
    known = [(one.faithfulness.value, one.accuracy.value) for one in languages if one.faithfulness and one.accuracy]
    return CrossLingual(
        reference=reference,
        methods=methods,
        outputs=outputs_of(methods),
        overall=by_aligner,
        partial=tuple(grid for grid in rest_across if grid.measure.controlling),
        by_language=tuple(by_language),
        others=tuple(rest),
        languages=languages,
        common=common_languages(languages, reference),
        map_by_language=_map_by_language(made, shown, (reference, *others)),
        split=split_by_prediction(made, across[0], reference, others),
        quality=link_quality(made, across[0], others),
        correlation=pearson(known, "languages"),
        spreads={measure.name: spread(list(column.values())) for measure, column in columns.items() if column},
        agreements=rank_agreements(columns),
        architectures=made.architectures,
        runs=len(runs),
        over="inputs" if len(runs) == 1 else "runs",
        left_out=(*unmatched, *_not_shared(read)),
        notes=(SEQUENTIAL_TEST if made.sequential else JOINT_TEST,),
    )


def common_languages(languages: Sequence[LanguageAccuracy], reference: str) -> tuple[str, ...]:
    """Languages, without the reference, among the `TOP` most accurate ones of every architecture, or of the one run."""
    columns = zip(*(one.by_architecture or (one.accuracy,) for one in languages), strict=True)
    common = {one.lang for one in languages}
    for column in columns:
        known = {one.lang: value[0] for one, value in zip(languages, column, strict=True) if value is not None}
        common &= set(sorted(known, key=lambda lang: -known[lang])[:TOP])
    return tuple(one.lang for one in languages if one.lang in common and one.lang != reference)


def _map_by_language(made: GridMaker, shown: Sequence[Measure], languages: tuple[str, ...]) -> tuple[Grid, ...]:
    """Plausibility in each language, if it was measured in several."""
    measure = next((one for one in shown if one.name == "plausibility"), None)
    if measure is None:
        return ()
    grids = [grid for grid in made.grids(measure, languages, each=True)[1:] if made.column(grid)]
    return tuple(grids) if len(grids) > 1 else ()


def _faithfulness(one: LanguageRun) -> list[Measure]:
    """Cross-lingual faithfulness by each aligner that a run has scores of."""
    found = measures(one.run.manifest)
    return [measure for measure in found if measure.name == "faithfulness" and one.measured(measure)]


def _require_together(runs: Sequence[LanguageRun], applicable: Sequence[LanguageRun]) -> None:
    """Refuse runs whose mean has no meaning: of different inputs, measured differently, or of the same model."""
    for one in runs:
        if one not in applicable:
            raise UserError(
                f"{one.run.folder} has no scores of {METRIC} in a language other than the reference, and "
                f"{applicable[0].run.folder} has"
            )
    folders = [one.run for one in runs]
    metrics = {one.run.folder: tuple(sorted(measure.metric for measure in _faithfulness(one))) for one in runs}
    facts = {
        "the data (inputs)": lambda run: run.manifest.data.hash,
        "faithfulness": lambda run: metrics[run.folder],
    }
    require_equal(folders, facts, "averaged")
    require_different_models(folders)


def _not_shared(runs: Sequence[LanguageRun]) -> list[str]:
    """Metrics of the tables that some runs have scores of and others do not."""
    metrics = [[measure.metric for measure in measures(one.run.manifest) if one.measured(measure)] for one in runs]
    every = dict.fromkeys(metric for of_run in metrics for metric in of_run)
    return [metric for metric in every if not all(metric in of_run for of_run in metrics)]


def rank_agreements(columns: Mapping[Measure, Mapping[str, float]]) -> tuple[RankAgreement, ...]:
    """Every two measures, over the methods that both have a value of; `columns` has the values by method."""
    agreements = []
    for first, second in combinations(columns, 2):
        shared = [method for method in columns[first] if method in columns[second]]
        pairs = [(_rank_value(first, columns, method), _rank_value(second, columns, method)) for method in shared]
        agreements.append(RankAgreement(first.name, second.name, kendall(pairs, "methods")))
    return tuple(agreements)


def _rank_value(measure: Measure, columns: Mapping[Measure, Mapping[str, float]], method: str) -> float:
    """The value of a method, higher for better."""
    value = columns[measure][method]
    return value if measure.higher_is_better else -value
