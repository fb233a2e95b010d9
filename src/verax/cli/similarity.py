"""The command that compares how a model represents translations of the same inputs."""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.text import Text

from verax.cli.app import Device, FileOption, FormatOption, OutputFormat, app, model_line, notes, print_table
from verax.cli.explaining import open_inputs

if TYPE_CHECKING:
    from verax.jobs.similarity import Similarity
    from verax.results.table import Table


@app.command()
def similarity(
    model: Annotated[str, typer.Option(help="A folder, a hub id, a shipped model; with or without a classifier.")],
    data: Annotated[str, typer.Option(help="Inputs in several languages: a dataset, a file, a spec (YAML).")],
    limit: Annotated[
        int | None, typer.Option(help="Use only the first N inputs, each in all languages.", min=1)
    ] = None,
    also: Annotated[list[str] | None, typer.Option(help="Another model to compare with; can be repeated.")] = None,
    reference: Annotated[str, typer.Option(help="The language that the others are compared with.")] = "en",
    langs: Annotated[
        list[str] | None, typer.Option("--lang", "--langs", help="Another language; can be repeated. Default: all.")
    ] = None,
    batch: Annotated[int, typer.Option(help="Inputs per batch.", min=3)] = 8,
    candidates: Annotated[int, typer.Option(help="Random batches in addition to the matching one.", min=1)] = 10,
    layer: Annotated[
        int | None, typer.Option(help="Layer of the hidden states; 0: embeddings. Default: the last.", min=0)
    ] = None,
    pooling: Annotated[str, typer.Option(help="mean (over the tokens of words) or first (the first token).")] = "mean",
    seed: Annotated[int, typer.Option(help="Seed of the batches.", min=0)] = 0,
    device: Device = None,
    format: FormatOption = OutputFormat.terminal,  # noqa: A002 - the name of the option
    file: FileOption = None,
) -> None:
    """Tell whether translations of an input are similar inputs to a model, as cross-lingual faithfulness assumes.

    A batch of inputs is compared with its translations and with random batches of the same language, by linear CKA of
    their hidden states. The result is how often the translations are the most similar, with a 95 % interval.

    Examples: `verax similarity --model my-xlm-r --data xnli.jsonl`

    `verax similarity --model my-xlm-r --also my-bert --data xnli.jsonl --lang de --lang sw --layer 8`
    """
    from verax.jobs.similarity import representation_similarity
    from verax.models.load import load_encoder
    from verax.results.table import from_records

    inputs = open_inputs(data, limit)
    options: dict[str, Any] = {"batch": batch, "candidates": candidates, "layer": layer, "pooling": pooling}
    options |= {"reference": reference, "langs": langs, "seed": seed, "console": notes}
    measured: list[Similarity] = []
    for name in dict.fromkeys([model, *(also or [])]):
        encoder = load_encoder(name, device=device or "auto")
        notes.print(Text(model_line(encoder)), soft_wrap=True)
        measured += representation_similarity(encoder, inputs, **options)
    records = [{**asdict(one), **dict(zip(("accuracy", "low", "high"), one.accuracy, strict=True))} for one in measured]
    table = _table(measured, batch, candidates)
    print_table(table, format, file, from_records("similarity", "Linear CKA accuracy", records))


def _table(measured: Sequence[Similarity], batch: int, candidates: int) -> Table:
    """A row for each language; for each model its accuracy, the batches it is over, and the pairs it cannot read."""
    from verax.results.render.numbers import number
    from verax.results.table import Column, Table, table_row

    models = list(dict.fromkeys(one.model for one in measured))
    short = [Path(name).name for name in models]  # a table of long paths does not fit a terminal
    titles = short if len(set(short)) == len(models) else models
    rows = []
    for lang in dict.fromkeys(one.lang for one in measured):
        of_lang = [one for one in measured if one.lang == lang]
        cells = [cell for one in of_lang for cell in (one.accuracy, one.batches, one.skipped)]
        rows.append(table_row(lang, *cells))
    title = (
        f"Linear CKA accuracy with {measured[0].reference}: batches of {batch}, {candidates} random ones in addition, "
        f"{number(measured[0].chance)} expected by guessing"
    )
    columns = [Column("language", "language", "text")]
    for name, shown in zip(models, titles, strict=True):
        counts = [Column(f"{count}_{name}", count, "count") for count in ("batches", "skipped")]
        columns += [Column(name, shown), *counts]
    return Table("similarity", title, tuple(columns), tuple(rows))
