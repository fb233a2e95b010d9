"""The command that compares how a model represents translations of the same inputs."""
# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from verax.cli.app import Csv, Json, Latex, Markdown, app, notes, show
from verax.cli.explaining import open_inputs

if TYPE_CHECKING:
    from verax.report.tables import Table
    from verax.run.representations import Similarity


@app.command()
def similarity(
    model: Annotated[str, typer.Option(help="A folder, a hub id, a shipped model; with or without a classifier.")],
    data: Annotated[str, typer.Option(help="Inputs in several languages: a dataset, a file, a spec (YAML).")],
    limit: Annotated[int | None, typer.Option(help="The first so many inputs, each in all languages.", min=1)] = None,
    also: Annotated[list[str] | None, typer.Option(help="Another model beside it; repeat it for several.")] = None,
    reference: Annotated[str, typer.Option(help="The language that the others are compared with.")] = "en",
    langs: Annotated[
        list[str] | None, typer.Option("--lang", "--langs", help="Another language; repeat it. All by default.")
    ] = None,
    batch: Annotated[int, typer.Option(help="Inputs of a batch.", min=3)] = 8,
    candidates: Annotated[int, typer.Option(help="Random batches beside the matching one.", min=1)] = 10,
    layer: Annotated[
        int | None, typer.Option(help="Whose hidden states; 0 are the embeddings, the last one by default.", min=0)
    ] = None,
    pooling: Annotated[str, typer.Option(help="mean (over the tokens of words) or first (the first token).")] = "mean",
    seed: Annotated[int, typer.Option(help="Of the batches.", min=0)] = 0,
    as_json: Json = False,
    as_csv: Csv = False,
    as_latex: Latex = False,
    as_markdown: Markdown = False,
) -> None:
    """Tell whether translations of an input are similar inputs to a model, as cross-lingual faithfulness assumes.

    A batch of inputs is compared with its translations and with random batches of the same language, by linear CKA of
    their hidden states. Printed is how often the translations are the most alike, with a 95 % interval.

    Examples: `verax similarity --model my-xlm-r --data xnli.jsonl`

    `verax similarity --model my-xlm-r --also my-bert --data xnli.jsonl --lang de --lang sw --layer 8`
    """
    from verax.models.load import load_encoder
    from verax.report.terminal import Board
    from verax.run.representations import representation_similarity

    inputs = open_inputs(data, limit)
    options: dict[str, Any] = {"batch": batch, "candidates": candidates, "layer": layer, "pooling": pooling}
    options |= {"reference": reference, "langs": langs, "seed": seed, "console": notes}
    found: list[Similarity] = []
    for name in dict.fromkeys([model, *(also or [])]):
        found += representation_similarity(load_encoder(name), inputs, **options)
    table = _table(found, batch, candidates)
    show(
        table,
        lambda: Board(table.caption, table.heads, table.cells),
        json=as_json,
        csv=as_csv,
        latex=as_latex,
        markdown=as_markdown,
    )


def _table(found: Sequence[Similarity], batch: int, candidates: int) -> Table:
    """A row for each language, a column for each model; the fewest batches and the most skipped pairs of any model."""
    from verax.report.tables import Table
    from verax.results.render.numbers import count, interval, number

    models = list(dict.fromkeys(one.model for one in found))
    records = [{**asdict(one), **dict(zip(("accuracy", "low", "high"), one.accuracy, strict=True))} for one in found]
    cells = []
    for lang in dict.fromkeys(one.lang for one in found):
        row = {one.model: one for one in found if one.lang == lang}
        figures = [f"{number(one.accuracy.value)} {interval(*one.accuracy[1:])}" for one in row.values()]
        fewest, most = min(one.batches for one in row.values()), max(one.skipped for one in row.values())
        cells.append((lang, *figures, count(fewest), count(most)))
    caption = (
        f"linear CKA accuracy with {found[0].reference}: batches of {batch}, {candidates} random ones beside each, "
        f"{number(found[0].chance)} by chance"
    )
    short = [Path(name).name for name in models]  # a table of long paths does not fit a terminal
    heads = ("language", *(short if len(set(short)) == len(models) else models), "batches", "skipped")
    return Table(tuple(records[0]), tuple(records), heads, tuple(cells), text_columns=1, caption=caption)
