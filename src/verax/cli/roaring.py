"""The command that measures by training anew: Recursive ROAR."""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from verax.cli.app import app, notes, out
from verax.cli.training import spec_content


@app.command()
def roar(
    spec: Annotated[
        Path | None, typer.Argument(help="A YAML file with any of the fields below, and more.", metavar="[SPEC.yaml]")
    ] = None,
    *,
    folder: Annotated[Path, typer.Option("--out", help="Where the result goes, and what is kept on the way.")],
    base: Annotated[str | None, typer.Option(help="Start from this: a folder, a hub id, a shipped model.")] = None,
    data: Annotated[str | None, typer.Option(help="Train on this: a dataset, a file.")] = None,
    validation: Annotated[
        str | None, typer.Option(help="Choose the best epoch on this; the split `validation`, or a fifth of a file.")
    ] = None,
    test: Annotated[str | None, typer.Option(help="Measure on this; the split `test`, a file must be named.")] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="A name that `verax list methods` shows; repeat it. Left out: three gradient measures."),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="From nothing masked to everything; 10 by default.", min=1)] = None,
    seed: Annotated[int | None, typer.Option(help="0 by default.", min=0)] = None,
    epochs: Annotated[int | None, typer.Option(help="Of each training; 10 by default.", min=1)] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Its peak; 2e-5 by default.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="16 by default.", min=1)] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N training instances.", min=1)] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it costs, and stop.")] = False,
) -> None:
    """Recursive ROAR: train a new model for each step of each measure, on what its explanations leave.

    Slow: the default is 38 trainings. What it costs is said before it starts. Killed at any time, the same command goes
    on from the last whole epoch.

    Examples: `verax roar --base my-bert --data sst2 --out runs/roar --dry-run`

    `verax roar --base my-bert --data train.csv --test test.csv --method leave_one_out --steps 5 --out runs/roar`
    """
    from verax.report.terminal import masking
    from verax.run.roar import RESULT
    from verax.run.roar import roar as execute_run
    from verax.run.roar_spec import parse_roar_spec

    told = {
        "base": base,
        "validation": validation,
        "test": test,
        "methods": method,
        "steps": steps,
        "seed": seed,
        "epochs": epochs,
        "learning_rate": learning_rate,
        "batch_size": batch_size,
    }
    parsed = parse_roar_spec(spec_content(spec, told, {"name": data, "limit": limit}, "verax roar"))
    says = out if dry_run else notes

    def announce(lines: Sequence[str]) -> None:
        for line in lines:
            says.print(Text(line), soft_wrap=True)

    curves = execute_run(parsed, folder, console=notes, announce=announce, dry_run=dry_run)
    if curves is None:
        return
    out.print(masking(curves))
    out.print(
        Text("ROAR: every point is another model, trained on inputs masked like those that it is measured on. ", "dim")
        + Text("The gold class that explanations look at leaks into what they leave (docs/roar.md).", "dim")
    )
    out.print(Text(f"Wrote {folder / RESULT}"), soft_wrap=True)
