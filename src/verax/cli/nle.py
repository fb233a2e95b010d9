"""The command that prints what the tests of free-text explanations found."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from verax.cli.app import Csv, Json, Latex, Markdown, app, show
from verax.cli.running import check_same_inputs, open_run
from verax.types import UserError


@app.command()
def nle(
    folders: Annotated[
        list[Path], typer.Argument(help="Runs with free-text explanations: one, or several to compare.", metavar="DIR")
    ],
    as_json: Json = False,
    as_csv: Csv = False,
    as_latex: Latex = False,
    as_markdown: Markdown = False,
) -> None:
    """Print the consistency tests of free-text explanations: counterfactuals, noise floor, reconstruction, BLEU.

    Set-ups are compared in pairs over the inputs that both were tested on; those of several runs too, which must be of
    the same inputs.

    Examples: `verax nle runs/nle`

    `verax nle runs/mt-ra runs/st-re --latex`
    """
    from verax.report import nle_terminal
    from verax.report.nle_tables import nle_papers, nle_records
    from verax.stats.nle import nle_tables
    from verax.stats.nle_rows import NleRun, setups

    runs = [open_run(folder) for folder in folders]
    for number, other in enumerate(runs):
        for before in runs[:number]:
            check_same_inputs(before, other)
    models = [str(run.card.get("model", {}).get("name", run.folder)) for run in runs]
    names = models if len(set(models)) == len(runs) else [str(folder) for folder in folders]
    stored = [run.stored for run in runs]
    found = nle_tables(
        [NleRun(n, one.card, one.instances, one.texts, one.scores) for n, one in zip(names, stored, strict=True)]
    )
    bare = [run.folder for run in runs if not setups(run.card, run.stored.texts)]
    if found is None or bare:
        raise UserError(f"{bare[0]} has no free-text explanations; verax run --preset nle makes and tests them")
    show(
        nle_records(found),
        lambda: nle_terminal.nle(found),
        for_papers=nle_papers(found),
        json=as_json,
        csv=as_csv,
        latex=as_latex,
        markdown=as_markdown,
    )
