"""Writers that are killed for real: what they acknowledged is there, nothing is there twice, and the next goes on."""

import os
import random
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

from support.stored import read_run
from verax.store.journal import Journal
from verax.store.store import Store

KILLED = 9


def told_by(path):
    return path.read_text().split() if path.exists() else []


def test_kill_9_loses_nothing_and_doubles_nothing(tmp_path, nursery, keys_on_disk, make_row):
    """Twenty writers on one run, each killed at a random moment; seals are so frequent that many die within one."""
    run, told = tmp_path / "run", tmp_path / "told"
    dice = random.Random(4)
    grown = 0
    for _ in range(20):
        before = len(told_by(told))
        pid = nursery.start("write", folder=run, acknowledged=told, rows=10**6, seal_every=20, flush_every=3)
        until = time.monotonic() + 30
        while len(told_by(told)) == before and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(dice.random() * 0.08)
        os.kill(pid, signal.SIGKILL)
        assert nursery.wait() == KILLED
        acknowledged = told_by(told)
        grown += len(acknowledged) > before
        assert len(acknowledged) == len(set(acknowledged)), "a row that was acknowledged is never computed again"
        found = keys_on_disk(run)
        assert set(acknowledged) <= set(found)
        assert set(found.values()) == {1}
        stored = read_run(run)
        assert stored.damaged == ()
        assert [repr(score) for score in stored.scores] == [repr(make_row(n)) for n in range(len(found)) if n % 5 == 4]
    assert grown == 20
    with Store.open(run) as store:
        assert set(told_by(told)) <= store.keys
        assert store.keys == {f"k{number}" for number in range(len(store.keys))}


@pytest.mark.parametrize("ill", [False, True], ids=["sound", "ill"])
def test_dying_between_any_two_steps(tmp_path, nursery, fill, keys_on_disk, ill):
    """A writer opens, appends, flushes and seals; it dies at its first, second, third ... change of a file.

    The sound run dies right after the call, the ill one right before it; this one has a torn journal and a rotten
    shard to be repaired on the way.
    """
    fill(tmp_path / "start", range(3, 6), seal=True)
    fill(tmp_path / "start", range(8, 10), seal=False)
    expected = {"k3", "k4", "k5", "k8", "k9"}
    if ill:
        next((tmp_path / "start" / "shards").glob("scores-*")).write_bytes(b"rotten")
        with (tmp_path / "start" / "journal-000002.log").open("ab") as journal:
            journal.write(b"\x10\0\0\0torn")
        expected -= {"k4"}
    status, call = KILLED << 8, 0
    while status != 0:
        call += 1
        run, told = tmp_path / f"run{call}", tmp_path / f"told{call}"
        shutil.copytree(tmp_path / "start", run)
        nursery.start("die_at", folder=run, acknowledged=told, call=call, before=ill, numbers=[13, 14, 18])
        status = nursery.wait()
        assert status in {0, KILLED << 8}
        new = {"k13", "k14", "k18"}
        with Store.open(run) as store:
            assert expected <= store.keys <= expected | new, call
            assert not told.exists() or new <= store.keys, call
        assert keys_on_disk(run) == dict.fromkeys(store.keys, 1)
        names = {path.name for path in (*run.iterdir(), *(run / "shards").iterdir())}
        assert not [name for name in names if name.endswith(".tmp")]
        assert len([name for name in names if name.startswith("journal-")]) == 1
    assert call > 20, "the calls were met"


def test_a_new_run_may_die_at_any_step(tmp_path, nursery):
    status, call = KILLED << 8, 0
    while status != 0:
        call += 1
        run, told = tmp_path / f"run{call}", tmp_path / f"told{call}"
        nursery.start("die_at", folder=run, acknowledged=told, call=call, before=call % 2 == 0, numbers=[0, 1])
        status = nursery.wait()
        with Store.open(run) as store:
            assert store.keys in (set(), {"k0"}, {"k0", "k1"})
            assert not told.exists() or len(store.keys) == 2
    assert call > 10


def test_a_seal_secures_each_file_before_it_is_named_and_each_name_before_the_journal_goes(
    tmp_path, make_row, monkeypatch
):
    """The order that a power cut needs, which a killed process alone would not show."""
    run = tmp_path / "run"
    store = Store.open(run)
    store.append("k", make_row(4))
    steps = []

    def record(name, describe):
        call = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, **k: (steps.append(f"{name} {describe(a)}"), call(*a, **k))[1])

    def relative(path):
        return re.sub("-?[0-9a-f]{16}", "*", str(Path(path).relative_to(tmp_path)))

    record("fsync", lambda a: relative(Path(f"/proc/self/fd/{a[0]}").readlink()))
    record("replace", lambda a: relative(a[1]))
    record("unlink", lambda a: relative(a[0]))
    store.seal()
    monkeypatch.undo()
    store.close()
    assert steps == [
        "fsync run/journal-000001.log",
        "fsync run/shards/scores-000001*.parquet.*.tmp",
        "replace run/shards/scores-000001*.parquet",
        "fsync run/shards",
        "fsync run/journal-000002.log.*.tmp",
        "replace run/journal-000002.log",
        "fsync run",
        "fsync run/manifest.json.*.tmp",
        "replace run/manifest.json",
        "fsync run",
        "fsync run/journal-000002.log",
        "unlink run/journal-000001.log",
    ]


def test_a_new_folder_is_made_durable(tmp_path, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(os, "fsync", lambda d: (synced.append(Path(f"/proc/self/fd/{d}").readlink()), fsync(d))[1])
    Store.open(tmp_path / "a" / "run").close()
    assert synced[:2] == [tmp_path, tmp_path / "a"]


@pytest.mark.parametrize("step", range(1, 7))
def test_ctrl_c_within_a_seal_and_then_more_rows(tmp_path, make_row, keys_on_disk, monkeypatch, step):
    """Ctrl-C right after the n-th rename of a seal; whoever catches it and goes on loses nothing either."""
    run = tmp_path / "run"
    store = Store.open(run)
    for number in range(5):
        store.append(f"k{number}", make_row(number))
    count, replace = 0, os.replace

    def interrupted(*arguments, **names):
        nonlocal count
        replace(*arguments, **names)
        count += 1
        if count == step:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.seal()
    monkeypatch.undo()
    store.append("k5", make_row(5))
    store.flush()
    assert keys_on_disk(run) == {f"k{number}": 1 for number in range(6)}, "what a kill would leave now"
    store.close()
    assert keys_on_disk(run) == {f"k{number}": 1 for number in range(6)}


def test_ctrl_c_right_after_a_row_was_written_does_not_double_it(tmp_path, make_row, keys_on_disk, monkeypatch):
    append = Journal.append

    def interrupted(self, payload):
        append(self, payload)
        raise KeyboardInterrupt

    with Store.open(tmp_path) as store:
        monkeypatch.setattr(Journal, "append", interrupted)
        with pytest.raises(KeyboardInterrupt):
            store.append("k", make_row(0))
        monkeypatch.undo()
        with pytest.raises(ValueError, match="already"):
            store.append("k", make_row(0))
    assert keys_on_disk(tmp_path) == {"k": 1}
