"""Commands that check and repair what verax wrote."""
# ruff: noqa: PLC0415

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from verax.cli.app import app, notes, out
from verax.types import UserError

Folder = Annotated[Path, typer.Argument(help="The folder of a run or of a trained model.", metavar="DIR")]


@app.command()
def verify(folder: Folder) -> None:
    """Compare every file of a run or a trained model with its hash; nothing is changed.

    The exit code is 0 if all files are intact, and 1 if one is damaged, missing or not part of the run.

    Example: `verax verify runs/demo`
    """
    if not _verify(folder):
        raise typer.Exit(1)


@app.command()
def repair(folder: Folder) -> None:
    """Repair a run: rebuild what can be rebuilt, keep every intact row, and move damaged files to `quarantine/`.

    A run of which nothing but the shards is left is rebuilt from them. Rows that are lost are computed again by the
    command of the run.

    Example: `verax repair runs/demo`
    """
    from verax.store.folder import is_run
    from verax.store.store import Store

    if not is_run(folder):
        raise UserError(f"{folder} is not a run: it has no manifest, no journal and no shards")
    with Store.open(folder, rebuild=True) as store:
        for line in store.repaired:
            out.print(Text(line), soft_wrap=True)
        out.print(Text(f"{len(store.keys)} rows are intact"))
    if not _verify(folder):
        raise typer.Exit(1)


def _verify(folder: Path) -> bool:
    """Print what is wrong with the files of a folder; returns whether all are intact."""
    from verax.store.verify import verify_folder

    files = verify_folder(folder)
    damaged = [file for file in files if file.problem is not None]
    for file in damaged:
        notes.print(Text(str(file.problem), "red"), soft_wrap=True)
    for file in files:
        if not file.covered:
            out.print(Text(f"{file.name}: an earlier version of verax wrote no hash of it, so it cannot be checked"))
    checked = sum(file.covered for file in files)
    out.print(Text(f"{checked} files checked, {len(damaged)} damaged" if damaged else f"{checked} files are intact"))
    return not damaged
