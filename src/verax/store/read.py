"""Reading a run as Arrow columns: no lock, no change to the folder, safe while another process writes to it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from verax.store.codec import unescape
from verax.store.contents import Contents, Part, read_contents
from verax.store.folder import CARD, find_index
from verax.store.keyset import KeySet
from verax.store.shards import INDEX, ShardIndex
from verax.store.tables import TABLES, Row, TableName, decode
from verax.types import Alignment, Highlight, Instance, IntArray, Nle, Prediction, Score, Skip, UserError


class RunTables:
    """Tables of a run as of when it was opened: the rows that its plan names, in the order of the plan.

    A run without a plan consists of all its rows, in the order in which they were appended. Of rows with the same key
    the first counts. Rows are Arrow columns, which are read when they are asked for; Python objects are created by
    `rows` and `strings` alone.

    Attributes:
        folder: of the run.
        card: the run card, empty if none was written.
        problems: what could not be read or is not there yet, a line each.
        planned: number of rows that the plan names; None without a plan.
        missing: how many of those are not there yet.
    """

    def __init__(self, folder: Path, contents: Contents, problem: str | None) -> None:
        self.folder = folder
        self.card, damage = read_card(folder)
        self.planned, ids = contents.planned()
        self.missing = 0 if self.planned is None else self.planned - len(ids)
        self.problems = (*([problem] if problem else []), *contents.problems, *damage)
        if self.missing:
            missing = f"the run is not finished: {self.missing} of {self.planned} rows are missing"
            self.problems += (f"{missing}; start the same command again to compute them",)
        self._parts = contents.parts
        self._columns: dict[tuple[TableName, str], pa.ChunkedArray] = {}
        self._order: dict[TableName, IntArray] = {}
        start = 0
        for name, parts in contents.parts.items():
            end = start + sum(part.rows for part in parts)
            self._order[name] = ids[(ids >= start) & (ids < end)] - start
            start = end

    @classmethod
    def open(cls, folder: Path) -> RunTables:
        """Open what a run holds now. Rows that are just being written are not there yet."""
        folder = Path(folder)
        if not folder.is_dir():
            raise UserError(f"there is no run at {folder}: it is not a folder")
        index, problem = _find_index(folder)
        while True:
            contents = read_contents(folder, index)
            if not contents.problems:
                break
            # A writer may have sealed the journal, or set a shard aside, since the index was read.
            newer, problem = _find_index(folder)
            if newer == index:
                break
            index = newer
        return cls(folder, contents, problem)

    def counts(self) -> dict[TableName, int]:
        """Number of rows of each table."""
        return {name: len(order) for name, order in self._order.items()}

    def table(self, name: TableName, columns: Sequence[str] | None = None) -> pa.Table:
        """Columns of a table; each is read once and kept.

        Columns of strings, except keys and JSON, are dictionary-encoded; `codes` gives their groups. Strings are in
        their stored form, which differs from the original where that is not valid UTF-8; `strings` restores it. A
        column that a shard of an earlier version does not have holds the field's default there if that is a string or
        a number, and null otherwise.

        Args:
            name: of the table.
            columns: their names; all by default.
        """
        names = TABLES[name].schema.names if columns is None else columns
        unread = [column for column in names if (name, column) not in self._columns]
        if unread:
            self._columns |= {(name, column): data for column, data in self._read(name, unread)}
        return pa.table({column: self._columns[name, column] for column in names})

    def rows(self, name: TableName, indices: Sequence[int] | IntArray | None = None) -> list[Any]:
        """Rows of a table as objects, for display.

        Args:
            name: of the table.
            indices: numbers of the rows in `table(name)`; all by default, which takes much memory in a large run.
        """
        order = self._order[name]
        wanted = order if indices is None else order[np.asarray(indices, np.int64)]
        starts = np.cumsum([0, *(part.rows for part in self._parts[name])])
        places = np.searchsorted(starts, wanted, "right") - 1
        values: list[Any] = [None] * len(wanted)
        for place in np.unique(places):
            (chosen,) = np.nonzero(places == place)
            part = self._parts[name][place].read().take(pa.array(wanted[chosen] - starts[place]))
            for number, row in zip(chosen, part.to_pylist(), strict=True):
                values[number] = decode(name, row)[1]
        return values

    def _read(self, name: TableName, columns: Sequence[str]) -> Iterator[tuple[str, pa.ChunkedArray]]:
        """Read columns of all parts of a table, and bring them into the order of the plan."""
        table, order = TABLES[name], self._order[name]
        parts = [part.read(columns, table.strings) for part in self._parts[name]]
        ordered = len(order) == sum(map(len, parts)) and bool((np.diff(order) == 1).all())
        for column in columns:
            kind = table.schema.field(column).type
            if column in table.strings:
                kind = pa.dictionary(pa.int32(), pa.string())
            missing = pa.scalar(table.defaults.get(column), table.schema.field(column).type)
            chunks = [chunk for part in parts for chunk in _chunks(part, column, kind, missing)]
            data = pa.chunked_array(chunks, kind).unify_dictionaries()
            data = data if ordered else data.take(pa.array(order))
            yield column, data.combine_chunks() if column in table.strings else data


def _find_index(folder: Path) -> tuple[ShardIndex, str | None]:
    index, problem = find_index(folder)
    if index is None:
        raise UserError(f"{folder} is not a run: it has no {INDEX}")
    return index, problem


def _chunks(part: pa.Table, column: str, kind: pa.DataType, missing: pa.Scalar) -> list[pa.Array]:
    """A column of a part in its current type; `missing` in each row if the part has no such column."""
    chunks = part[column].chunks if column in part.column_names else [pa.repeat(missing, len(part))]
    return [chunk if chunk.type == kind else chunk.cast(kind) for chunk in chunks]


def strings(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    """Values of a column of strings, as they were before they were stored; None for null."""
    return [None if value is None else unescape(value) for value in column.to_pylist()]


def value_counts(column: pa.ChunkedArray) -> dict[str, int]:
    """Number of rows of each value of a column of strings, in the order in which the values first appear."""
    counted = column.value_counts()
    return dict(zip(strings(counted.field("values")), counted.field("counts").to_pylist(), strict=True))


def codes(column: pa.ChunkedArray) -> tuple[IntArray, list[str]]:
    """Groups of a dictionary-encoded column.

    Returns:
        the number of each row's value, shape [rows], -1 for null, and the values.
    """
    data = column.combine_chunks()
    data = data.chunk(0) if isinstance(data, pa.ChunkedArray) else data
    return data.indices.fill_null(-1).to_numpy(zero_copy_only=False), strings(data.dictionary)


@dataclass(frozen=True)
class Stored:
    """Rows of a run as objects, each list in the order of `RunTables`.

    `card` is the run card, empty if none was written. `damaged` lists what could not be read or is not there yet.
    """

    folder: Path
    card: dict[str, Any]
    instances: list[Instance]
    predictions: list[Prediction]
    highlights: list[Highlight]
    skips: list[Skip]
    scores: list[Score]
    damaged: tuple[str, ...]
    alignments: list[Alignment] = field(default_factory=list)
    texts: list[Nle] = field(default_factory=list)


def read_run(folder: Path) -> Stored:
    """All rows of a run as objects."""
    tables = RunTables.open(folder)
    explanations = tables.rows("explanations")
    return Stored(
        tables.folder,
        tables.card,
        tables.rows("instances"),
        tables.rows("predictions"),
        [row for row in explanations if isinstance(row, Highlight)],
        [row for row in explanations if isinstance(row, Skip)],
        tables.rows("scores"),
        tables.problems,
        tables.rows("alignments"),
        tables.rows("texts"),
    )


def read_rows(folder: Path) -> Iterator[tuple[str, Row]]:
    """All rows of a folder, planned or not, with their keys; none if it is not a run yet."""
    for part in _parts(folder):
        yield from (decode(part.table, row) for row in part.read().to_pylist())


def read_keys(folder: Path) -> AbstractSet[str]:
    """Keys of all rows of a folder, planned or not; none if it is not a run yet."""
    keys = KeySet()
    for part in _parts(folder):
        keys.update(part.read(["key"])["key"])
    return keys


def _parts(folder: Path) -> Iterator[Part]:
    """Readable parts of a folder that may not be a run yet."""
    folder = Path(folder)
    index = find_index(folder)[0] if folder.is_dir() else None
    if index is not None:
        yield from (part for parts in read_contents(folder, index).parts.values() for part in parts)


def read_card(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """The run card, empty if there is none, and what is wrong with it."""
    try:
        card = json.loads((folder / CARD).read_bytes())
    except FileNotFoundError:
        return {}, []
    except (OSError, ValueError, RecursionError):
        return {}, [f"{CARD} is damaged"]
    return (card, []) if isinstance(card, dict) else ({}, [f"{CARD} is damaged"])
