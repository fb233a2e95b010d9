"""Weights & Biases: https://wandb.ai."""

from __future__ import annotations

import os
from collections.abc import Iterable

from verax.loggers.record import LoggedRun
from verax.registry import registered
from verax.results.table import Table


@registered("wandb", "A run of Weights & Biases with config, summary, tables and the report.", needs="wandb")
def log_to_wandb(logged: LoggedRun) -> str:
    """Log a run as WANDB_PROJECT, WANDB_ENTITY, WANDB_MODE and WANDB_DIR say; the project is `verax` by default."""
    import wandb  # noqa: PLC0415 - an extra, and heavy

    settings = wandb.Settings(silent=True, console="off")
    project = os.environ.get("WANDB_PROJECT", "verax")
    config = {**logged.params, **logged.tags}
    with wandb.init(project=project, name=logged.name, job_type="verax", config=config, settings=settings) as run:
        run.summary.update(dict(logged.metrics))
        run.log(
            {
                f"tables/{name}": wandb.Table(columns=_columns(table), data=_rows(table))
                for name, table in logged.tables.items()
            }
        )
        report = wandb.Artifact("report", type="report")
        report.add_file(str(logged.report))
        run.log_artifact(report)
        where = run.url or run.settings.sync_dir
    return str(where)


def _columns(table: Table) -> list[str | int]:
    return list(next(iter(table.records()), {}))


def _rows(table: Table) -> list[Iterable[object]]:
    return [list(record.values()) for record in table.records()]
