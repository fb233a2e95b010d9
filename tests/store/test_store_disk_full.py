"""A full disk: for real on a tiny tmpfs where mounting is allowed, and by injected errors at every write everywhere."""

import contextlib
import errno
import os
import shutil
import subprocess
import threading
import time
from pathlib import Path

import pytest

from support.stored import read_run
from verax.store import files
from verax.store.journal import unpack
from verax.store.store import Store
from verax.types import Skip, UserError


@pytest.fixture
def tiny_disk(tmp_path):
    """A folder that is a disk of 256 kB."""
    if os.geteuid() != 0:
        pytest.skip("mounting a tiny disk needs root")
    disk = tmp_path / "disk"
    disk.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], check=False, capture_output=True
    )
    if done.returncode != 0:
        pytest.skip(f"cannot mount here: {done.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def fill_up(disk):
    """Take all the room there is."""
    with (disk / "ballast").open("wb", buffering=0) as ballast:
        for size in (4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    ballast.write(b"\xff" * size)
    assert shutil.disk_usage(disk).free == 0


def row(number):
    return Skip(f"x{number}", "m", "empty", "filler " * 20)


def all_of(store, first, last):
    for number in range(first, last):
        store.append(f"k{number}", row(number))


@pytest.mark.parametrize("act", ["append", "seal", "card"])
def test_it_goes_on_when_there_is_room(tiny_disk, act):
    said = []
    with Store.open(tiny_disk / "run", patience=60, say=said.append) as store:
        all_of(store, 0, 100)
        store.flush()
        fill_up(tiny_disk)
        friend = threading.Timer(1.2, (tiny_disk / "ballast").unlink)
        friend.start()
        since = time.monotonic()
        if act == "append":
            all_of(store, 100, 150)
        elif act == "seal":
            store.seal()
        else:
            store.write_card({"a": "b" * 9000})
        assert time.monotonic() - since >= 1
        friend.join()
        all_of(store, 150, 200)
    assert len(said) == 2, said
    assert said[0].startswith("the disk is full: ")
    assert str(tiny_disk / "run") in said[0]
    assert "All rows written so far are safe. Waiting up to " in said[0]
    assert " s for space; Ctrl-C stops safely" in said[0]
    assert "can be written again" in said[1]
    stored = read_run(tiny_disk / "run")
    missing = 50 if act != "append" else 0
    assert [skip.instance_id for skip in stored.skips if int(skip.instance_id[1:]) < 100] == [
        f"x{n}" for n in range(100)
    ]
    assert len(stored.skips) == 200 - missing
    assert stored.damaged == ()
    assert (stored.card == {"a": "b" * 9000}) == (act == "card")


def test_it_gives_up_when_patience_ends_and_nothing_acknowledged_is_lost(tiny_disk, monkeypatch):
    said = []
    store = Store.open(tiny_disk / "run", patience=1.5, say=said.append)
    all_of(store, 0, 100)
    store.flush()
    fill_up(tiny_disk)
    since = time.monotonic()
    with pytest.raises(
        UserError, match=r"the disk is full: .*journal-000001\.log needs about .* free some space and start"
    ):
        all_of(store, 100, 200)
    assert 1.5 <= time.monotonic() - since < 10
    kept = set(store.keys)
    assert {f"k{number}" for number in range(100)} <= kept
    waits = []
    with monkeypatch.context() as patch:
        patch.setattr(time, "sleep", waits.append)
        with pytest.raises(UserError, match="the disk is full"):
            store.close()
    assert waits == [], "a store that has given up does not wait again"
    stored = read_run(tiny_disk / "run")
    assert {f"k{skip.instance_id[1:]}" for skip in stored.skips} == kept
    (tiny_disk / "ballast").unlink()
    with Store.open(tiny_disk / "run") as store:
        assert store.repaired == ()
        assert store.keys == kept
        all_of(store, len(kept), 200)
    assert [skip.instance_id for skip in read_run(tiny_disk / "run").skips] == [f"x{n}" for n in range(200)]


def test_a_run_can_be_opened_on_a_full_disk_once_there_is_room(tiny_disk):
    fill_up(tiny_disk)
    with pytest.raises(UserError, match=r"disk is full|No space left"):
        Store.open(tiny_disk / "run", patience=0)
    (tiny_disk / "ballast").unlink()
    with Store.open(tiny_disk / "run", patience=0) as store:
        all_of(store, 0, 10)
    assert len(read_run(tiny_disk / "run").skips) == 10


class Faults:
    """Makes the n-th call of some functions of `os` fail, as often as wanted; a write may get half of its bytes out."""

    def __init__(self, monkeypatch, code, at, times):
        self.left, self.count, self.at = times, 0, at
        for name in ("pwrite", "fsync", "replace"):
            monkeypatch.setattr(os, name, self._faulty(name, getattr(os, name), code))

    def _faulty(self, name, call, code):
        def wrapped(*arguments, **names):
            self.count += 1
            if self.count >= self.at and self.left > 0:
                self.left -= 1
                if name == "pwrite":
                    call(arguments[0], arguments[1][: len(arguments[1]) // 2], arguments[2])
                raise OSError(code, os.strerror(code))
            return call(*arguments, **names)

        return wrapped


def work(store, make_row):
    for number in range(3, 8):
        store.append(f"k{number}", make_row(number))
    store.seal()
    store.write_card({"n": 8})


ALL = {f"k{number}" for number in range(8)}


@pytest.fixture
def begun(tmp_path, fill, monkeypatch):
    """Gives copies of a run with three rows in its journal; from here on every second row is acknowledged."""
    fill(tmp_path / "begun", range(3), seal=False)
    monkeypatch.setattr("verax.store.store.SYNC_ROWS", 2)
    return lambda number: Path(shutil.copytree(tmp_path / "begun", tmp_path / f"run{number}"))


def steps_of(run, make_row, monkeypatch):
    """How many writes, fsyncs and renames the work takes."""
    with monkeypatch.context() as patch, Store.open(run) as store:
        count = Faults(patch, errno.ENOSPC, at=1, times=0)
        work(store, make_row)
        return range(1, count.count + 1)


def test_no_room_at_any_step(begun, make_row, keys_on_disk, monkeypatch):
    """Fail at the first, second, ... write, fsync or rename, two times over: it always ends well."""
    monkeypatch.setattr(files, "_PAUSE", 0.0)
    for at in steps_of(begun(0), make_row, monkeypatch):
        run, said = begun(at), []
        with monkeypatch.context() as patch, Store.open(run, say=said.append) as store:
            Faults(patch, errno.EDQUOT if at % 3 == 0 else errno.ENOSPC, at, times=2)
            work(store, make_row)
        assert said[0].startswith("the disk is full")
        assert "can be written again" in said[-1]
        assert keys_on_disk(run) == dict.fromkeys(ALL, 1)
        assert read_run(run).card == {"n": 8}
        assert read_run(run).damaged == ()
    assert at > 20


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_giving_up_at_any_step_leaves_a_whole_run(begun, make_row, keys_on_disk, monkeypatch, code):
    """Fail for good at the first, second, ... step: one clear line, and what was acknowledged before is there."""
    for at in steps_of(begun(0), make_row, monkeypatch):
        run = begun(at)
        store = Store.open(run, patience=0)
        with monkeypatch.context() as patch:
            Faults(patch, code, at, times=10**9)
            with pytest.raises(UserError, match=r"the disk is full|cannot write"):
                work(store, make_row)
            kept = set(store.keys)
            acknowledged = kept - set(unsynced(store))
            with contextlib.suppress(UserError):
                store.close()
        with Store.open(run) as store:
            assert acknowledged <= store.keys <= kept
            assert store.repaired == ()
        assert keys_on_disk(run) == dict.fromkeys(store.keys, 1)
    assert kept == ALL


def unsynced(store):
    journal = store._journal
    return [unpack(payload)[1]["key"] for payload in journal.payloads[len(journal.payloads) - journal.unsynced :]]


def test_rows_that_a_failed_fsync_may_have_lost_are_written_again(tmp_path, make_row, monkeypatch):
    """After a failed fsync the system may drop what it held; the next one must not acknowledge it unwritten."""
    monkeypatch.setattr(files, "_PAUSE", 0.0)
    journal = tmp_path / "journal-000001.log"
    with Store.open(tmp_path, say=lambda _: None) as store:
        store.append("k0", make_row(0))
        store.flush()
        safe = journal.stat().st_size
        store.append("k1", make_row(1))
        fsync, calls = os.fsync, []

        def forgetful(descriptor):
            calls.append(journal.stat().st_size)
            if len(calls) == 1:
                os.ftruncate(descriptor, safe)
                raise OSError(errno.ENOSPC, "No space left on device")
            fsync(descriptor)

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", forgetful)
            store.flush()
        assert calls[0] == calls[1] > safe
        assert read_run(tmp_path).predictions == [make_row(1)]


def test_ctrl_c_while_waiting_stays_a_ctrl_c_and_ends_at_once(tmp_path, fill, make_row, monkeypatch):
    fill(tmp_path, range(5), seal=False)

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(time, "sleep", interrupted)
    said = []
    since = time.monotonic()

    def run_into_a_full_disk():
        store = Store.open(tmp_path, patience=600, say=said.append)
        with monkeypatch.context() as patch, store:
            Faults(patch, errno.ENOSPC, 1, times=10**9)
            store.append("k5", make_row(5))

    with pytest.raises(KeyboardInterrupt):
        run_into_a_full_disk()
    assert time.monotonic() - since < 5
    assert len(said) == 2
    assert "Ctrl-C stops safely" in said[0]
    assert "free some space and start the same command again" in said[1]
    with Store.open(tmp_path) as store:
        assert store.keys == {f"k{number}" for number in range(5)}


def test_another_trouble_is_one_clear_line(tmp_path, make_row, monkeypatch):
    store = Store.open(tmp_path)
    with monkeypatch.context() as patch:
        Faults(patch, errno.EIO, 1, times=1)
        with pytest.raises(UserError, match=r"cannot write .*journal-000001\.log: Input/output error"):
            store.append("k", make_row(0))
    assert store.keys == set()
    store.append("k", make_row(0))
    store.close()
    assert read_run(tmp_path).instances == [make_row(0)]
