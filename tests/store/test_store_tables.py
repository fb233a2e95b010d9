"""Reading a run as columns: the rows that the plan names, once each and in its order, as a plain loop finds them."""

from __future__ import annotations

import dataclasses
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from verax.store.journal import frame, read_journal
from verax.store.keys import key_of
from verax.store.read import RunTables, codes, read_keys, read_rows, strings, value_counts
from verax.store.shards import read_index, read_shard
from verax.store.store import Store
from verax.store.tables import TABLES, RowTable, encode
from verax.types import Cost, Score, Skip, UserError


def key(number: int) -> str:
    """A hash, as in a run, or now and then another string."""
    return f"k{number}" if number % 7 == 0 else key_of(number=number)


@pytest.fixture(params=[0, 1, 2])
def run(tmp_path, make_row, request):
    """A run of several shards and a journal; the plan is in another order, names rows that are missing, and not all."""
    dice = random.Random(request.param)
    with Store.open(tmp_path / "run", seal_every=11) as store:
        for number in range(60):
            store.append(key(number), make_row(number))
        store.write_card({"n": 60})
        store.write_plan(key(number) for number in dice.sample(range(80), 50))
        store.flush()
        store.seal = lambda: None
    return tmp_path / "run"


def expected(folder: Path) -> dict[str, list]:
    """Rows of each table, by a loop over all rows of the folder."""
    present = {}
    for name, value in read_rows(folder):
        present.setdefault(name, value)
    found: dict[str, list] = {name: [] for name in TABLES}
    for planned in (folder / "plan.txt").read_text().split():
        if planned in present:
            table, row = encode(planned, 0, present[planned])
            found[table].append((row, present[planned]))
    return found


def test_rows_are_those_of_the_plan_in_its_order(run):
    tables = RunTables.open(run)
    rows = expected(run)
    assert tables.counts() == {name: len(members) for name, members in rows.items()}
    assert tables.card == {"n": 60}
    assert tables.planned == 50
    assert tables.missing == 50 - sum(tables.counts().values()) > 0
    unfinished = f"the run is not finished: {50 - tables.missing} of 50 rows done, {tables.missing} missing"
    assert tables.problems == (f"{unfinished}; start the same command again to compute them",)
    for name, members in rows.items():
        assert tables.rows(name) == [value for _, value in members]
        plain = [{**row, "position": None} for row, _ in members]
        assert [{**row, "position": None} for row in tables.table(name).to_pylist()] == plain


def test_some_rows_in_any_order(run):
    tables = RunTables.open(run)
    every = tables.rows("scores")
    chosen = [len(every) - 1, 0, 2, 0]
    assert tables.rows("scores", chosen) == [every[number] for number in chosen]
    assert tables.rows("scores", []) == []
    with pytest.raises(IndexError):
        tables.rows("scores", [len(every)])


def test_a_column_is_read_once_and_strings_are_groups(run, monkeypatch):
    tables = RunTables.open(run)
    reads = []

    def read_and_note(folder, shard, columns, dictionaries):
        reads.append(columns and tuple(columns))
        return read_shard(folder, shard, columns, dictionaries)

    monkeypatch.setattr("verax.store.read.read_shard", read_and_note)
    first = tables.table("scores", ["instance_id", "value"])
    assert set(reads) == {("instance_id", "value")}
    reads.clear()
    again = tables.table("scores", ["value", "method", "instance_id"])
    assert set(reads) == {("method",)}
    assert again["value"].equals(first["value"])
    assert first.schema.field("instance_id").type == pa.dictionary(pa.int32(), pa.string())
    numbers, values = codes(first["instance_id"])
    assert [values[number] for number in numbers] == [row.instance_id for row in tables.rows("scores")]
    assert value_counts(again["method"]) == {"loo": len(again)}
    with pytest.raises(KeyError):
        tables.table("scores", ["no_such_column"])


def test_a_run_without_a_plan_is_all_of_its_rows_in_the_order_of_writing(tmp_path, make_row):
    with Store.open(tmp_path / "run", seal_every=7) as store:
        for number in range(30):
            store.append(key(29 - number), make_row(number))
    tables = RunTables.open(tmp_path / "run")
    assert (tables.planned, tables.missing, tables.problems) == (None, 0, ())
    assert tables.rows("instances") == [make_row(number) for number in range(0, 30, 5)]
    assert tables.table("scores", ["value"])["value"].to_pylist() == [number / 7 for number in range(4, 30, 5)]


@pytest.mark.parametrize("planned", [False, True])
def test_of_two_rows_with_one_key_the_first_counts(tmp_path, planned):
    """Two records of one key in the journal, in the wrong order, and the same key in two tables."""
    with Store.open(tmp_path / "run") as store:
        if planned:
            store.write_plan([key_of(number=2), "skip", key_of(number=0), key_of(number=2)])
        for number in range(3):
            store.append(key_of(number=number), Score(f"x{number}", "m", "s", float(number)))
        store.append("skip", Skip("x", "m", "empty"))
        store.flush()
        store.seal = lambda: None
    (path,) = (tmp_path / "run").glob("journal-*.log")
    second = read_journal(path).payloads[1]
    for position, name in ((b"9", key_of(number=2).encode()), (b"8", b"skip")):
        doubled = second.replace(key_of(number=1).encode(), name).replace(b'"position":1', b'"position":' + position)
        path.write_bytes(path.read_bytes() + frame(doubled))
    tables = RunTables.open(tmp_path / "run")
    assert [row.instance_id for row in tables.rows("scores")] == (["x2", "x0"] if planned else ["x0", "x1", "x2"])
    assert tables.rows("explanations") == [Skip("x", "m", "empty")]
    assert (tables.planned, tables.missing) == ((3, 0) if planned else (None, 0))


def test_an_empty_run_and_an_empty_plan(tmp_path):
    with Store.open(tmp_path / "run") as store:
        assert RunTables.open(tmp_path / "run").table("scores").num_rows == 0
        store.append("k", Score("x", "m", "s", 1.0))
        store.write_plan([])
    tables = RunTables.open(tmp_path / "run")
    assert (tables.planned, tables.missing, tables.rows("scores")) == (0, 0, [])
    assert tables.table("scores").schema.names == TABLES["scores"].schema.names


@pytest.mark.parametrize("sealed", [False, True])
def test_strings_come_back_as_they_were_before_they_were_stored(tmp_path, sealed):
    names = ["\ud800", "a", "\ufdd0", "a", "😀"]
    with Store.open(tmp_path) as store:
        for number, name in enumerate(names):
            store.append(str(number), Score(name, "m", "s", None, name) if number % 2 else Score(name, "m", "s", 0.0))
        if sealed:
            store.seal()
        tables = RunTables.open(tmp_path)
    column = tables.table("scores", ["instance_id", "reason"])
    assert strings(column["instance_id"]) == names
    numbers, values = codes(column["reason"])
    assert [None if number < 0 else values[number] for number in numbers] == [None, "a", None, "a", None]


@dataclasses.dataclass(frozen=True)
class LargerCost(Cost):
    energy: float = 0.5


@dataclasses.dataclass(frozen=True)
class LargerScore:
    instance_id: str
    cost: LargerCost = LargerCost()
    costs: tuple[LargerCost, ...] = ()
    rank: int = 3


@dataclasses.dataclass(frozen=True)
class SmallerScore:
    instance_id: str
    cost: Cost = Cost()
    costs: tuple[Cost, ...] = ()


def test_columns_and_members_that_an_earlier_version_did_not_write(tmp_path, monkeypatch):
    """A row has the default of the field; a column has it if it is a plain scalar. Journal and shards, old and new."""
    monkeypatch.setitem(TABLES, "scores", RowTable.of(SmallerScore))
    with Store.open(tmp_path) as store:
        store.append("a", SmallerScore("x", Cost(1), (Cost(2),)))
        store.seal()
        store.append("b", SmallerScore("y"))
        store.flush()
        store.seal = lambda: None
    monkeypatch.setitem(TABLES, "scores", RowTable.of(LargerScore))
    with Store.open(tmp_path) as store:
        store.append("c", LargerScore("z", LargerCost(3, energy=2.0), (), 7))
        store.flush()
        tables = RunTables.open(tmp_path)
        assert tables.table("scores", ["rank"])["rank"].to_pylist() == [3, 3, 7]
        costs = tables.table("scores", ["cost"])["cost"]
        assert [cost["energy"] for cost in costs.to_pylist()] == [None, None, 2.0]
        assert tables.rows("scores") == [
            LargerScore("x", LargerCost(1), (LargerCost(2),)),
            LargerScore("y"),
            LargerScore("z", LargerCost(3, energy=2.0), (), 7),
        ]
        assert tables.table("scores", ["costs"]).num_rows == 3


def test_a_shard_that_is_gone_when_its_columns_are_read_is_one_clear_line(run):
    tables = RunTables.open(run)
    shard = next(shard for shard in read_index(run).shards if shard.table == "scores")
    (run / "shards" / shard.name).unlink()
    with pytest.raises(UserError, match=rf"changed while it was read: shards/{shard.name} is missing; run the command"):
        tables.table("scores", ["value"])


def test_keys_of_a_folder(run, tmp_path):
    assert read_keys(run) == {key(number) for number in range(60)}
    assert read_keys(tmp_path / "nowhere") == set()
    assert list(read_rows(tmp_path / "nowhere")) == []


def test_columns_need_no_torch_and_start_no_thread(run):
    code = (
        "import os, sys; from verax.store.read import RunTables, codes, value_counts; "
        "threads = len(os.listdir('/proc/self/task')); "
        f"tables = RunTables.open({str(run)!r}); "
        "scores = tables.table('scores'); codes(scores['method']); value_counts(scores['method']); "
        "assert tables.rows('scores', [0]); tables.table('explanations'); tables.rows('instances'); "
        "assert len(os.listdir('/proc/self/task')) == threads, 'threads'; "
        "assert not {'torch', 'transformers'} & set(sys.modules), 'heavy'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
