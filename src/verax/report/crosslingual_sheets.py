"""Evaluation across languages as plain tables of cells, which the page, the terminal and papers all show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verax.report.crosslingual_words import (
    DEVIATION_SAID,
    SIGNS_SAID,
    TITLES,
    arrow,
    bare,
    correlation,
    correlation_said,
    counts,
    deviating,
    intervals_said,
    measured,
    output_name,
    shown,
    title,
)
from verax.report.sheet import Sheet
from verax.report.unified_words import ends
from verax.results.render.numbers import MISSING, count, number
from verax.stats.crosslingual import CrossLingual
from verax.stats.crosslingual_grids import Cell, Grid
from verax.types import Estimate


def sheets(found: CrossLingual) -> list[Sheet]:
    """All tables: over all languages, by language, languages and accuracy, other measures, their comparison."""
    made = of_grid(found, found.overall[0])
    made += [_side_by_side(found)] if len(found.overall) > 1 else []
    for grid in found.by_language:
        made += of_grid(found, grid)
    made.append(of_languages(found))
    for grid in found.others:
        made += of_grid(found, grid)
    return [*made, *comparison(found)]


def of_grid(found: CrossLingual, grid: Grid) -> list[Sheet]:
    """One measure: methods by outputs, and of several runs the same by architecture."""
    return [_by_output(found, grid), *([_by_architecture(found, grid)] if found.architectures else [])]


def _by_output(found: CrossLingual, grid: Grid) -> Sheet:
    heads = ("Method", *map(output_name, found.outputs), "n", "Skipped")
    rows = tuple((row, *map(shown, cells), *counts(cells)) for row, _, cells in found.rows(grid))
    said = " ".join([measured(found, grid), *_reasons(found.rows(grid))])
    return Sheet(title(grid), said, heads, rows, (intervals_said(found), SIGNS_SAID))


def _reasons(rows: Sequence[tuple[str, bool, tuple[Cell | None, ...]]]) -> Iterator[str]:
    """Why methods have no value."""
    for row, _, cells in rows:
        reasons = dict.fromkeys(cell.reason for cell in cells if cell is not None and cell.reason)
        yield from (f"{row}: {reason}." for reason in reasons)


def _by_architecture(found: CrossLingual, grid: Grid) -> Sheet:
    """Methods by outputs of each architecture: mean and standard deviation over its seeds."""
    named = [f"{one.name} ({one.runs})" for one in found.architectures]
    heads = ("Method", *(f"{name} {output_name(output)}" for name in named for output in found.outputs))
    rows = tuple(
        (
            row,
            *(
                deviating(None if cell is None else cell.by_architecture[place])
                for place in range(len(named))
                for cell in cells
            ),
        )
        for row, _, cells in found.rows(grid)
    )
    said = "Mean ± standard deviation over the runs of each architecture (how many: in brackets)."
    return Sheet(f"{title(grid)}, by architecture", said, heads, rows, (DEVIATION_SAID,))


def _side_by_side(found: CrossLingual) -> Sheet:
    """The same methods with each aligner."""
    columns = [(grid, place) for grid in found.overall for place in range(len(found.outputs))]
    by_row = [{row: cells for row, _, cells in found.rows(grid)} for grid in found.overall]
    heads = ("Method", *(f"{grid.measure.aligner}: {output_name(found.outputs[place])}" for grid, place in columns))
    names = dict.fromkeys(row for rows in by_row for row in rows)
    blank = (None,) * len(found.outputs)
    rows = tuple((row, *(bare(cell) for cells in by_row for cell in cells.get(row, blank))) for row in names)
    said = "The same with other links between the words: with random ones nothing should be left of it."
    return Sheet("Cross-lingual faithfulness by aligner", said, heads, rows)


def of_languages(found: CrossLingual) -> Sheet:
    """Faithfulness averaged over methods, and accuracy, of each language."""
    heads: tuple[str, ...] = ("Language", "Faithfulness", "Accuracy", "n")
    heads += tuple(f"Accuracy, {one.name} ({one.runs})" for one in found.architectures)
    rows = []
    for one in found.languages:
        name = f"{one.lang} (reference)" if one.lang == found.reference else one.lang
        spreads = tuple(map(deviating, one.by_architecture))
        rows.append((name, _interval(one.faithfulness), _interval(one.accuracy), count(one.n), *spreads))
    said = (
        "Faithfulness averaged over all methods, outputs and aggregations that have a value in every language, without "
        f"random. {correlation_said(found)}"
    )
    return Sheet("Faithfulness and accuracy by language", said, heads, tuple(rows), (intervals_said(found),))


def _interval(value: Estimate | None) -> str:
    return MISSING if value is None else f"{number(value.value)} {ends(value)}".rstrip()


def comparison(found: CrossLingual) -> list[Sheet]:
    """How far measures spread over methods, and whether they rank them alike; nothing of one measure alone."""
    if not found.others:
        return []
    grids = {grid.measure.name: grid for grid in (found.overall[0], *found.others)}
    spreads = tuple(
        (f"{TITLES[name]} {arrow(grids[name])}", number(one.mean), number(one.sd), count(one.n))
        for name, one in found.spreads.items()
    )
    said = (
        "Mean and standard deviation of each measure over the methods (random left out). A measure that spreads little "
        "beside its intervals tells methods apart badly; scales differ."
    )
    ranked = tuple(
        (f"{TITLES[one.first]}, {TITLES[one.second].lower()}", correlation(one.tau), count(one.tau.n))
        for one in found.agreements
    )
    ranked_said = (
        "Kendall's tau between two rankings of the methods, the better first in both: 1 the same, 0 unrelated, "
        "-1 turned round."
    )
    return [
        Sheet("Spread over methods", said, ("Measure", "Mean", "Deviation", "Methods"), spreads, (DEVIATION_SAID,)),
        Sheet("Agreement of rankings", ranked_said, ("Measures", "Kendall's tau", "Methods"), ranked),
    ]
