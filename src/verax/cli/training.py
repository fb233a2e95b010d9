"""Commands that train models."""
# ruff: noqa: PLC0415

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich import box
from rich.table import Table
from rich.text import Text

from verax.cli.app import Json, app, notes, out, print_json
from verax.registry import entries
from verax.types import UserError

if TYPE_CHECKING:
    from verax.run.train_spec import TrainSpec
    from verax.run.trained import AblationRow, LanguageRow
    from verax.run.training import Opened

train = typer.Typer(help="Train models whose explanations can be measured.", rich_markup_mode="markdown")
app.add_typer(train, name="train")

SpecFile = Annotated[
    Path | None, typer.Argument(help="A YAML file with any of the fields below, and more.", metavar="[SPEC.yaml]")
]
OutFolder = Annotated[Path, typer.Option("--out", help="Where the model goes.")]
TrainOn = Annotated[str | None, typer.Option(help="Train on this: a dataset, a file.")]
Limit = Annotated[int | None, typer.Option(help="Only the first N training instances.", min=1)]

FIELDS: dict[str, Any] = {
    "base": Annotated[str | None, typer.Option(help="Start from this: a folder, a hub id, a shipped model.")],
    "validation": Annotated[
        str | None, typer.Option(help="Choose the best epoch on this; the split `validation`, or a fifth of a file.")
    ],
    "test": Annotated[str | None, typer.Option(help="Measure the finished model on this too.")],
    "masking": Annotated[
        list[str] | None, typer.Option(help="In training: none, masking or half (the default); repeat it for several.")
    ],
    "select": Annotated[
        list[str] | None, typer.Option(help="Best epoch by: none, masking or both (the default); repeat for several.")
    ],
    "seeds": Annotated[list[int] | None, typer.Option("--seed", help="0 by default; repeat it for several.", min=0)],
    "epochs": Annotated[int | None, typer.Option(help="10 by default.", min=1)],
    "learning_rate": Annotated[float | None, typer.Option(help="Its peak; 2e-5 by default.")],
    "batch_size": Annotated[int | None, typer.Option(help="16 by default.", min=1)],
    "longest": Annotated[int | None, typer.Option(help="Cut inputs at so many tokens.", min=4)],
    "device": Annotated[str | None, typer.Option(help="cpu (the default), cuda, cuda:1, mps.")],
}
"""Fields of a spec that are options too."""


def _carry_out(
    command: Literal["masked", "plain"],
    /,
    spec: SpecFile = None,
    *,
    folder: OutFolder,
    data: TrainOn = None,
    limit: Limit = None,
    as_json: Json = False,
    **fields: Any,
) -> None:
    """Train what a spec and the options ask for, and print what came of it."""
    from verax.run.train_spec import parse_plain_spec, parse_train_spec
    from verax.run.trained import folder_of, variants, write_compared
    from verax.run.training import train_all

    content = spec_content(spec, fields, {"name": data, "limit": limit}, f"verax train {command}")
    parsed = {"masked": parse_train_spec, "plain": parse_plain_spec}[command](content)
    found = train_all(parsed, folder, console=notes, announce=announce)
    written = write_compared(folder, parsed, found)
    models = [str(folder_of(folder, parsed, variant)) for variant in variants(parsed)]
    if as_json:
        tables = {name: [asdict(row) for row in rows] for name, rows in found._asdict().items()}
        print_json({"models": models, **tables})
        return
    out.print(_table(found.rows))
    if found.languages:
        out.print(_languages(found.languages))
    out.print(Text(f"Wrote {written}"), soft_wrap=True)
    preset = "faithfulness-measurable" if command == "masked" else "attribution-table"
    measure = f"verax run --preset {preset} --model {shlex.quote(models[-1])} {_measured_on(parsed, command)}"
    out.print(Text(f"Next: {measure}"), soft_wrap=True)


def with_options(
    execute_run: Callable[..., None], fields: Mapping[str, Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of the function that carries it out, and one for each of these fields of a spec."""

    def extended(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(execute_run, eval_str=True).parameters.values()
        shared = [one for one in own if one.kind not in {one.POSITIONAL_ONLY, one.VAR_KEYWORD}]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in fields.items()
        ]
        command.__signature__ = inspect.Signature([*shared, *more])  # type: ignore[attr-defined]
        return command

    return extended


@train.callback()
def _train() -> None:
    """Train models whose explanations can be measured."""


@train.command()
@with_options(_carry_out, FIELDS)
def masked(**options: Any) -> None:
    """Fine-tune a classifier with masking, so that masking words stays in its distribution.

    Killed at any time, the same command goes on from the last whole epoch. Several values of masking, select or seed
    give a model for each combination, and a table of them.

    Examples: `verax train masked --base my-bert --data sst2 --out models/sst2-masked`

    `verax train masked ablation.yaml --base my-bert --out models/ablation`
    """
    _carry_out("masked", **options)


@train.command()
@with_options(_carry_out, {name: FIELDS[name] for name in FIELDS if name not in {"masking", "select"}})
def plain(**options: Any) -> None:
    """Fine-tune a classifier as usual: nothing is masked, the best epoch is chosen on the validation set as it is.

    Killed at any time, the same command goes on from the last whole epoch. Several seeds give a model for each, and a
    table of them. Where the validation or test data hold several languages, performance is told for each.

    Examples: `verax train plain --base my-xlm-r --data nli.jsonl --test parallel.jsonl --out models/nli`

    `verax train plain --base my-xlm-r --data nli.jsonl --seed 0 --seed 1 --seed 2 --out models/nli`
    """
    _carry_out("plain", **options)


def _measured_on(spec: TrainSpec, command: Literal["masked", "plain"]) -> str:
    """The flags that name the data on which explanations of the model are measured."""
    if spec.data.name in entries("datasets"):
        return f"--data {shlex.quote(spec.data.name)}"
    others = {"--data": spec.test} | ({"--validation": spec.validation} if command == "masked" else {})
    return " ".join(f"{flag} {shlex.quote(one.name) if one else 'FILE'}" for flag, one in others.items())


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


def announce(data: Opened, trainings: int, finished: int) -> None:
    """Say how much there is to train on, and how many trainings are to come."""
    sizes = f"{len(data.train)} training and {len(data.validation)} validation instances"
    tested = "" if data.test is None else f", {len(data.test)} for the test"
    done = f"; finished already: {finished}" if finished else ""
    if data.left_out:
        notes.print(Text(f"left out: {data.left_out} instances with a part that has no words"))
    notes.print(Text(f"{sizes}{tested}; {trainings} training{'s' if trainings > 1 else ''}{done}"), soft_wrap=True)


def _table(rows: list[AblationRow]) -> Table:
    """Performance of the models that were trained."""
    table = _headed(("split", "masking", "best epoch by"), ("unmasked", "all masked", "majority", "seeds"))
    for row in rows:
        masked = "–" if row.fully_masked is None else f"{row.fully_masked.value:.4f}"
        figures = (f"{row.unmasked.value:.4f}", masked, f"{row.majority:.4f}", str(row.seeds))
        table.add_row(row.split, row.masking, row.select, *figures)
    return table


def _languages(rows: list[LanguageRow]) -> Table:
    """The same language by language, unmasked."""
    from verax.run.trained import language_cells

    table = _headed(("split", "masking", "best epoch by", "language"), ("unmasked", "deviation", "seeds"))
    for row in rows:
        table.add_row(*map(Text, language_cells(row)))
    return table


def _headed(words: tuple[str, ...], numbers: tuple[str, ...]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for head in words:
        table.add_column(head)
    for head in numbers:
        table.add_column(head, justify="right")
    return table
