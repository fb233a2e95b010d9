"""Free-text explanations under test for programs and papers: every number as a record, and the tables of the paper."""

from __future__ import annotations

from collections.abc import Iterator

from verax.report.nle_sheets import sheets
from verax.report.tables import Table, Value, for_papers
from verax.stats.nle import ConsistencyRow, NleTables, PerformanceRow, SetupComparison
from verax.stats.nle_noise import NoiseRow
from verax.types import Estimate

_SHARES = ("found", "among_found", "total", "mentioned", "by_meaning", "flips", "chance", "similar", "difference")
COLUMNS = (
    *("table", "model", "setup", "test", "other_model", "other_setup", "n", "not_tested"),
    *(f"{name}{end}" for name in (*_SHARES, "accuracy", "bleu") for end in ("", "_low", "_high")),
    *("other_total", "counterfactuals", "threshold", "edits", "pairs", "reading", "p", "p_holm"),
    *("judged", "compared", "parsed", "by_first_token", "cut_off", "unanswered"),
)
"""The names of the values of every record, whatever it is of."""


def nle_papers(found: NleTables) -> list[Table]:
    """The tables of the paper, one after the other."""
    return [for_papers(sheet) for sheet in sheets(found)]


def nle_records(found: NleTables) -> Table:
    """Every number in full precision, shares from 0 to 1: all tables, one after the other."""
    records = tuple(dict.fromkeys(COLUMNS) | record for record in _records(found))
    cells = tuple((str(record["table"]), str(record["setup"]), str(record["test"])) for record in records)
    return Table(COLUMNS, records, ("Table", "Set-up", "Test"), cells)


def _records(found: NleTables) -> Iterator[dict[str, Value]]:
    yield from (_tested("counterfactual consistency test", row) for row in found.counterfactual)
    yield from map(_noise, found.noise)
    yield from (_tested("reconstruction consistency test", row) for row in found.reconstruction)
    yield from map(_compared, found.comparisons)
    yield from map(_performed, found.performance)


def _tested(table: str, row: ConsistencyRow) -> dict[str, Value]:
    return {
        "table": table,
        "model": row.model,
        "setup": row.setup,
        "test": row.test,
        "n": row.n,
        "not_tested": row.not_tested,
        **_flat("found", row.found),
        **_flat("among_found", row.among_found),
        **_flat("total", row.total),
        **_flat("mentioned", row.mentioned),
        **_flat("by_meaning", row.by_meaning),
        "counterfactuals": row.counterfactuals,
        "threshold": row.threshold,
        "unanswered": sum(row.unanswered.values()),
    }


def _noise(row: NoiseRow) -> dict[str, Value]:
    return {
        "table": "noise floor of the consistency test",
        "model": row.model,
        "setup": row.setup,
        "test": row.editor,
        "edits": row.edits,
        **_flat("flips", row.flips),
        **_flat("chance", row.chance),
        **_flat("similar", row.similar),
        **_flat("mentioned", row.mentioned),
        **_flat("difference", row.difference),
        "pairs": row.pairs,
        "p": row.p,
        "reading": row.reading,
    }


def _compared(row: SetupComparison) -> dict[str, Value]:
    return {
        "table": "comparison under the consistency test",
        "model": row.first[0],
        "setup": row.first[1],
        "test": row.test,
        "other_model": row.second[0],
        "other_setup": row.second[1],
        "n": row.n,
        "total": row.total_first,
        "other_total": row.total_second,
        **_flat("difference", row.difference),
        "p": row.p,
        "p_holm": row.p_holm,
    }


def _performed(row: PerformanceRow) -> dict[str, Value]:
    return {
        "table": "performance beside the consistency tests",
        "model": row.model,
        "setup": row.setup,
        "n": row.n,
        **_flat("accuracy", row.accuracy),
        **_flat("bleu", row.bleu),
        "judged": row.judged,
        "compared": row.compared,
        "parsed": row.parsed,
        "by_first_token": row.by_first_token,
        "cut_off": row.cut_off,
    }


def _flat(name: str, value: Estimate | None) -> dict[str, Value]:
    known = (None, None, None) if value is None else value
    return dict(zip((name, f"{name}_low", f"{name}_high"), known, strict=True))
