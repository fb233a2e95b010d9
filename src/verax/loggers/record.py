"""What of a run is logged to a tracker of experiments, whichever it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from verax.registry import find_entry, resolve
from verax.results.run import Run
from verax.results.table import Table
from verax.studies.leaderboard.conclusion import conclusion_of
from verax.types import Estimate, UserError


@dataclass(frozen=True)
class LoggedRun:
    """A finished run for a tracker.

    Args:
        params: what was run, from its manifest.
        metrics: estimates as `TABLE/ROW/COLUMN`, with `_low`, `_high` and `_n` where they are known.
        tags: status, conclusion, and the verdict on each method.
        tables: all tables, as `STUDY/TABLE`.
        report: the page of the run.
    """

    name: str
    params: Mapping[str, str]
    metrics: Mapping[str, float]
    tags: Mapping[str, str]
    tables: Mapping[str, Table]
    report: Path


Logger: TypeAlias = Callable[[LoggedRun], str]
"""Logs a run, and says where; it may raise anything. `needs` names the package that it imports, if any."""


def logger_named(name: str) -> Logger:
    """A registered logger, whose package is installed."""
    needs = getattr(logger := resolve("loggers", name), "needs", None)
    if needs is not None and find_spec(needs) is None:
        entry = find_entry("loggers", name)
        extra = "" if entry.plug_in else f": pip install 'verax[{name}]'"
        raise UserError(f"the logger {name} needs the package {needs}, which is not installed{extra}")
    return logger  # type: ignore[no-any-return]


def record_of(run: Run, report: Path) -> LoggedRun:
    """What is logged of a run."""
    named = {f"{found.study.name}/{table.name}": table for found in run.findings() for table in found.all_tables}
    tables = list(named.values())
    return LoggedRun(
        name=run.name,
        params=dict(_params(run)),
        metrics=dict(_metrics(tables)),
        tags={f"verax.{name}": text for name, text in _tags(run, tables) if text},
        tables=named,
        report=report,
    )


def _params(run: Run) -> Iterator[tuple[str, str]]:
    manifest, model, data = run.manifest, run.manifest.model, run.manifest.data
    facts: dict[str, Any] = {
        "model": model.name,
        "model.hash": model.hash,
        "model.dtype": model.facts.get("dtype"),
        "model.device": model.facts.get("device"),
        "data": data.name,
        "data.split": data.split,
        "data.inputs": data.n,
        "data.hash": data.hash,
        "methods": ", ".join(run.methods),
        "metrics": ", ".join(run.metrics),
        "seed": manifest.seed,
        "verax": manifest.verax,
        "folder": run.folder,
    }
    yield from ((name, str(value)) for name, value in facts.items() if value is not None)


def _metrics(tables: list[Table]) -> Iterator[tuple[str, float]]:
    """Every estimate of a table, once: rankings repeat what the overview has."""
    seen: set[tuple[str, Estimate]] = set()
    for table in tables:
        for row in table.rows:
            name = "/".join(filter(None, (row.section, str(row.cells[0].value))))
            for column, cell in zip(table.columns, row.cells, strict=True):
                value = cell.value
                if isinstance(value, Estimate) and (name, value) not in seen:
                    seen.add((name, value))
                    key = f"{table.name}/{name}/{column.name}"
                    parts = {key: value.value, f"{key}_low": value.low, f"{key}_high": value.high, f"{key}_n": value.n}
                    yield from ((part, float(number)) for part, number in parts.items() if number is not None)


def _tags(run: Run, tables: list[Table]) -> Iterator[tuple[str, str]]:
    yield "status", run.status
    found = conclusion_of(run)
    if found is not None:
        yield "use", found.use
        yield "certainty", found.certainty
        yield "fails", "; ".join(found.fails)
    for record in (record for table in tables if table.name == "verdict" for record in table.records()):
        yield f"verdict.{record['method']}", str(record["verdict"])
