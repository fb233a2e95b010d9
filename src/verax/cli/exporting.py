"""Commands that give results to other tools: exports, the Hugging Face hub, trackers of experiments."""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from verax.cli.app import app, notes, out
from verax.cli.show import open_all
from verax.types.errors import first_line

if TYPE_CHECKING:
    from verax.results.run import Run

RunFolder = Annotated[Path, typer.Argument(help="The folder of a run.", metavar="DIR")]


class ExportFormat(StrEnum):
    """Formats of explanations."""

    eraser = "eraser"
    thermostat = "thermostat"


@app.command()
def export(
    folder: RunFolder,
    format: Annotated[ExportFormat, typer.Option("--format", "-f", help="Whose format.")],  # noqa: A002
    file: Annotated[Path, typer.Option("--out", "-o", help="The JSONL file to write.")],
    method: Annotated[
        str | None, typer.Option(help="Whose explanations; default: the only method that scores words.")
    ] = None,
    top: Annotated[
        float | None, typer.Option(help="eraser: share of the tokens in a hard rationale; default 0.2.")
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option(help="thermostat: a folder or a hub id; default: that of the explained model.")
    ] = None,
) -> None:
    """Write the word scores of a method in the JSONL format of another project.

    `eraser` has rationales for each input, as predictions for the ERASER benchmark; `verax import eraser` reads them.
    `thermostat` has a score for each token id of the model's tokenizer.

    Examples: `verax export runs/mine --format eraser --method leave_one_out --out rationales.jsonl`

    `verax export runs/mine --format thermostat --method integrated_gradients --out heatmaps.jsonl`
    """
    from verax.exports.export import export as write_export

    (run,) = open_all([folder])
    label, explained = write_export(run, format, file, method=method, top=top, tokenizer=tokenizer)
    out.print(Text(f"Wrote {file}: {explained} of {len(run.instances)} inputs, explained by {label}"), soft_wrap=True)
    if run.exit_code:
        raise typer.Exit(run.exit_code)


@app.command()
def push(
    folder: RunFolder,
    repository: Annotated[str, typer.Argument(help="The dataset: NAME or NAMESPACE/NAME.", metavar="REPO_ID")],
    private: Annotated[bool, typer.Option("--private", help="Make a new repository private.")] = False,
    token_env: Annotated[
        str | None,
        typer.Option(help="Environment variable with the token; default: HF_TOKEN or `hf auth login`.", metavar="NAME"),
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option("--license", help="Of the dataset, as the hub writes it; default: that of the data, or unknown."),
    ] = None,
    target: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the dataset to this folder, and upload nothing.")
    ] = None,
) -> None:
    """Upload the explanations of a run to the Hugging Face hub, as a dataset with its card.

    The dataset has Parquet files with explanations, scores and results. Commands, folders and the machine of the run
    are left out; the texts of the inputs are not.

    Examples: `verax push runs/mine my-name/my-explanations --private`

    `verax push runs/mine my-name/my-explanations --out dataset`
    """
    from verax.exports.dataset import write_dataset
    from verax.exports.hub import check_repository, push_dataset
    from verax.results.run import UNFINISHED

    check_repository(repository)
    (run,) = open_all([folder])
    if run.exit_code == UNFINISHED:
        notes.print(Text(f"{folder}: {run.status_line}; nothing was uploaded", "red"), soft_wrap=True)
        raise typer.Exit(UNFINISHED)
    if target is not None:
        files = write_dataset(run, target, repository, licence=licence)
        names = ", ".join(str(file.relative_to(target)) for file in files)
        out.print(Text(f"Wrote {target}: {names}; nothing was uploaded"), soft_wrap=True)
        return
    with notes.status(f"uploading to {repository}"):
        url = push_dataset(run, repository, private=private, token_env=token_env, licence=licence)
    out.print(Text(f"Uploaded {url}"), soft_wrap=True)


LogOption = Annotated[
    list[str] | None,
    typer.Option(
        "--log", help="Log the finished run: mlflow, wandb, or that of a plug-in; repeat it.", metavar="LOGGER"
    ),
]


@app.command()
def log(
    folder: RunFolder,
    loggers: Annotated[
        list[str],
        typer.Argument(help="mlflow, wandb, or that of a plug-in (`verax list loggers`).", metavar="LOGGER..."),
    ],
) -> None:
    """Log a stored run to a tracker of experiments, as `verax run --log` does with a new one.

    Parameters, estimates with their intervals, tables, verdicts and the report are logged, as a new run of the
    tracker. Where to is set as always: MLFLOW_TRACKING_URI, WANDB_PROJECT, WANDB_MODE and the like.

    Examples: `verax log runs/mine mlflow`

    `WANDB_MODE=offline verax log runs/mine wandb`
    """
    check_loggers(loggers)
    (run,) = open_all([folder])
    log_run(run, loggers)
    if run.exit_code:
        raise typer.Exit(run.exit_code)


def check_loggers(names: Sequence[str]) -> None:
    """Reject unknown loggers, and those whose package is missing, before any work."""
    from verax.loggers.record import logger_named

    for name in names:
        logger_named(name)


def log_run(run: Run, names: Sequence[str]) -> None:
    """Log a finished run; if a logger fails, warn, and exit with 1 after the others. Nothing of the run is lost."""
    from verax.loggers.record import logger_named, record_of
    from verax.report.page import write_report

    if not names:
        return
    logged, failed = record_of(run, write_report(run.folder, run=run)), False
    for name in names:
        try:
            where = logger_named(name)(logged)
        except Exception as error:  # noqa: BLE001 - whatever a tracker raises, the run is stored
            failed = True
            again = f"the run is stored, and `verax log {run.folder} {name}` tries again"
            problem = f"warning: {name} failed: {type(error).__name__}: {first_line(error)}; {again}"
            notes.print(Text(problem, "red"), soft_wrap=True)
        else:
            out.print(Text(f"Logged to {name}: {where}"), soft_wrap=True)
    if failed:
        raise typer.Exit(1)
