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

from verax.cli.app import Csv, Json, Latex, Markdown, app, notes, out, print_table
from verax.types import UserError

if TYPE_CHECKING:
    from verax.jobs.highlights.build import Built
    from verax.jobs.highlights.choose import Tuned


@app.command("build-highlights")
def build_highlights(
    spec: Annotated[
        Path | None,
        typer.Argument(help="A YAML file with any of the options below and more fields.", metavar="[SPEC.yaml]"),
    ] = None,
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
        "methods": None if methods is None else [_component("--methods", one) for one in methods],
        "method": None if method is None else _component("--method", method),
        "threshold": threshold,
        "aligner": None if aligner is None else _component("--aligner", aligner),
        "sample": sample,
        "seed": seed,
    }
    parsed = parse_highlights_spec(_content(spec, sections, fields))
    flags = {**sections, **{name: value for name, value in fields.items() if name != "methods"}}
    built = build(parsed, folder, command=_command(spec, folder, flags, methods or ()), console=notes)
    _print_built(built, folder)


def _content(spec: Path | None, sections: dict[str, str | None], fields: dict[str, Any]) -> dict[str, Any]:
    """The content of a spec file, overridden by flags: the names of sections, and other fields."""
    from verax.run.spec import by_name, read_spec

    content = {} if spec is None else read_spec(spec)
    for field, name in sections.items():
        if name is not None:
            before = by_name(content.get(field) or {})
            content[field] = {**before, "name": name} if isinstance(before, dict) else before
    content |= {field: value for field, value in fields.items() if value is not None}
    for field in ("model", "data"):
        if not content.get(field):
            raise UserError(
                f"{field} is missing: give --{field}, or name it in a spec: verax build-highlights spec.yaml"
            )
    return content


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
        _print_candidates(choice.tuned)
    agreement = " (both given)" if choice.tuned is None else _agreement(choice.tuned)
    out.print(Text(f"method: {choice.method.label}; threshold: {choice.threshold:g}{agreement}"), soft_wrap=True)
    _print_languages(built)
    out.print(Text(f"Wrote {folder / JSONL} and {folder / FOLDER}"), soft_wrap=True)
    read = {"name": str(folder / JSONL), **built.reading}
    out.print(Text(f"In a spec: data: {json.dumps(read)}"), soft_wrap=True)
    if built.sampled:
        rows, check = sum(built.sampled.values()), f"verax check-highlights {shlex.quote(str(folder))}"
        out.print(
            Text(f"To check: {rows} rows in {folder / SAMPLES}; move the asterisks, then {check}"), soft_wrap=True
        )


def _agreement(tuned: Tuned) -> str:
    from verax.results.render.numbers import count, number

    names = ("precision", "recall", "F1")
    shares = ", ".join(f"{name} {number(value)}" for name, value in zip(names, tuned.overlap, strict=True))
    return f" ({shares} over {count(tuned.words)} words of {count(tuned.inputs)} inputs with human highlights)"


def _print_candidates(tuned: Tuned) -> None:
    from verax.results.table import Column, Table, table_row

    title = "Plausibility on the tuning set (mean average precision, higher is better)"
    columns = (
        Column("method", "method", "text"),
        Column("plausibility", "mean"),
        Column("n", "n", "count"),
        Column("skipped", "skipped", "count"),
    )
    print_table(Table("candidates", title, columns, tuple(table_row(*candidate) for candidate in tuned.candidates)))


def _print_languages(built: Built) -> None:
    from verax.jobs.highlights.card import reasons
    from verax.results.table import Column, Table, table_row

    columns = (
        Column("language", "language", "text"),
        Column("rows", "rows", "count"),
        Column("words", "words", "count"),
        Column("highlighted", "highlighted", "count"),
        Column("plausibility", "AP"),
        Column("n", "n", "count"),
        Column("skipped", "skipped", "text"),
        Column("left_out", "left out", "text"),
    )
    rows = tuple(
        table_row(
            one.lang,
            one.rows,
            one.words,
            one.highlighted,
            one.plausibility,
            one.n,
            reasons(one.skipped),
            reasons(one.left_out),
        )
        for one in built.languages
    )
    print_table(Table("languages", "Average precision of the same method against the highlights", columns, rows))


@app.command("check-highlights")
def check_highlights(
    folder: Annotated[Path, typer.Argument(help="The folder of a build.", metavar="DIR")],
    as_json: Json = False,
    as_csv: Csv = False,
    as_latex: Latex = False,
    as_markdown: Markdown = False,
) -> None:
    """Print precision, recall and F1 of automatic highlights against those that people have edited.

    The files in DIR/annotations are read; remove those of languages that have not been checked.

    Example: `verax check-highlights runs/highlights --latex`
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
    print_table(table, json=as_json, csv=as_csv, latex=as_latex, markdown=as_markdown)
    untouched = [one.lang for one in checked if not one.edited]
    if untouched:
        warning = f"nothing was changed in {', '.join(untouched)}: remove files that have not been checked"
        notes.print(Text(f"warning: {warning}", "yellow"), soft_wrap=True)
