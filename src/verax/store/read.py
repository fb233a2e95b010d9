"""Reading a run as Arrow columns: no lock, no change to the folder, safe while another process writes to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from verax.store.codec import Plain, unescape
from verax.store.folder import find_index
from verax.store.journal import read_journal, rescue_rows, unpack
from verax.store.keyset import KeySet, fingerprints, first_match, is_first, line_fingerprints
from verax.store.shards import (
    CARD,
    INDEX,
    PLAN,
    Damaged,
    Shard,
    ShardIndex,
    arrow_table,
    check_file,
    parse_json,
    read_shard,
    read_whole,
)
from verax.store.tables import COUNTED, TABLES, Row, TableName, decode
from verax.types import IntArray, UserError


class _NoPandas:
    """A finder of modules that says that pandas is not installed."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        """Nothing about other modules."""
        if name == "pandas":
            raise ModuleNotFoundError("pandas is spared", name=name)


def spare_pandas() -> None:
    """Let pyarrow look for pandas now, and not find it, unless it is imported already.

    pyarrow imports pandas with the first array that is made of Python objects, only to recognise pandas objects among
    them; that takes nearly as long as all else when a small run is shown. A process that calls this must not give it
    any. Whatever needs pandas by itself still imports it, `Table.to_pandas` included.
    """
    if "pandas" in sys.modules:
        return
    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([])
    finally:
        sys.meta_path.remove(_NoPandas)


@dataclass(frozen=True)
class TablePart:
    """Rows of one table in one file: a shard, or the journal, whose rows are held in memory."""

    folder: Path
    table: TableName
    rows: int
    source: Shard | pa.Table

    def read(self, columns: Sequence[str] | None = None, dictionaries: Sequence[str] = ()) -> pa.Table:
        """Read columns, all by default; those of `dictionaries` in dictionary encoding if they are in a shard."""
        if not isinstance(self.source, Shard):
            return self.source if columns is None else self.source.select(columns)
        try:
            return read_shard(self.folder, self.source, columns, dictionaries)
        except Damaged as error:
            raise UserError(f"{self.folder} changed while it was read: {error}; run the command again") from error


@dataclass(frozen=True)
class RunContents:
    """Rows in the files of a run.

    Args:
        parts: of each table, in the order of sealing; the journal is the last.
        keys: fingerprints of the keys of all rows, one table after the other, shape [rows, 2].
        positions: of the same rows, shape [rows].
        problems: what could not be read, a line each.
    """

    parts: dict[TableName, list[TablePart]]
    keys: IntArray
    positions: IntArray
    problems: list[str]

    def planned(self, plan: IntArray | None) -> tuple[int | None, IntArray]:
        """Number of rows that the plan names, and the numbers of those that are present, in its order.

        Without a plan the number is None, and all rows are present, in the order of their positions. Of several rows
        with the same key the one with the lowest position counts.

        Args:
            plan: fingerprints of its keys, shape [keys, 2].
        """
        by_position = np.argsort(self.positions, kind="stable")
        present = self.keys[by_position]
        if plan is None:
            return None, by_position[is_first(present)]
        plan = plan[is_first(plan)]
        rows = first_match(plan, present)
        return len(plan), by_position[rows[rows >= 0]]


def read_contents(folder: Path, index: ShardIndex) -> RunContents:
    """Read the keys of all rows. The journal comes first, since a writer may delete it."""
    journal, problems = _journal_tables(folder, index)
    parts: dict[TableName, list[TablePart]] = {name: [] for name in TABLES}
    keys: dict[TableName, list[IntArray]] = {name: [] for name in TABLES}
    positions: dict[TableName, list[IntArray]] = {name: [] for name in TABLES}

    def add(table: TableName, source: Shard | pa.Table, heads: pa.Table) -> None:
        parts[table].append(TablePart(folder, table, len(heads), source))
        keys[table] += [fingerprints(chunk) for chunk in heads["key"].chunks]
        positions[table].append(heads["position"].to_numpy())

    for shard in index.shards:
        try:
            add(shard.table, shard, read_shard(folder, shard, ("key", "position")))
        except Damaged as error:
            problems.append(str(error))
    for table, rows in journal.items():
        add(table, rows, rows)
    empty = [np.empty((0, 2), np.uint64)], [np.empty(0, np.int64)]
    all_keys, all_positions = sum(keys.values(), empty[0]), sum(positions.values(), empty[1])
    return RunContents(parts, np.concatenate(all_keys), np.concatenate(all_positions), problems)


def _journal_tables(folder: Path, index: ShardIndex) -> tuple[dict[TableName, pa.Table], list[str]]:
    """Rows in the journal, by table, and what is wrong with it."""
    rows: dict[TableName, list[Plain]] = {}
    problems: list[str] = []
    path = folder / index.journal
    try:
        contents = read_journal(path)
        payloads = contents.payloads + contents.rescued
        if contents.rescued:
            problems = [f"{path.name} is damaged at byte {contents.end}; the rows there cannot be read"]
    except Damaged as error:
        payloads, problems = rescue_rows(path) if path.is_file() else [], [str(error)]
    for payload in payloads:
        table, row = unpack(payload)
        rows.setdefault(table, []).append(row)
    return {table: arrow_table(table, members) for table, members in rows.items()}, problems


class RunTables:
    """Tables of a run as of when it was opened: the rows that its plan names, in the order of the plan.

    A run without a plan consists of all its rows, in the order in which they were appended. Of rows with the same key
    the first counts. Columns are read on demand; only `rows` and `strings` create Python objects.

    Attributes:
        card: the run card, empty if none was written; its copy in the index if the file is damaged.
        problems: what could not be read or is missing, a line each.
        planned: number of rows that the plan names, inputs and alignments among them; None without a plan.
        missing: number of planned rows that are missing.
    """

    def __init__(self, folder: Path, contents: RunContents, card: dict[str, Any], plan: IntArray | None) -> None:
        self.folder = folder
        self.card = card
        self.planned, ids = contents.planned(plan)
        self.missing = 0 if self.planned is None else self.planned - len(ids)
        self._parts = contents.parts
        self._columns: dict[tuple[TableName, str], pa.ChunkedArray] = {}
        self._order: dict[TableName, IntArray] = {}
        start = 0
        for name, parts in contents.parts.items():
            end = start + sum(part.rows for part in parts)
            self._order[name] = ids[(ids >= start) & (ids < end)] - start
            start = end
        self.problems = tuple(contents.problems)
        if self.missing:
            unfinished = f"the run is not finished: {self.progress}; start the same command again to compute them"
            self.problems = (unfinished, *self.problems)

    @classmethod
    def open(cls, folder: Path) -> RunTables:
        """Open a run with the rows that are complete now."""
        folder = Path(folder)
        if not folder.is_dir():
            raise UserError(f"{folder} is not a run: it is not a folder")
        index, problem = _find_index(folder)
        while True:
            contents = read_contents(folder, index)
            card, damage = read_card(folder, index)
            plan, more = _read_plan(folder, index)
            contents.problems[:] = [*([problem] if problem else []), *contents.problems, *damage, *more]
            if not contents.problems:
                break
            # A writer may have sealed the journal, or set a shard aside, since the index was read.
            newer, problem = _find_index(folder)
            if newer == index:
                break
            index = newer
        return cls(folder, contents, card, plan)

    @property
    def progress(self) -> str:
        """Rows that are done and missing, in words; without inputs and alignments if the card has their number."""
        total, missing = self.planned or 0, self.missing
        counted = self.card.get("planned")
        if isinstance(counted, int):
            total, missing = counted, counted - sum(self.counts()[name] for name in COUNTED)
            if missing <= 0:
                return f"all {total} rows done, {self.missing} of their inputs and alignments missing"
        return f"{total - missing} of {total} rows done, {missing} missing"

    def counts(self) -> dict[TableName, int]:
        """Number of rows of each table."""
        return {name: len(order) for name, order in self._order.items()}

    def table(self, name: TableName, columns: Sequence[str] | None = None) -> pa.Table:
        """Columns of a table; each is read once and kept.

        Columns of strings, except keys and JSON, are dictionary-encoded; `codes` gives their groups. Strings are in
        their stored form, which differs from the original where that is not valid UTF-8; `strings` restores it. A
        column that is missing in a shard of an earlier version holds the default of its field if that is a string or a
        number, and null otherwise.
        """
        names = TABLES[name].schema.names if columns is None else columns
        unread = [column for column in names if (name, column) not in self._columns]
        if unread:
            self._columns |= {(name, column): data for column, data in self._read(name, unread)}
        return pa.table({column: self._columns[name, column] for column in names})

    def rows(self, name: TableName, indices: Sequence[int] | IntArray | None = None) -> list[Any]:
        """Rows of a table as objects, given by their numbers; all rows of a large run take much memory."""
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
    if pa.types.is_dictionary(column.type):  # each value of the dictionary is made once
        numbers, names = codes(column)
        values = [*names, None]
        return [values[number] for number in numbers.tolist()]
    return [None if value is None else unescape(value) for value in column.to_pylist()]


def value_counts(column: pa.ChunkedArray) -> dict[str, int]:
    """Number of rows of each value of a column of strings, in the order in which the values first appear."""
    counted = column.value_counts()
    return dict(zip(strings(counted.field("values")), counted.field("counts").to_pylist(), strict=True))


def codes(column: pa.Array | pa.ChunkedArray) -> tuple[IntArray, list[str]]:
    """The number of each row's value in a dictionary-encoded column, shape [rows], -1 for null; and the values."""
    data = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    data = data.chunk(0) if isinstance(data, pa.ChunkedArray) else data
    return data.indices.fill_null(-1).to_numpy(zero_copy_only=False), strings(data.dictionary)


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


def read_reasons(folder: Path) -> Iterator[tuple[str, str, str]]:
    """Key, reason and detail of every explanation and score in a folder that has no value, planned or not."""
    for part in _parts(folder):
        if part.table in {"explanations", "scores"}:
            rows = part.read(["key", "reason", "detail"])
            rows = rows.filter(pc.is_valid(rows["reason"]))
            columns = (strings(rows[name]) for name in ("key", "reason", "detail"))
            yield from ((key, reason, detail or "") for key, reason, detail in zip(*columns, strict=True))


def _parts(folder: Path) -> Iterator[TablePart]:
    """Readable parts of a folder that may not be a run yet."""
    folder = Path(folder)
    index = find_index(folder)[0] if folder.is_dir() else None
    if index is not None:
        yield from (part for parts in read_contents(folder, index).parts.values() for part in parts)


def read_run_card(folder: Path) -> dict[str, Any]:
    """The card of a folder, empty if it is not a run yet."""
    index = find_index(folder)[0] if folder.is_dir() else None
    return {} if index is None else read_card(folder, index)[0]


def read_card(folder: Path, index: ShardIndex) -> tuple[dict[str, Any], list[str]]:
    """The run card, empty if there is none, and what is wrong with it."""
    data, problems = _read_checked(folder, CARD, index)
    copy = index.files[CARD].content if CARD in index.files else None
    if problems and copy is not None:
        data, problems = copy.encode(), [f"{line}; its copy in {INDEX} is used" for line in problems]
    if data is None:
        return {}, problems
    try:
        return parse_json(data, folder / CARD), problems
    except Damaged as error:
        return {}, [*problems, str(error)]


def _read_plan(folder: Path, index: ShardIndex) -> tuple[IntArray | None, list[str]]:
    """Fingerprints of the keys in the plan, None if there is no plan, and what is wrong with it."""
    data, problems = _read_checked(folder, PLAN, index)
    shown = "all rows in the folder are" if data is None else "only rows that it still names are"
    advice = f"{shown} shown; start the same command again to rebuild it"
    return None if data is None else line_fingerprints(data), [f"{line}; {advice}" for line in problems]


def _read_checked(folder: Path, name: str, index: ShardIndex) -> tuple[bytes | None, list[str]]:
    """The bytes of the card or the plan, None if they cannot be read, and what is wrong with them."""
    try:
        if name in index.files:
            return check_file(folder, name, index.files[name]), []
        return read_whole(folder / name), []
    except Damaged as error:
        problem = str(error)
    except UserError as error:
        return None, [f"{name} is damaged: {error}"]
    if name not in index.files:  # a run of an earlier version, or one that has just begun
        return None, []
    path = folder / name
    return read_whole(path) if path.is_file() else None, [problem]
