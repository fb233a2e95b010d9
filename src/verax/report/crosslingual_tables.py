"""Evaluation across languages for programs and papers: every number as a record, and the tables of the paper."""

from __future__ import annotations

from collections.abc import Iterator

from verax.report.crosslingual_sheets import sheets
from verax.report.tables import Table, Value, for_papers
from verax.stats.crosslingual import CrossLingual
from verax.stats.crosslingual_grids import Cell, Grid
from verax.stats.crosslingual_relations import Spread
from verax.stats.crosslingual_rows import Explainer
from verax.types import Estimate

COLUMNS = (
    *("measure", "metric", "aligner", "language", "method", "row", "output", "architecture"),
    *("value", "low", "high", "sd", "p", "n", "skipped", "reason", "best", "difference", "difference_low"),
    *("difference_high", "like_random", "higher_is_better", "over", "runs"),
)
"""The names of the values of every record, whatever it is of."""


def crosslingual_tables(found: CrossLingual) -> list[Table]:
    """The tables of the paper, one after the other."""
    return [for_papers(sheet) for sheet in sheets(found)]


def crosslingual_records(found: CrossLingual) -> Table:
    """Every number in full precision: methods under measures, then languages, then measures compared."""
    records = tuple(dict.fromkeys(COLUMNS) | record for record in _records(found))
    cells = tuple((str(record["measure"]), str(record["method"]), str(record["value"])) for record in records)
    return Table(COLUMNS, records, ("Measure", "Method", "Value"), cells)


def _records(found: CrossLingual) -> Iterator[dict[str, Value]]:
    for grid in (*found.overall, *found.by_language, *found.others):
        for method in found.methods:
            if method.label in grid.cells:
                yield from _of_cell(found, grid, method, grid.cells[method.label])
    for one in found.languages:
        facts: dict[str, Value] = {"language": one.lang, "over": found.over, "runs": found.runs}
        if one.faithfulness is not None:
            yield facts | {"measure": "average faithfulness"} | _flat(one.faithfulness)
        accuracy: dict[str, Value] = facts | {"measure": "accuracy", "n": one.n}
        yield accuracy | _flat(one.accuracy)
        yield from _of_architectures(found, accuracy, one.by_architecture)
    yield {
        "measure": "correlation of faithfulness and accuracy",
        "value": found.correlation.value,
        "p": found.correlation.p,
        "n": found.correlation.n,
        "reason": found.correlation.reason,
    }
    for name, spread in found.spreads.items():
        yield {"measure": f"{name} over methods", "value": spread.mean, "sd": spread.sd, "n": spread.n}
    for agreed in found.agreements:
        tau = agreed.tau
        said = f"Kendall's tau of {agreed.first} and {agreed.second}"
        yield {"measure": said, "value": tau.value, "p": tau.p, "n": tau.n, "reason": tau.reason}


def _of_cell(found: CrossLingual, grid: Grid, method: Explainer, cell: Cell) -> Iterator[dict[str, Value]]:
    facts: dict[str, Value] = {
        "measure": grid.measure.name,
        "metric": grid.measure.metric,
        "aligner": grid.measure.aligner,
        "language": grid.language if grid.measure.name == "faithfulness" else found.reference,
        "method": method.label,
        "row": method.row,
        "output": method.output,
        "n": cell.n,
        "skipped": cell.skipped,
        "higher_is_better": grid.measure.higher_is_better,
        "over": found.over,
        "runs": found.runs,
    }
    gap = cell.difference
    yield (
        facts
        | _flat(cell.value)
        | {
            "reason": cell.reason,
            "best": cell.best,
            "difference": None if gap is None else gap.value,
            "difference_low": None if gap is None else gap.low,
            "difference_high": None if gap is None else gap.high,
            "like_random": None if gap is None else cell.like_random,
        }
    )
    yield from _of_architectures(found, facts, cell.by_architecture)


def _of_architectures(
    found: CrossLingual, facts: dict[str, Value], spreads: tuple[Spread | None, ...]
) -> Iterator[dict[str, Value]]:
    """The same of each architecture alone: mean and deviation over its runs."""
    for one, spread in zip(found.architectures, spreads, strict=True):
        if spread is not None:
            yield facts | {"architecture": one.name, "value": spread.mean, "sd": spread.sd, "runs": spread.n}


def _flat(value: Estimate | None) -> dict[str, Value]:
    return {} if value is None else dict(zip(("value", "low", "high"), value, strict=True))
