"""Evaluation across languages: every method by output and language, compared with accuracy and other measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, NamedTuple

from verax.results.matching import require_different_models, require_equal
from verax.results.run import Run
from verax.stats.correlation import Correlation, Spread, kendall, pearson, spread
from verax.studies.crosslingual.grids import Architecture, Grid, GridCell, GridMaker, LanguageAccuracy
from verax.studies.crosslingual.rows import (
    METRIC,
    Explainer,
    LanguageRun,
    Measure,
    MeasureName,
    explainers,
    measures,
    outputs_of,
    reference_of,
)
from verax.types import UserError


class RankAgreement(NamedTuple):
    """Kendall's tau between the rankings of the same methods by two measures, the better first in both."""

    first: MeasureName
    second: MeasureName
    tau: Correlation


class GridRow(NamedTuple):
    """A row of a table: a method with its aggregation, and a cell for each output."""

    name: str
    random: bool
    cells: tuple[GridCell | None, ...]


@dataclass(frozen=True, slots=True)
class CrossLingual:
    """A run in several languages, or several runs of models on the same data.

    Args:
        reference: the language that the others are compared with.
        methods: in the order of the manifest.
        outputs: what is explained, the columns of the tables.
        overall: faithfulness over all languages by each aligner, that of the tables first (Table 1, Figure 7).
        by_language: with the first aligner (Tables 11 to 17).
        others: comprehensiveness, sufficiency and plausibility in the reference language (Tables 3 and 4).
        languages: the reference first (Tables 2 and 7).
        correlation: of faithfulness and accuracy over languages.
        spreads: mean and standard deviation of each measure over methods (Section 3.2.3).
        agreements: between the rankings by two measures.
        architectures: of several runs; empty for one.
        runs: number of runs that values are the means of.
        over: what the intervals are over: inputs with all their translations, or runs.
        left_out: methods and metrics that not all runs have.
    """

    reference: str
    methods: tuple[Explainer, ...]
    outputs: tuple[str, ...]
    overall: tuple[Grid, ...]
    by_language: tuple[Grid, ...]
    others: tuple[Grid, ...]
    languages: tuple[LanguageAccuracy, ...]
    correlation: Correlation
    spreads: Mapping[MeasureName, Spread]
    agreements: tuple[RankAgreement, ...]
    architectures: tuple[Architecture, ...]
    runs: int
    over: Literal["inputs", "runs"]
    left_out: tuple[str, ...] = ()

    def rows(self, grid: Grid) -> list[GridRow]:
        """The rows of a grid that have a cell, the baseline last."""
        rows: dict[tuple[bool, str], list[GridCell | None]] = {}
        for method in self.methods:
            cells = rows.setdefault((method.random, method.row), [None] * len(self.outputs))
            for place, output in enumerate(self.outputs):
                if method.output in {None, output}:
                    cells[place] = grid.cells.get(method.label)
        found = [GridRow(name, random, tuple(cells)) for (random, name), cells in rows.items() if any(cells)]
        return sorted(found, key=lambda row: row.random)


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
    by_aligner = (overall, *(made.grids(measure, others, each=False)[0] for measure in across[1:]))
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
        by_language=tuple(by_language),
        others=tuple(rest),
        languages=languages,
        correlation=pearson(known, "languages"),
        spreads={measure.name: spread(list(column.values())) for measure, column in columns.items() if column},
        agreements=rank_agreements(columns),
        architectures=made.architectures,
        runs=len(runs),
        over="inputs" if len(runs) == 1 else "runs",
        left_out=(*unmatched, *_not_shared(read)),
    )


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
