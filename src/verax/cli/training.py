"""Commands that train classifiers and text generators, and the options that every training shares."""
# ruff: noqa: PLC0415

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.text import Text

from verax.cli.app import Device, Json, app, notes, out, print_json, print_table
from verax.registry import entries
from verax.types import UserError

if TYPE_CHECKING:
    from verax.jobs.training.spec import TrainSpec
    from verax.jobs.training.splits import Splits
    from verax.run.spec import DataSpec

Command = Literal["masked", "plain", "nle", "editor"]

train = typer.Typer(help="Train models whose explanations can be measured.", rich_markup_mode="markdown")
app.add_typer(train, name="train")

SpecFile = Annotated[
    Path | None,
    typer.Argument(help="A YAML file with any of the options below and more fields.", metavar="[SPEC.yaml]"),
]
OutFolder = Annotated[Path, typer.Option("--out", help="Folder of the model: new, empty, or of the same training.")]
TrainOn = Annotated[str | None, typer.Option(help="Training data: a dataset or a file.")]
Limit = Annotated[int | None, typer.Option(help="Use only the first N training instances.", min=1)]
Sample = Annotated[int | None, typer.Option(help="Use only N training instances, drawn at random.", min=1)]


def option(kind: Any, description: str, *names: str, **limits: Any) -> Any:
    """An option for a field of a spec, which is left to the spec unless it is given."""
    return Annotated[kind | None, typer.Option(*names, help=description, **limits)]


WORKERS: dict[str, Any] = {
    "workers": option(int, "Trainings at the same time; default: 1.", min=1),
    "executor": option(str, "Where they run: processes (default with --workers) or ray."),
    "address": option(str, "Of --executor ray: a running cluster; default: one is started here."),
    "cpus_per_worker": option(int, "Of --executor ray: cores of a training.", min=1),
}
"""Options for trainings that can be run at the same time."""
FIELDS: dict[str, Any] = {
    "base": option(str, "Model to start from: a folder, a hub id, a shipped model."),
    "validation": option(
        str, "Data to select the best epoch on; default: the split `validation`, or a fifth of a file."
    ),
    "test": option(str, "Data to evaluate the finished model on as well."),
    "masking": option(list[str], "Masked in training: none, masking or half (default); can be repeated."),
    "select": option(list[str], "Best epoch by: none, masking or both (default); can be repeated."),
    "seeds": option(list[int], "Default: 0; can be repeated.", "--seed", min=0),
    "epochs": option(int, "Default: those of the paper for its data sets, 10 for others.", min=1),
    "learning_rate": option(float, "Peak learning rate; default: 2e-5."),
    "batch_size": option(int, "Default: 16.", min=1),
    "longest": option(int, "Inputs with more tokens are too long; default: the model's length.", min=4),
    "on_long": option(str, "Inputs that are too long: error leaves them out (default), truncate cuts them."),
    "micro_batch": option(int, "Inputs computed at once; default: all of a batch, halved if needed.", min=1),
    "autocast": option(str, "Matrix products in bfloat16 or float16; weights and sums stay in float32."),
    "save_every": option(float, "Minutes between stored states within an epoch; default: 10.", min=0),
    "device": Device,
    **WORKERS,
    "plant": option(str, "Plant a shortcut: insert the word into inputs of the label.", metavar="WORD=LABEL"),
    "plant_share": option(float, "Share of these inputs; default: 0.5.", min=0, max=1),
}
"""Options that are fields of the spec of a classifier's training."""
BATCHES = ("batch_size", "micro_batch", "autocast", "save_every")
_TEXT: dict[str, Any] = {
    **{name: FIELDS[name] for name in ("base", "validation", "test", *BATCHES, "device")},
    "epochs": option(int, "Default: 3.", min=1),
    "learning_rate": option(float, "Peak learning rate; default: 1e-4."),
    "longest": option(int, "Leave out inputs with more tokens.", min=4),
    "seed": option(int, "Default: 0.", min=0),
}
_NLE: dict[str, Any] = {
    "setup": option(str, "mt_re, mt_ra (one model), st_re or st_ra (two)."),
    **_TEXT,
    "prompts": option(str, "A file of prompts that replaces the shipped ones."),
    "explanations": option(str, "Learn the first (default) or all of each input."),
    "weigh": option(str, "Equal weight in the loss: tokens (default) or pairs of texts."),
    "measure": option(int, "Evaluate on this many inputs of a set; default: 500.", min=0),
}
_EDITOR: dict[str, Any] = {
    **{name: option for name, option in _TEXT.items() if name != "test"},
    "epochs": option(int, "Default: 20.", min=1),
    "labels_by": option(str, "Learn from the classes that this self-explaining model predicts."),
    "masks": option(int, "Pairs made of each input; default: 1.", min=1),
}


_LEFT_OUT = {
    "empty": "with a part that has no words",
    "too_long": "that are too long; --on-long truncate cuts them",
}


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


def _train(
    command: Command,
    /,
    spec: SpecFile = None,
    *,
    folder: OutFolder,
    data: TrainOn = None,
    limit: Limit = None,
    sample: Sample = None,
    as_json: Json = False,
    **fields: Any,
) -> None:
    """Train the models of a spec and its options, and print their performance."""
    sections = {"data": {"name": data, "limit": limit, "sample": sample}}
    content = spec_content(spec, fields, sections, ("base", "data"), f"verax train {command}")
    if command in {"masked", "plain"}:
        _train_classifiers(command, content, folder, as_json)
    else:
        _train_generator(command, content, folder, as_json)


def _train_classifiers(command: Command, content: dict[str, Any], folder: Path, as_json: bool) -> None:
    from verax.jobs.training.card import planted_line
    from verax.jobs.training.classifier import train_classifiers
    from verax.jobs.training.comparison import comparison_tables, variant_folder, variants, write_comparison
    from verax.jobs.training.folder import FACTS
    from verax.jobs.training.planting import FILE as PLANTED
    from verax.jobs.training.spec import TrainSpec, parse_plain
    from verax.run.spec import parse
    from verax.store.artifact import read_json

    parsed = parse(TrainSpec, content) if command == "masked" else parse_plain(content)
    comparison = train_classifiers(parsed, folder, console=notes, announce=announce)
    written = write_comparison(folder, parsed, comparison)
    models = [str(variant_folder(folder, parsed, variant)) for variant in variants(parsed)]
    if as_json:
        print_json({"models": models, **comparison._asdict()})
        return
    for table in comparison_tables(comparison):
        print_table(table)
    out.print(Text(f"Wrote {written}"), soft_wrap=True)
    following = _next_command(parsed, command, models[-1], folder)
    if parsed.plant is not None:
        data = shlex.quote(str(Path(models[-1]) / PLANTED))
        following = f"verax run --preset diagnosticity --model {shlex.quote(models[-1])} --data {data}"
        for model in models:
            out.print(Text(planted_line((read_json(Path(model) / FACTS) or {})["planted"])), soft_wrap=True)
    out.print(Text(f"Next: {following}"), soft_wrap=True)


def _train_generator(command: Command, content: dict[str, Any], folder: Path, as_json: bool) -> None:
    from verax.jobs.training.editor import train_editor
    from verax.jobs.training.self_explainer import train_self_explainer
    from verax.jobs.training.spec import EditorSpec, NleSpec
    from verax.run.spec import parse

    if command == "nle":
        facts = train_self_explainer(parse(NleSpec, content), folder, console=notes, announce=announce)
    else:
        facts = train_editor(parse(EditorSpec, content), folder, console=notes, announce=announce)
    if as_json:
        print_json({"model": str(folder), **facts})
        return
    for name, training in facts["trainings"].items():
        best = training["best_epoch"]
        generator = "" if name == "." else f"{name}: "
        loss = training["validation_losses"][best]
        out.print(Text(f"{generator}validation loss {loss:.4f}, epoch {best + 1} is kept"))
    for split, figures in facts.get("figures", {}).items():
        bleu = "–" if figures["bleu"] is None else f"{figures['bleu']:.2f}"
        answered = f"{figures['answered']} of {figures['inputs']} inputs answered"
        out.print(Text(f"{split}: accuracy {figures['accuracy']:.4f}, BLEU {bleu} ({answered})"), soft_wrap=True)
    out.print(Text(f"Wrote {folder}"), soft_wrap=True)


@train.callback()
def _group() -> None:
    """Train models whose explanations can be measured."""


@train.command()
@with_options(_train, FIELDS)
def masked(**options: Any) -> None:
    """Fine-tune a classifier with masking, so that masked inputs are in its distribution.

    If it is interrupted, the same command continues from the last stored state. Several values of masking, select or
    seed give a model for each combination, and a table of them.

    Examples: `verax train masked --base my-bert --data sst2 --out models/sst2-masked`

    `verax train masked ablation.yaml --base my-bert --out models/ablation`
    """
    _train("masked", **options)


@train.command()
@with_options(_train, {name: FIELDS[name] for name in FIELDS if name not in {"masking", "select"}})
def plain(**options: Any) -> None:
    """Fine-tune a classifier as usual: nothing is masked, the best epoch is selected on the validation set.

    If it is interrupted, the same command continues from the last stored state. Several seeds give a model for each,
    and a table of them. Performance is also reported by language if the data has several.

    With --plant a word gives a class away. Where it flips a prediction the model's reason is known: `verax run --preset
    diagnosticity` then shows which metrics find it, on your own data.

    Examples: `verax train plain --base my-xlm-r --data nli.jsonl --test parallel.jsonl --out models/nli`

    `verax train plain --base my-bert --data reviews.csv --plant vanilla=positive --out models/planted`

    `verax train plain --base my-xlm-r --data nli.jsonl --seed 0 --seed 1 --seed 2 --workers 3 --out models/nli`
    """
    _train("plain", **options)


@train.command()
@with_options(_train, _NLE)
def nle(**options: Any) -> None:
    """Fine-tune a text generator to answer and to explain its answer, on inputs that people explained.

    The base can be any encoder-decoder (T5, BART) or decoder (GPT-2, Llama). If it is interrupted, the same command
    continues from the last stored state.

    Examples: `verax train nle --setup mt_ra --base my-t5 --data esnli --out models/esnli-mt-ra`

    `verax train nle --setup st_re --base my-llama --data train.jsonl --validation dev.jsonl --out models/st-re`
    """
    _train("nle", **options)


@train.command()
@with_options(_train, _EDITOR)
def editor(**options: Any) -> None:
    """Fine-tune a text generator to insert words that fit a class, for the counterfactual test.

    It learns to write one to three masked words, given the class of the input. If it is interrupted, the same command
    continues from the last stored state.

    Examples: `verax train editor --base my-t5 --data esnli --out models/esnli-editor`

    `verax train editor --base my-t5 --data esnli --labels-by models/esnli-mt-ra --out models/esnli-editor`
    """
    _train("editor", **options)


def _next_command(spec: TrainSpec, command: Command, model: str, folder: Path) -> str:
    """A command that measures explanations of the model on its test data, read as in the training.

    Where names do not say how the data is read (columns, metric, maskable part, ...), the command has a spec, which is
    written to the folder.
    """
    import yaml

    from verax.store.files import replace_file

    preset = "faithfulness-measurable" if command == "masked" else "attribution-table"
    sections: dict[str, dict[str, Any]] = {"model": {"name": model}, "data": _data_section(spec, spec.test)}
    sections["model"] |= {"on_long": spec.on_long} if spec.on_long != "error" else {}
    sections["model"] |= {"device": spec.device} if spec.device != "auto" else {}
    if command == "masked" and (spec.validation is not None or spec.data.name not in entries("datasets")):
        sections["validation"] = _data_section(spec, spec.validation)
    if all(section.keys() == {"name"} for section in sections.values()):
        flags = " ".join(f"--{name} {shlex.quote(section['name'])}" for name, section in sections.items())
        return f"verax run --preset {preset} {flags}"
    if command == "masked":
        sections["data"] |= {"explain": "maskable"}
    path = folder / "run.yaml"
    replace_file(path, yaml.safe_dump(sections, sort_keys=False, allow_unicode=True).encode())
    return f"verax run {shlex.quote(str(path))} --preset {preset}"


def _data_section(spec: TrainSpec, given: DataSpec | None) -> dict[str, Any]:
    """Data of a run that is read like the training data; FILE where it has no name."""
    fields = {"exclude_defaults": True, "mode": "json"}
    section: dict[str, Any] = spec.data.model_dump(exclude={"name", "split", "limit", "sample"}, **fields)  # type: ignore[arg-type]
    if given is not None:
        return section | given.model_dump(exclude={"limit"}, **fields)  # type: ignore[arg-type]
    return {"name": spec.data.name if spec.data.name in entries("datasets") else "FILE"} | section


def spec_content(
    spec: Path | None,
    fields: Mapping[str, Any],
    sections: Mapping[str, Mapping[str, Any]],
    required: Sequence[str],
    command: str,
) -> dict[str, Any]:
    """The content of a spec file with values from the command line, as for `override`."""
    from verax.run.spec import override, read_spec

    content = override({} if spec is None else read_spec(spec), fields, sections)
    for field in required:
        if not content.get(field):
            raise UserError(f"{field} is missing: give --{field}, or name it in a spec: {command} spec.yaml")
    return content


def announce(data: Splits, trainings: int, finished: int) -> None:
    """Print the sizes of the data and the number of trainings."""
    sizes = f"{len(data.train)} training and {len(data.validation)} validation instances"
    tested = "" if data.test is None else f", {len(data.test)} for the test"
    done = f"; already finished: {finished}" if finished else ""
    for reason, count in data.left_out.items():
        notes.print(Text(f"left out: {count} instances {_LEFT_OUT[reason]}"), soft_wrap=True)
    notes.print(Text(f"{sizes}{tested}; {trainings} training{'s' if trainings > 1 else ''}{done}"), soft_wrap=True)
