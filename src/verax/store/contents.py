"""Contents of a run's files: which rows they hold, and which of them the plan names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from verax.store.codec import Plain
from verax.store.folder import PLAN
from verax.store.journal import read_journal, unpack
from verax.store.keyset import fingerprints, first_match, is_first, read_fingerprints
from verax.store.shards import Damaged, Shard, ShardIndex, arrow_table, read_shard
from verax.store.tables import TABLES, TableName
from verax.types import IntArray, UserError

_HEADS = ("key", "position")


@dataclass(frozen=True)
class Part:
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
class Contents:
    """Rows in the files of a run.

    Args:
        folder: of the run.
        parts: of each table, in the order of sealing; the journal is the last.
        keys: fingerprints of the keys of all rows, one table after the other, shape [rows, 2].
        positions: of the same rows, shape [rows].
        problems: what could not be read, a line each.
    """

    folder: Path
    parts: dict[TableName, list[Part]]
    keys: IntArray
    positions: IntArray
    problems: list[str]

    def planned(self) -> tuple[int | None, IntArray]:
        """Number of rows that the plan names, and the numbers of those that are present, in its order.

        Without a plan the number is None, and all rows are present, in the order of their positions. Of several rows
        with the same key the one with the lowest position counts.
        """
        by_position = np.argsort(self.positions, kind="stable")
        present = self.keys[by_position]
        try:
            plan = read_fingerprints(self.folder / PLAN)
        except FileNotFoundError:
            return None, by_position[is_first(present)]
        plan = plan[is_first(plan)]
        rows = first_match(plan, present)
        return len(plan), by_position[rows[rows >= 0]]


def read_contents(folder: Path, index: ShardIndex) -> Contents:
    """Read the keys of all rows. The journal comes first, since a writer may delete it."""
    journal, problems = _journal_tables(folder, index)
    parts: dict[TableName, list[Part]] = {name: [] for name in TABLES}
    keys: dict[TableName, list[IntArray]] = {name: [] for name in TABLES}
    positions: dict[TableName, list[IntArray]] = {name: [] for name in TABLES}

    def add(table: TableName, source: Shard | pa.Table, heads: pa.Table) -> None:
        parts[table].append(Part(folder, table, len(heads), source))
        keys[table] += [fingerprints(chunk) for chunk in heads["key"].chunks]
        positions[table].append(heads["position"].to_numpy())

    for shard in index.shards:
        try:
            add(shard.table, shard, read_shard(folder, shard, _HEADS))
        except Damaged as error:
            problems.append(str(error))
    for table, rows in journal.items():
        add(table, rows, rows)
    empty = [np.empty((0, 2), np.uint64)], [np.empty(0, np.int64)]
    all_keys, all_positions = sum(keys.values(), empty[0]), sum(positions.values(), empty[1])
    return Contents(folder, parts, np.concatenate(all_keys), np.concatenate(all_positions), problems)


def _journal_tables(folder: Path, index: ShardIndex) -> tuple[dict[TableName, pa.Table], list[str]]:
    """Rows in the journal, by table, and what is wrong with it."""
    rows: dict[TableName, list[Plain]] = {}
    try:
        contents = read_journal(folder / index.journal)
    except Damaged as error:
        return {}, [str(error)]
    for payload in contents.payloads:
        table, row = unpack(payload)
        rows.setdefault(table, []).append(row)
    problem = f"{index.journal} is damaged at byte {contents.end}; the rows after it cannot be read"
    return {table: arrow_table(table, members) for table, members in rows.items()}, [problem] * contents.damaged
