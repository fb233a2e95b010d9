"""Commands that train models."""
# ruff: noqa: PLC0415

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from verax.cli.app import app, notes, out
from verax.registry import entries
from verax.types import UserError

if TYPE_CHECKING:
    from verax.run.training import AblationRow, Opened

train = typer.Typer(help="Train models whose explanations can be measured.", rich_markup_mode="markdown")
app.add_typer(train, name="train")


@train.callback()
def _train() -> None:
    """Train models whose explanations can be measured."""


@train.command()
def masked(
    spec: Annotated[
        Path | None, typer.Argument(help="A YAML file with any of the fields below, and more.", metavar="[SPEC.yaml]")
    ] = None,
    *,
    folder: Annotated[Path, typer.Option("--out", help="Where the model goes.")],
    base: Annotated[str | None, typer.Option(help="Start from this: a folder, a hub id, a shipped model.")] = None,
    data: Annotated[str | None, typer.Option(help="Train on this: a dataset, a file.")] = None,
    validation: Annotated[
        str | None, typer.Option(help="Choose the best epoch on this; the split `validation`, or a fifth of a file.")
    ] = None,
    test: Annotated[str | None, typer.Option(help="Measure the finished model on this too.")] = None,
    masking: Annotated[
        list[str] | None, typer.Option(help="In training: none, masking or half (the default); repeat it for several.")
    ] = None,
    select: Annotated[
        list[str] | None, typer.Option(help="Best epoch by: none, masking or both (the default); repeat for several.")
    ] = None,
    seed: Annotated[list[int] | None, typer.Option(help="0 by default; repeat it for several.", min=0)] = None,
    epochs: Annotated[int | None, typer.Option(help="10 by default.", min=1)] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Its peak; 2e-5 by default.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="16 by default.", min=1)] = None,
    longest: Annotated[int | None, typer.Option(help="Cut inputs at so many tokens.", min=4)] = None,
    limit: Annotated[int | None, typer.Option(help="Only the first N training instances.", min=1)] = None,
    device: Annotated[str | None, typer.Option(help="cpu (the default), cuda, cuda:1, mps.")] = None,
) -> None:
    """Fine-tune a classifier with masking, so that masking words stays in its distribution.

    Killed at any time, the same command goes on from the last whole epoch. Several values of masking, select or seed
    give a model for each combination, and a table of them.

    Examples: `verax train masked --base my-bert --data sst2 --out models/sst2-masked`

    `verax train masked ablation.yaml --base my-bert --out models/ablation`
    """
    from verax.run.train_spec import parse_train_spec
    from verax.run.training import folder_of, train_all, variants, write_ablation

    told = {
        "base": base,
        "validation": validation,
        "test": test,
        "masking": masking,
        "select": select,
        "seeds": seed,
        "epochs": epochs,
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "longest": longest,
        "device": device,
    }
    content = spec_content(spec, told, {"name": data, "limit": limit}, "verax train masked")
    parsed = parse_train_spec(content)
    rows = train_all(parsed, folder, console=notes, announce=_announce)
    written = write_ablation(folder, parsed, rows)
    out.print(_table(rows))
    out.print(Text(f"Wrote {written}"), soft_wrap=True)
    model = shlex.quote(str(folder_of(folder, parsed, variants(parsed)[-1])))
    measured = f"--data {shlex.quote(parsed.data.name)}"
    if parsed.data.name not in entries("datasets"):
        others = {"--data": parsed.test, "--validation": parsed.validation}
        measured = " ".join(f"{flag} {shlex.quote(one.name) if one else 'FILE'}" for flag, one in others.items())
    out.print(Text(f"Next: verax run --preset faithfulness-measurable --model {model} {measured}"), soft_wrap=True)


def spec_content(spec: Path | None, told: Mapping[str, Any], data: Mapping[str, Any], command: str) -> dict[str, Any]:
    """What a spec file says of a training, with what flags say in its place: `told`, and of its section `data`."""
    from verax.run.spec import by_name, read_spec

    content = {} if spec is None else read_spec(spec)
    content |= {field: value for field, value in told.items() if value is not None}
    section = by_name(content.get("data", {}))
    if isinstance(section, dict):
        content["data"] = section | {field: value for field, value in data.items() if value is not None}
    for field in ("base", "data"):
        if not content.get(field):
            raise UserError(f"say what to train with --{field}, or in a spec: {command} spec.yaml")
    return content


def _announce(data: Opened, trainings: int, finished: int) -> None:
    sizes = f"{len(data.train)} training and {len(data.validation)} validation instances"
    tested = "" if data.test is None else f", {len(data.test)} for the test"
    done = f"; finished already: {finished}" if finished else ""
    if data.left_out:
        notes.print(Text(f"left out: {data.left_out} instances with a part that has no words"))
    notes.print(Text(f"{sizes}{tested}; {trainings} training{'s' if trainings > 1 else ''}{done}"), soft_wrap=True)


def _table(rows: list[AblationRow]) -> Table:
    """Performance of the models that were trained."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in ("split", "masking", "best epoch by"):
        table.add_column(head)
    for head in ("unmasked", "all masked", "majority", "seeds"):
        table.add_column(head, justify="right")
    for row in rows:
        masked = "–" if row.fully_masked is None else f"{row.fully_masked.value:.4f}"
        figures = (f"{row.unmasked.value:.4f}", masked, f"{row.majority:.4f}", str(row.seeds))
        table.add_row(row.split, row.masking, row.select, *figures)
    return table
