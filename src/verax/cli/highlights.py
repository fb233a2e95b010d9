"""The commands that make a dataset with highlights in several languages, and compare it with what people say."""
# ruff: noqa: PLC0415

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from verax.cli.app import Csv, Json, Latex, Markdown, app, notes, out, show
from verax.types import UserError

if TYPE_CHECKING:
    from verax.report.tables import Table
    from verax.report.terminal import Board
    from verax.run.highlights.annotations import Checked
    from verax.run.highlights.build import Built


@app.command("build-highlights")
def build_highlights(
    spec: Annotated[
        Path | None, typer.Argument(help="A YAML file with any of the fields below, and more.", metavar="[SPEC.yaml]")
    ] = None,
    *,
    folder: Annotated[Path, typer.Option("--out", help="Where the dataset goes, and what is kept on the way.")],
    model: Annotated[str | None, typer.Option(help="The model that is explained.")] = None,
    data: Annotated[str | None, typer.Option(help="The same inputs in several languages.")] = None,
    reference: Annotated[str | None, typer.Option(help="The language to project from; en by default.")] = None,
    tuning: Annotated[
        str | None, typer.Option(help="A set with words that people marked, to choose method and threshold on.")
    ] = None,
    tuning_model: Annotated[str | None, typer.Option(help="The model for that set; --model by default.")] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            help="A candidate: a name, or in quotes 'saliency: {target: loss}'; repeat it. Left out: the 26 of the "
            "preset attribution-table."
        ),
    ] = None,
    method: Annotated[str | None, typer.Option(help="Take this method, whatever is most plausible.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Take this threshold of normalised scores.")] = None,
    aligner: Annotated[
        str | None,
        typer.Option(help="A name that `verax list aligners` shows, or in quotes 'embedding: {encoder: DIR}'."),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(help="Inputs of each class and language for people to check; 10 by default.", min=0)
    ] = None,
    seed: Annotated[int | None, typer.Option(help="0 by default.", min=0)] = None,
) -> None:
    """Make a dataset with highlights in several languages: choose, binarise, project, write, validate.

    Killed at any time, the same command goes on from there.

    Examples: `verax build-highlights --model my-mbert --data parallel.jsonl --tuning esnli --out runs/highlights`

    `verax build-highlights spec.yaml --method 'saliency: {target: loss, aggregate: l2}' --threshold 0.167 --out here`
    """
    from verax.run.highlights.build import build_highlights as make
    from verax.run.highlights.spec import parse_highlights_spec

    sections = {"model": model, "data": data, "tuning": tuning, "tuning_model": tuning_model}
    fields = {
        "reference": reference,
        "methods": None if methods is None else [_given("--methods", one) for one in methods],
        "method": None if method is None else _given("--method", method),
        "threshold": threshold,
        "aligner": None if aligner is None else _given("--aligner", aligner),
        "sample": sample,
        "seed": seed,
    }
    parsed = parse_highlights_spec(_content(spec, sections, fields))
    flags = {**sections, **{name: value for name, value in fields.items() if name != "methods"}}
    built = make(parsed, folder, command=_command(spec, folder, flags, methods or ()), console=notes)
    _show_built(built, folder)


def _content(spec: Path | None, sections: dict[str, str | None], fields: dict[str, Any]) -> dict[str, Any]:
    """What a spec file says, with what flags say in its place: the names of sections, and other fields."""
    from verax.run.spec import by_name, read_spec

    content = {} if spec is None else read_spec(spec)
    for field, name in sections.items():
        if name is not None:
            before = by_name(content.get(field) or {})
            content[field] = {**before, "name": name} if isinstance(before, dict) else before
    content |= {field: value for field, value in fields.items() if value is not None}
    for field in ("model", "data"):
        if not content.get(field):
            raise UserError(f"say what to build from with --{field}, or in a spec: verax build-highlights spec.yaml")
    return content


def _given(flag: str, value: str) -> Any:
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
    """What a person types to get the same again."""
    words = ["verax", "build-highlights", *([] if spec is None else [str(spec)])]
    for name, value in flags.items():
        if value is not None:
            written = json.dumps(value) if isinstance(value, dict) else str(value)
            words += [f"--{name.replace('_', '-')}", written]
    for one in methods:
        words += ["--methods", one]
    return shlex.join([*words, "--out", str(folder)])


def _show_built(built: Built, folder: Path) -> None:
    from verax.run.highlights.annotations import FOLDER as SAMPLES
    from verax.run.highlights.writing import FOLDER, JSONL

    choice = built.choice
    if choice.tuned is not None:
        out.print(_candidates(built))
    out.print(Text(f"method: {choice.method.label}; threshold: {choice.threshold:g}{_overlap(built)}"), soft_wrap=True)
    out.print(_languages(built))
    out.print(Text(f"Wrote {folder / JSONL} and {folder / FOLDER}"), soft_wrap=True)
    read = {"name": str(folder / JSONL), **built.reading}
    out.print(Text(f"In a spec: data: {json.dumps(read)}"), soft_wrap=True)
    if built.sampled:
        rows = sum(built.sampled.values())
        out.print(
            Text(
                f"For people to check: {rows} rows in {folder / SAMPLES}; move the asterisks, then "
                f"verax check-highlights {shlex.quote(str(folder))}"
            ),
            soft_wrap=True,
        )


def _overlap(built: Built) -> str:
    from verax.results.render.numbers import count, number

    tuned = built.choice.tuned
    if tuned is None:
        return " (both given)"
    shares = zip(("precision", "recall", "F1"), tuned.overlap, strict=True)
    told = ", ".join(f"{name} {number(value)}" for name, value in shares)
    return f" ({told} over {count(tuned.words)} words of {count(tuned.inputs)} inputs that people marked)"


def _candidates(built: Built) -> Board:
    from verax.report.terminal import Board
    from verax.results.render.numbers import count, interval, number

    tuned = built.choice.tuned
    rows = tuple(
        (
            one.label,
            number(one.plausibility and one.plausibility.value),
            interval(*(one.plausibility or (None, None, None))[1:]),
            count(one.n),
            count(one.skipped),
        )
        for one in (tuned.candidates if tuned else ())
    )
    heads = ("method", "mean", "95 % interval", "n", "skipped")
    return Board(
        "plausibility on the tuning set (mean average precision, higher is better)", heads, rows, frozenset({0})
    )


def _languages(built: Built) -> Board:
    from verax.report.terminal import Board
    from verax.results.render.numbers import count, interval, number
    from verax.run.highlights.card import reasons

    rows = tuple(
        (
            one.lang,
            count(one.rows),
            count(one.words),
            count(one.highlighted),
            number(one.plausibility and one.plausibility.value),
            interval(*(one.plausibility or (None, None, None))[1:]),
            count(one.n),
            reasons(one.skipped),
            reasons(one.left_out),
        )
        for one in built.languages
    )
    heads = ("language", "rows", "words", "highlighted", "AP", "95 % interval", "n", "skipped", "left out")
    return Board("average precision of the same method against the highlights", heads, rows)


@app.command("check-highlights")
def check_highlights(
    folder: Annotated[Path, typer.Argument(help="The folder of a build.", metavar="DIR")],
    as_json: Json = False,
    as_csv: Csv = False,
    as_latex: Latex = False,
    as_markdown: Markdown = False,
) -> None:
    """Print precision, recall and F1 of automatic highlights against those that people have edited.

    The files in DIR/annotations are read; take away those of languages that nobody has checked.

    Example: `verax check-highlights runs/highlights --latex`
    """
    from verax.run.highlights.checking import check_highlights as check

    checked = check(folder)
    table = _checked_table(checked)
    show(
        table,
        lambda: _checked_board(table),
        json=as_json,
        csv=as_csv,
        latex=as_latex,
        markdown=as_markdown,
    )
    untouched = [one.lang for one in checked if not one.edited]
    if untouched:
        told = f"nothing was changed in {', '.join(untouched)}: take away files that nobody has checked"
        notes.print(Text(f"warning: {told}", "yellow"), soft_wrap=True)


def _checked_table(checked: Sequence[Checked]) -> Table:
    from verax.report.tables import Table
    from verax.results.render.numbers import count, number

    records = tuple(
        {"language": one.lang, **one.overlap._asdict(), "rows": one.rows, "edited": one.edited} for one in checked
    )
    cells = tuple((one.lang, *map(number, one.overlap), count(one.rows), count(one.edited)) for one in checked)
    heads = ("Language", "Precision", "Recall", "F1", "Rows", "Edited")
    return Table(tuple(records[0]), records, heads, cells, text_columns=1)


def _checked_board(table: Table) -> Board:
    from verax.report.terminal import Board

    return Board("automatic highlights against those that people edited", table.heads, table.cells)
