"""The command that prints evaluation across languages."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from verax.cli.app import Csv, Json, Latex, Markdown, app, show
from verax.cli.running import open_run
from verax.types import UserError

if TYPE_CHECKING:
    from verax.run.run import Run


@app.command()
def crosslingual(
    folders: Annotated[
        list[Path], typer.Argument(help="Runs with crosslingual_faithfulness: one, or one a model.", metavar="DIR")
    ],
    as_json: Json = False,
    as_csv: Csv = False,
    as_latex: Latex = False,
    as_markdown: Markdown = False,
) -> None:
    """Print faithfulness across languages: over all, by language, beside accuracy, erasure and plausibility.

    Of one run the intervals are over its inputs. Of several, which must be of different models on the same data, they
    are over the runs, with mean and standard deviation for each architecture.

    Examples: `verax crosslingual runs/crosslingual`

    `verax crosslingual runs/mbert-seed-* runs/xlmr-seed-* --latex`
    """
    from verax.report import crosslingual_terminal
    from verax.report.crosslingual_tables import crosslingual_records, crosslingual_tables
    from verax.stats.crosslingual import crosslingual as tables_of
    from verax.stats.crosslingual_rows import METRIC, LanguageRun

    runs = [open_run(folder) for folder in folders]
    for number, other in enumerate(runs):
        if not any(entry.get("name") == METRIC for entry in other.card.get("metrics", [])):
            raise UserError(f"{other.folder} has no scores of {METRIC}; verax run --preset crosslingual measures it")
        _check_models(runs[:number], other)
    found = tables_of([LanguageRun(run.card, run.stored.instances, run.stored.predictions, run.scores) for run in runs])
    if found is None:
        raise UserError(f"{folders[0]} has no scores of {METRIC} in a language other than its reference")
    show(
        crosslingual_records(found),
        lambda: crosslingual_terminal.crosslingual(found),
        for_papers=crosslingual_tables(found),
        json=as_json,
        csv=as_csv,
        latex=as_latex,
        markdown=as_markdown,
    )


def _check_models(before: list[Run], other: Run) -> None:
    """Runs that are averaged must be of the same inputs, measured in the same way, and of different models."""
    for run in before:
        if run.card.get("data", {}).get("hash") != other.card.get("data", {}).get("hash"):
            raise UserError(f"{run.folder} and {other.folder} are not of the same inputs: they can't be averaged")
        if run.card.get("model", {}).get("hash") == other.card.get("model", {}).get("hash"):
            raise UserError(f"{run.folder} and {other.folder} are of the same model: there is no other seed in them")
        ours, theirs = _faithfulness(run), _faithfulness(other)
        if set(ours) != set(theirs):
            raise UserError(
                f"{run.folder} is measured by {', '.join(ours)} and {other.folder} by {', '.join(theirs)}: "
                "they can't be averaged"
            )


def _faithfulness(run: Run) -> list[str]:
    """The labels of the metrics that the tables are of."""
    from verax.stats.crosslingual_rows import measures

    return [measure.metric for measure in measures(run.card) if measure.name == "faithfulness"]
