"""Evaluation across languages as tables: every method x output by language, beside accuracy and other measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from verax.stats.crosslingual_grids import Architecture, Cell, Grid, GridMaker, Language
from verax.stats.crosslingual_relations import Correlation, RankAgreement, Spread, pearson, rank_agreements, spread
from verax.stats.crosslingual_rows import (
    Explainer,
    LanguageRun,
    Measure,
    MeasureName,
    explainers,
    languages_of,
    measures,
    outputs_of,
    reference_of,
)

Over = Literal["inputs", "runs"]


@dataclass(frozen=True, slots=True)
class CrossLingual:
    """A run in several languages, or several runs of models on the same data.

    Args:
        reference: the language that the others are compared with.
        methods: in the order of the run card.
        outputs: what is explained, the columns of the tables.
        overall: faithfulness over all languages by each aligner, that of the tables first (Table 1, Figure 7).
        by_language: of the first aligner (Tables 11 to 17).
        others: comprehensiveness, sufficiency and plausibility, of the reference language (Tables 3 and 4).
        languages: the reference first (Tables 2 and 7).
        correlation: of faithfulness and accuracy over languages.
        spreads: mean and standard deviation of each measure over methods (Section 3.2.3).
        agreements: between the rankings by two measures.
        architectures: of several runs; empty of one.
        runs: how many these are the means of.
        over: what the intervals are over: inputs with all their translations, or runs.
    """

    reference: str
    methods: tuple[Explainer, ...]
    outputs: tuple[str, ...]
    overall: tuple[Grid, ...]
    by_language: tuple[Grid, ...]
    others: tuple[Grid, ...]
    languages: tuple[Language, ...]
    correlation: Correlation
    spreads: Mapping[MeasureName, Spread]
    agreements: tuple[RankAgreement, ...]
    architectures: tuple[Architecture, ...]
    runs: int
    over: Over

    def rows(self, grid: Grid) -> list[tuple[str, bool, tuple[Cell | None, ...]]]:
        """A table: name of the row, whether it is the baseline (last), and a cell for each output."""
        found: dict[tuple[bool, str], list[Cell | None]] = {}
        for method in self.methods:
            cells = found.setdefault((method.random, method.row), [None] * len(self.outputs))
            for place, output in enumerate(self.outputs):
                if method.output in {None, output}:
                    cells[place] = grid.cells.get(method.label)
        there = [(row, random, tuple(cells)) for (random, row), cells in found.items() if any(cells)]
        return sorted(there, key=lambda line: line[1])


def crosslingual(runs: Sequence[LanguageRun], *, seed: int = 0) -> CrossLingual | None:
    """The tables of one run, or of several on the same data; None if the first has no cross-lingual faithfulness."""
    card = runs[0].card
    found = [measure for measure in measures(card) if _has_scores(runs[0], measure)]
    across = [measure for measure in found if measure.name == "faithfulness"]
    reference = reference_of(card)
    others = languages_of(runs[0].instances, reference)
    if not across or not others:
        return None
    shared = set.intersection(*({method.label for method in explainers(run.card)} for run in runs))
    methods = tuple(method for method in explainers(card) if method.label in shared)
    made = GridMaker(runs, methods, outputs_of(methods), seed)
    overall, *by_language = made.grids(across[0], others, each=True)
    by_aligner = (overall, *(made.grids(measure, others, each=False)[0] for measure in across[1:]))
    rest = tuple(
        grid
        for measure in found
        if measure.name != "faithfulness" and made.column(grid := made.grids(measure, (reference,), each=False)[0])
    )
    languages = made.languages(reference, by_language)
    known = [(one.faithfulness.value, one.accuracy.value) for one in languages if one.faithfulness and one.accuracy]
    columns = {grid.measure.name: made.column(grid) for grid in (overall, *rest)}
    return CrossLingual(
        reference=reference,
        methods=methods,
        outputs=made.outputs,
        overall=by_aligner,
        by_language=tuple(by_language),
        others=rest,
        languages=languages,
        correlation=pearson(known, "languages"),
        spreads={name: spread(list(column.values())) for name, column in columns.items() if column},
        agreements=rank_agreements(columns, {g.measure.name: g.measure.higher_is_better for g in (overall, *rest)}),
        architectures=made.architectures,
        runs=len(runs),
        over="inputs" if len(runs) == 1 else "runs",
    )


def _has_scores(run: LanguageRun, measure: Measure) -> bool:
    return any(score.metric == measure.metric for score in run.scores)
