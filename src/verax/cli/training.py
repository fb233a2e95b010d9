"""Commands that train classifiers, and the options that every training shares."""
# ruff: noqa: PLC0415

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.text import Text

from verax.cli.app import Json, app, notes, out, print_json, print_table
from verax.registry import entries
from verax.types import UserError

if TYPE_CHECKING:
    from verax.jobs.training.spec import TrainSpec
    from verax.jobs.training.splits import Splits

train = typer.Typer(help="Train models whose explanations can be measured.", rich_markup_mode="markdown")
app.add_typer(train, name="train")

SpecFile = Annotated[
    Path | None,
    typer.Argument(help="A YAML file with any of the options below and more fields.", metavar="[SPEC.yaml]"),
]
OutFolder = Annotated[Path, typer.Option("--out", help="Folder of the model: new, empty, or of the same training.")]
TrainOn = Annotated[str | None, typer.Option(help="Training data: a dataset or a file.")]
Limit = Annotated[int | None, typer.Option(help="Use only the first N training instances.", min=1)]

FIELDS: dict[str, Any] = {
    "base": Annotated[str | None, typer.Option(help="Model to start from: a folder, a hub id, a shipped model.")],
    "validation": Annotated[
        str | None,
        typer.Option(help="Data to select the best epoch on; default: the split `validation`, or a fifth of a file."),
    ],
    "test": Annotated[str | None, typer.Option(help="Data to evaluate the finished model on as well.")],
    "masking": Annotated[
        list[str] | None, typer.Option(help="Masked in training: none, masking or half (default); can be repeated.")
    ],
    "select": Annotated[
        list[str] | None, typer.Option(help="Best epoch by: none, masking or both (default); can be repeated.")
    ],
    "seeds": Annotated[list[int] | None, typer.Option("--seed", help="Default: 0; can be repeated.", min=0)],
    "epochs": Annotated[int | None, typer.Option(help="Default: 10.", min=1)],
    "learning_rate": Annotated[float | None, typer.Option(help="Peak learning rate; default: 2e-5.")],
    "batch_size": Annotated[int | None, typer.Option(help="Default: 16.", min=1)],
    "longest": Annotated[int | None, typer.Option(help="Truncate inputs to this many tokens.", min=4)],
    "device": Annotated[str | None, typer.Option(help="cpu (default), cuda, cuda:1, mps.")],
}
"""Fields of a training's spec that are options too."""


def with_options(
    function: Callable[..., None], fields: Mapping[str, Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of the function that executes it, and one for each of these fields of a spec."""

    def extended(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function, eval_str=True).parameters.values()
        shared = [one for one in own if one.kind not in {one.POSITIONAL_ONLY, one.VAR_KEYWORD}]
        more = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
            for name, annotation in fields.items()
        ]
        command.__signature__ = inspect.Signature([*shared, *more])  # type: ignore[attr-defined]
        return command

    return extended


def _train_classifiers(
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
    """Train the models of a spec and its options, and print their performance."""
    from verax.jobs.training.classifier import train_classifiers
    from verax.jobs.training.comparison import comparison_tables, folder_of, variants, write_comparison
    from verax.jobs.training.spec import TrainSpec, parse, parse_plain

    content = spec_content(spec, fields, {"name": data, "limit": limit}, f"verax train {command}")
    parsed = parse(TrainSpec, content) if command == "masked" else parse_plain(content)
    comparison = train_classifiers(parsed, folder, console=notes, announce=announce)
    written = write_comparison(folder, parsed, comparison)
    models = [str(folder_of(folder, parsed, variant)) for variant in variants(parsed)]
    if as_json:
        tables = {name: [asdict(row) for row in rows] for name, rows in comparison._asdict().items()}
        print_json({"models": models, **tables})
        return
    for table in comparison_tables(comparison):
        print_table(table)
    out.print(Text(f"Wrote {written}"), soft_wrap=True)
    preset = "faithfulness-measurable" if command == "masked" else "attribution-table"
    next_command = f"verax run --preset {preset} --model {shlex.quote(models[-1])} {_data_flags(parsed, command)}"
    out.print(Text(f"Next: {next_command}"), soft_wrap=True)


@train.callback()
def _train() -> None:
    """Train models whose explanations can be measured."""


@train.command()
@with_options(_train_classifiers, FIELDS)
def masked(**options: Any) -> None:
    """Fine-tune a classifier with masking, so that masked inputs are in its distribution.

    If it is interrupted, the same command continues from the last complete epoch. Several values of masking, select or
    seed give a model for each combination, and a table of them.

    Examples: `verax train masked --base my-bert --data sst2 --out models/sst2-masked`

    `verax train masked ablation.yaml --base my-bert --out models/ablation`
    """
    _train_classifiers("masked", **options)


@train.command()
@with_options(_train_classifiers, {name: FIELDS[name] for name in FIELDS if name not in {"masking", "select"}})
def plain(**options: Any) -> None:
    """Fine-tune a classifier as usual: nothing is masked, the best epoch is selected on the validation set.

    If it is interrupted, the same command continues from the last complete epoch. Several seeds give a model for each,
    and a table of them. Performance is also reported by language if the data has several.

    Examples: `verax train plain --base my-xlm-r --data nli.jsonl --test parallel.jsonl --out models/nli`

    `verax train plain --base my-xlm-r --data nli.jsonl --seed 0 --seed 1 --seed 2 --out models/nli`
    """
    _train_classifiers("plain", **options)


def _data_flags(spec: TrainSpec, command: Literal["masked", "plain"]) -> str:
    """The flags that name the data on which explanations of the model can be measured."""
    if spec.data.name in entries("datasets"):
        return f"--data {shlex.quote(spec.data.name)}"
    others = {"--data": spec.test} | ({"--validation": spec.validation} if command == "masked" else {})
    return " ".join(f"{flag} {shlex.quote(data.name) if data else 'FILE'}" for flag, data in others.items())


def spec_content(spec: Path | None, flags: Mapping[str, Any], data: Mapping[str, Any], command: str) -> dict[str, Any]:
    """The content of a spec file, overridden by flags; `data` overrides fields of its section `data`."""
    from verax.run.spec import by_name, read_spec

    content = {} if spec is None else read_spec(spec)
    content |= {field: value for field, value in flags.items() if value is not None}
    section = by_name(content.get("data", {}))
    if isinstance(section, dict):
        content["data"] = section | {field: value for field, value in data.items() if value is not None}
    for field in ("base", "data"):
        if not content.get(field):
            raise UserError(f"{field} is missing: give --{field}, or name it in a spec: {command} spec.yaml")
    return content


def announce(data: Splits, trainings: int, finished: int) -> None:
    """Print the sizes of the data and the number of trainings."""
    sizes = f"{len(data.train)} training and {len(data.validation)} validation instances"
    tested = "" if data.test is None else f", {len(data.test)} for the test"
    done = f"; already finished: {finished}" if finished else ""
    if data.left_out:
        notes.print(Text(f"left out: {data.left_out} instances with a part that has no words"))
    notes.print(Text(f"{sizes}{tested}; {trainings} training{'s' if trainings > 1 else ''}{done}"), soft_wrap=True)
