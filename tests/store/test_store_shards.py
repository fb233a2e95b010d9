import json
import random
import shutil
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from support.stored import read_run
from verax.store.files import replace_file
from verax.store.journal import begin_journal
from verax.store.shards import Damaged, ShardIndex, read_index, read_shard, write_shards
from verax.store.store import Store
from verax.store.tables import TABLES, encode
from verax.types import UserError


@pytest.fixture
def run(tmp_path, fill):
    """A run of three seals of ten rows, each with a shard for each table."""
    for start in (0, 10, 20):
        fill(tmp_path / "run", range(start, start + 10), seal=True)
    return tmp_path / "run"


def keys_in(run, name):
    return set(pq.read_table(run / "shards" / name)["key"].to_pylist())


def shard_named(run, start):
    return next((run / "shards").glob(f"{start}*")).name


ALL = {f"k{number}" for number in range(30)}


def test_a_flipped_bit_anywhere_in_a_shard_is_found(run):
    shard = read_index(run).shards[5]
    path = run / "shards" / shard.name
    whole = path.read_bytes()
    dice = random.Random(2)
    for at in range(0, len(whole), 3):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << dice.randrange(8)]) + whole[at + 1 :])
        with pytest.raises(Damaged, match=r"is damaged: its SHA-256"):
            read_shard(run, shard)
    for size in (0, 1, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(Damaged, match=r"is damaged: its SHA-256"):
            read_shard(run, shard)
    path.write_bytes(whole)
    assert len(read_shard(run, shard)) == shard.rows


@pytest.mark.parametrize("which", range(12))
def test_a_damaged_shard_is_set_aside_and_only_its_rows_are_computed_again(run, which, make_row, keys_on_disk):
    name = read_index(run).shards[which].name
    lost = keys_in(run, name)
    path = run / "shards" / name
    data = bytearray(path.read_bytes())
    data[random.Random(which).randrange(len(data))] ^= 0x10
    path.write_bytes(data)

    assert read_run(run).damaged == (f"shards/{name} is damaged: its SHA-256 differs from the one in manifest.json",)
    assert path.exists(), "reading changes nothing"
    with Store.open(run) as store:
        assert store.keys == ALL - lost
        assert len(store.repaired) == 1
        assert name in store.repaired[0]
        assert f"its {len(lost)} rows" in store.repaired[0]
        for number in range(30):
            if f"k{number}" not in store.keys:
                store.append(f"k{number}", make_row(number))
    assert (run / "quarantine" / name).read_bytes() == data
    assert keys_on_disk(run) == dict.fromkeys(ALL, 1)
    with Store.open(run) as store:
        assert store.repaired == ()
        assert store.keys == ALL
        assert {key: repr(value) for key, value in store.rows()} == {f"k{n}": repr(make_row(n)) for n in range(30)}


def test_a_shard_that_vanished_is_told_and_computed_again(run):
    name = shard_named(run, "scores-000002")
    lost = keys_in(run, name)
    (run / "shards" / name).unlink()
    assert read_run(run).damaged == (f"shards/{name} is missing",)
    with Store.open(run) as store:
        assert store.repaired == (f"shards/{name} is missing; its 2 rows will be computed again",)
        assert store.keys == ALL - lost
    assert read_run(run).damaged == ()


def test_a_shard_that_rots_under_an_open_store_is_one_clear_line(run):
    with Store.open(run) as store:
        (run / "shards" / shard_named(run, "scores-000002")).write_bytes(b"rotten")
        with pytest.raises(UserError, match=r"scores-000002-\w+\.parquet is damaged.*start the same command again"):
            list(store.rows())


def test_files_that_the_manifest_does_not_know_are_moved_aside_but_not_those_of_others(run):
    unknown = ["journal-000001.log", "journal-000009.log", "shards/scores-000009.parquet"]
    incomplete = ["manifest.json.tmp", "run.json.0123456789abcdef.tmp", "journal-000009.log.tmp"]
    incomplete.append("shards/scores-000009.parquet.0123456789abcdef.tmp")
    others = ["report.html", "notes.tmp", "shards/mine.parquet", "scores-1.parquet", "journal.log"]
    for name in unknown + incomplete + others:
        (run / name).write_bytes(b"something")
    with Store.open(run) as store:
        assert store.keys == ALL
        assert len(store.repaired) == 3
    assert [name for name in unknown + incomplete if (run / name).exists()] == []
    assert [name for name in others if not (run / name).exists()] == []
    assert sorted(path.name for path in (run / "quarantine").iterdir()) == sorted(Path(name).name for name in unknown)


def test_an_older_manifest_costs_no_row(run, make_row, keys_on_disk):
    """The manifest of an earlier day is put back, with its journal or without it: the shards since then stay."""
    older = {path: path.read_bytes() for path in (run / "manifest.json", *run.glob("journal-*"))}
    with Store.open(run) as store:
        for number in range(30, 50):
            store.append(f"k{number}", make_row(number))
    shards = sorted((run / "shards").iterdir())
    for restored in (list(older)[:1], list(older)):
        for path in restored:
            path.write_bytes(older[path])
        if len(restored) > 1:
            for path in set(run.glob("journal-*")) - set(restored):
                path.unlink()
        with Store.open(run) as store:
            assert store.keys == {f"k{number}" for number in range(50)}
        assert keys_on_disk(run) == {f"k{number}": 1 for number in range(50)}
        assert sorted((run / "shards").iterdir()) == shards


def test_an_unlisted_shard_is_used_only_if_its_bytes_are_intact(run, make_row):
    """The manifest and the journals are lost, one shard is damaged, one was renamed after another."""
    index = read_index(run)
    kept, damaged, renamed = (index.shards[number].name for number in (0, 5, 6))
    (run / "shards" / damaged).write_bytes((run / "shards" / damaged).read_bytes()[:-1])
    (run / "shards" / renamed).rename(run / "shards" / "scores-000001-0123456789abcdef.parquet")
    before = read_index(run)
    replace_file(run / "manifest.json", ShardIndex(before.number).to_bytes())
    begin_journal(run, ShardIndex(before.number))
    with Store.open(run) as store:
        assert len(store.keys) == 30 - sum(before.shards[number].rows for number in (5, 6))
    aside = {path.name for path in (run / "quarantine").iterdir()}
    assert aside == {damaged, "scores-000001-0123456789abcdef.parquet"}
    assert (run / "shards" / kept).exists()


def test_a_shard_that_holds_some_rows_again_gives_its_other_rows(run, make_row, keys_on_disk):
    """Two writers sealed the same rows: each row is stored once, and the second file is kept aside."""
    rows = [(table, encode(f"k{n}", 7, make_row(n))[1]) for n in (24, 34) for table in ["scores"]]
    (double,) = write_shards(run, 77, rows)
    with Store.open(run) as store:
        assert store.keys == ALL | {"k34"}
        assert "its rows are stored elsewhere" in store.repaired[0]
        assert dict(store.rows())["k34"] == make_row(34)
    assert keys_on_disk(run) == dict.fromkeys(ALL | {"k34"}, 1)
    assert (run / "quarantine" / double.name).exists()


def test_pandas_reads_the_tables(run, make_row):
    manifest = json.loads((run / "manifest.json").read_text())
    for shard in manifest["shards"]:
        table = pq.read_table(run / "shards" / shard["name"])
        assert table.schema.remove_metadata() == TABLES[shard["table"]].schema
        assert table.num_rows == shard["rows"]
        column = pq.ParquetFile(run / "shards" / shard["name"]).metadata.row_group(0).column(0)
        assert column.compression == "ZSTD"
    scores = pd.concat(pd.read_parquet(path) for path in sorted((run / "shards").glob("scores-*.parquet")))
    assert scores["value"].tolist() == [number / 7 for number in range(4, 30, 5)]
    assert scores["instance_id"].tolist() == [f"x{number}" for number in range(4, 30, 5)]
    explanations = pd.read_parquet(run / "shards" / shard_named(run, "explanations-000001"))
    assert explanations["reason"].fillna("none").tolist() == ["none", "empty", "none", "empty"]
    assert explanations["units"][0][0][0] == {"part": 0, "start": 0, "end": 1}


def test_a_long_journal_is_sealed_by_itself(tmp_path, make_row, monkeypatch):
    with Store.open(tmp_path / "run", seal_every=4) as store:
        for number in range(10):
            store.append(f"k{number}", make_row(number))
        assert read_index(tmp_path / "run").number == 3
    monkeypatch.setattr("verax.store.store.SEAL_BYTES", 1000)
    with Store.open(tmp_path / "big") as store:
        for number in range(10):
            store.append(f"k{number}", make_row(number))
        assert read_index(tmp_path / "big").number > 2
    shutil.rmtree(tmp_path / "big")
