"""The command that evaluates importance measures by training new models: Recursive ROAR."""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from verax.cli.app import app, notes, out
from verax.cli.training import (
    BATCHES,
    FIELDS,
    WORKERS,
    Limit,
    Sample,
    SpecFile,
    TrainOn,
    option,
    spec_content,
    with_options,
)

_FIELDS: dict[str, Any] = {
    **{name: FIELDS[name] for name in ("base", "validation")},
    "test": option(str, "Data to evaluate on; default: the split `test`."),
    "methods": option(
        list[str], "A name from `verax list methods`; can be repeated. Default: three gradients.", "--method"
    ),
    "steps": option(int, "From nothing masked to everything masked; default: 10.", min=1),
    "seed": option(int, "Default: 0.", min=0),
    "epochs": option(int, "Epochs of each training; default: as for verax train.", min=1),
    **{name: FIELDS[name] for name in ("learning_rate", *BATCHES, "longest", "on_long", "device")},
    **WORKERS,
}


def _roar(
    spec: SpecFile = None,
    *,
    folder: Annotated[Path, typer.Option("--out", help="Folder of the result: new, empty, or of the same ROAR.")],
    data: TrainOn = None,
    limit: Limit = None,
    sample: Sample = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the cost and stop.")] = False,
    **fields: Any,
) -> None:
    """Run Recursive ROAR and print its table."""
    from verax.jobs.roar.recursive_roar import roar as run_roar
    from verax.jobs.training.spec import RoarSpec
    from verax.results.render.terminal import show_findings
    from verax.results.roar import RESULT
    from verax.run.spec import parse
    from verax.studies.masking.roar import NOTE, roar_findings

    sections = {"data": {"name": data, "limit": limit, "sample": sample}}
    parsed = parse(RoarSpec, spec_content(spec, fields, sections, ("base", "data"), "verax roar"))

    def announce(lines: Sequence[str]) -> None:
        for line in lines:
            (out if dry_run else notes).print(Text(line), soft_wrap=True)

    result = run_roar(parsed, folder, console=notes, announce=announce, dry_run=dry_run)
    if result is None:
        return
    out.print(show_findings(roar_findings([folder])))
    out.print(Text(NOTE, "dim"))
    out.print(Text(f"Wrote {folder / RESULT}"), soft_wrap=True)


@app.command()
@with_options(_roar, _FIELDS)
def roar(**options: Any) -> None:
    """Recursive ROAR: train a new model for each step of each importance measure, on what its explanations leave.

    Slow: the default is 38 trainings; the cost is printed first. If it is interrupted, the same command continues from
    the last stored state.

    Examples: `verax roar --base my-bert --data sst2 --out runs/roar --dry-run`

    `verax roar --base my-bert --data train.csv --test test.csv --method leave_one_out --steps 5 --out runs/roar`
    """
    _roar(**options)
