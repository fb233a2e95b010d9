"""The commands that make a dataset with highlights in several languages, and compare it with edited highlights."""
# ruff: noqa: PLC0415

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from verax.cli.app import Device, FileOption, FormatOption, OutputFormat, app, notes, out, print_table
from verax.cli.training import SpecFile, spec_content
from verax.types import UserError

if TYPE_CHECKING:
    from verax.jobs.highlights.card import Built
    from verax.jobs.highlights.choose import Tuned
    from verax.results.table import Table


@app.command("build-highlights")
def build_highlights(
    spec: SpecFile = None,
    *,
    folder: Annotated[Path, typer.Option("--out", help="Folder of the dataset: new, empty, or of the same build.")],
    model: Annotated[str | None, typer.Option(help="The model that is explained.")] = None,
    data: Annotated[str | None, typer.Option(help="The same inputs in several languages.")] = None,
    reference: Annotated[str | None, typer.Option(help="The language to project from; default: en.")] = None,
    tuning: Annotated[
        str | None, typer.Option(help="A set with human highlights, to choose method and threshold on.")
    ] = None,
    tuning_model: Annotated[str | None, typer.Option(help="The model for that set; default: --model.")] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="A candidate: a name, or in quotes 'saliency: {target: loss}'; can be repeated. Default: the 26 of "
            "the preset attribution-table."
        ),
    ] = None,
    method: Annotated[str | None, typer.Option(help="Use this method instead of the most plausible one.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Use this threshold of normalised scores.")] = None,
    aligner: Annotated[
        str | None,
        typer.Option(help="A name from `verax list aligners`, or in quotes 'embedding: {encoder: DIR}'."),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(help="Inputs of each class and language for people to check; default: 10.", min=0)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Default: 0.", min=0)] = None,
    device: Device = None,
) -> None:
    """Make a dataset with highlights in several languages: choose, binarise, project, write, validate.

    If it is interrupted, the same command continues.

    Examples: `verax build-highlights --model my-mbert --data parallel.jsonl --tuning esnli --out runs/highlights`

    `verax build-highlights spec.yaml --method 'saliency: {target: loss, aggregate: l2}' --threshold 0.167 --out here`
    """
    from verax.jobs.highlights.build import build_highlights as build
    from verax.jobs.highlights.spec import parse_highlights_spec

    sections = {"model": model, "data": data, "tuning": tuning, "tuning_model": tuning_model}
    fields = {
        "reference": reference,
        "methods": None if methods is None else [_component("--methods", name) for name in methods],
        "method": None if method is None else _component("--method", method),
        "threshold": threshold,
        "aligner": None if aligner is None else _component("--aligner", aligner),
        "sample": sample,
        "seed": seed,
    }
    named = {section: {"name": name} for section, name in sections.items()}
    named["model"]["device"] = device
    if tuning_model is not None:
        named["tuning_model"]["device"] = device
    content = spec_content(spec, fields, named, ("model", "data"), "verax build-highlights")
    parsed = parse_highlights_spec(content)
    flags = {**sections, "device": device, **{name: value for name, value in fields.items() if name != "methods"}}
    built = build(parsed, folder, command=_command(spec, folder, flags, methods or ()), console=notes)
    _print_built(built, folder)


def _component(flag: str, value: str) -> Any:
    """A name, or a name with parameters in YAML."""
    import yaml

    try:
        read = yaml.safe_load(value)
    except yaml.YAMLError:
        read = None
    if read is None:
        raise UserError(f"{flag}: got {value!r}; write a name, or name: {{parameter: value}}")
    return read


def _command(spec: Path | None, folder: Path, flags: dict[str, Any], methods: Sequence[str]) -> str:
    """The command line that reproduces the dataset."""
    words = ["verax", "build-highlights", *([] if spec is None else [str(spec)])]
    for name, value in flags.items():
        if value is not None:
            written = json.dumps(value) if isinstance(value, dict) else str(value)
            words += [f"--{name.replace('_', '-')}", written]
    for method in methods:
        words += ["--methods", method]
    return shlex.join([*words, "--out", str(folder)])


def _print_built(built: Built, folder: Path) -> None:
    from verax.jobs.highlights.annotations import FOLDER as SAMPLES
    from verax.jobs.highlights.dataset import FOLDER, JSONL

    choice = built.choice
    if choice.tuned is not None:
        print_table(_candidates(choice.tuned))
    agreement = " (both given)" if choice.tuned is None else _agreement(choice.tuned)
    read = {"name": str(folder / JSONL), **built.reading}
    lines = [f"Wrote {folder / JSONL} and {folder / FOLDER}", f"In a spec: data: {json.dumps(read)}"]
    if built.sampled:
        rows, check = sum(built.sampled.values()), f"verax check-highlights {shlex.quote(str(folder))}"
        lines.append(f"To check: {rows} rows in {folder / SAMPLES}; move the asterisks, then {check}")
    out.print(Text(f"method: {choice.method.label}; threshold: {choice.threshold:g}{agreement}"), soft_wrap=True)
    print_table(_languages(built))
    for line in lines:
        out.print(Text(line), soft_wrap=True)


def _agreement(tuned: Tuned) -> str:
    from verax.results.render.numbers import count, number

    names = ("precision", "recall", "F1")
    shares = ", ".join(f"{name} {number(value)}" for name, value in zip(names, tuned.overlap, strict=True))
    return f" ({shares} over {count(tuned.words)} words of {count(tuned.inputs)} inputs with human highlights)"


def _candidates(tuned: Tuned) -> Table:
    from verax.results.table import Column, Table, table_row

    title = "Plausibility on the tuning set (mean average precision, higher is better)"
    counts = (Column("n", "n", "count"), Column("skipped", "skipped", "count"))
    columns = (Column("method", "method", "text"), Column("plausibility", "mean"), *counts)
    return Table("candidates", title, columns, tuple(table_row(*candidate) for candidate in tuned.candidates))


def _languages(built: Built) -> Table:
    from verax.jobs.highlights.card import reasons
    from verax.results.table import Column, Table, table_row

    columns = (
        Column("language", "language", "text"),
        *(Column(name, name, "count") for name in ("rows", "words", "highlighted")),
        Column("plausibility", "AP"),
        Column("n", "n", "count"),
        Column("skipped", "skipped", "text"),
        Column("left_out", "left out", "text"),
    )
    rows = []
    for one in built.languages:
        counts = (one.rows, one.words, one.highlighted, one.plausibility, one.n)
        rows.append(table_row(one.lang, *counts, reasons(one.skipped), reasons(one.left_out)))
    return Table("languages", "Average precision of the same method against the highlights", columns, tuple(rows))


@app.command("check-highlights")
def check_highlights(
    folder: Annotated[Path, typer.Argument(help="The folder of a build.", metavar="DIR")],
    format: FormatOption = OutputFormat.terminal,  # noqa: A002 - the name of the option
    file: FileOption = None,
) -> None:
    """Print precision, recall and F1 of automatic highlights against those that people have edited.

    The files in DIR/annotations are read; remove those of languages that have not been checked.

    Example: `verax check-highlights runs/highlights --format latex`
    """
    from verax.jobs.highlights.build import check_highlights as check
    from verax.results.table import Column, Table, table_row

    checked = check(folder)
    columns = (
        Column("language", "Language", "text"),
        Column("precision", "Precision"),
        Column("recall", "Recall"),
        Column("f1", "F1"),
        Column("rows", "Rows", "count"),
        Column("edited", "Edited", "count"),
    )
    rows = tuple(table_row(one.lang, *one.overlap, one.rows, one.edited) for one in checked)
    table = Table("checked", "Automatic highlights compared with edited ones", columns, rows)
    print_table(table, format, file)
    untouched = [one.lang for one in checked if not one.edited]
    if untouched:
        warning = f"nothing was changed in {', '.join(untouched)}: remove files that have not been checked"
        notes.print(Text(f"warning: {warning}", "yellow"), soft_wrap=True)
