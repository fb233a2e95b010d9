"""All rows of a run as objects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verax.store.files import replace_file
from verax.store.journal import begin_journal
from verax.store.read import RunTables
from verax.store.shards import INDEX, ShardIndex, read_index
from verax.types import Alignment, Highlight, Instance, Nle, Prediction, Score, Skip


@dataclass(frozen=True)
class Stored:
    """Rows of a run, each list in the order of `RunTables`, and what could not be read (`damaged`)."""

    card: dict[str, Any]
    damaged: tuple[str, ...]
    instances: list[Instance]
    predictions: list[Prediction]
    highlights: list[Highlight]
    skips: list[Skip]
    scores: list[Score]
    alignments: list[Alignment]
    texts: list[Nle]


def read_run(folder: Path) -> Stored:
    """Read all rows of a run."""
    tables = RunTables.open(folder)
    explanations = tables.rows("explanations")
    return Stored(
        tables.card,
        tables.problems,
        tables.rows("instances"),
        tables.rows("predictions"),
        [row for row in explanations if isinstance(row, Highlight)],
        [row for row in explanations if isinstance(row, Skip)],
        tables.rows("scores"),
        tables.rows("alignments"),
        tables.rows("texts"),
    )


def forget_hashes(folder: Path) -> None:
    """Turn a run with no rows in its journal into one of an earlier version.

    It has no hashes of the run card and the plan, and no hashes in the names of its shards.
    """
    index, shards = read_index(folder), []
    for shard in index.shards:
        table, number = shard.name.removesuffix(".parquet").split("-")[:2]
        shards.append(replace(shard, name=f"{table}-{number}.parquet"))
        (folder / "shards" / shard.name).rename(folder / "shards" / shards[-1].name)
    older = ShardIndex(index.number, tuple(shards))
    begin_journal(folder, older)
    replace_file(folder / INDEX, older.to_bytes())
