import json
import os
import signal
import time

import pytest

from verax.store.keys import canonical_json, hash_bytes
from verax.store.lock import check_locks
from verax.store.store import Store
from verax.types import UserError


def wait_for(path):
    until = time.monotonic() + 30
    while not (path.exists() and path.read_text()):
        assert time.monotonic() < until
        time.sleep(0.005)
    return path.read_text()


def test_a_second_process_is_refused_within_a_second_and_told_by_whom(tmp_path, nursery, monkeypatch):
    pid = nursery.start("hold", folder=tmp_path / "run", ready=tmp_path / "ready", worker=False)
    wait_for(tmp_path / "ready")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    waits = []
    with monkeypatch.context() as patch:
        patch.setattr(time, "sleep", waits.append)
        with pytest.raises(UserError, match=f"process {pid} is writing to {tmp_path / 'run'};"):
            Store.open(tmp_path / "run")
    assert 0 < sum(waits) < 1
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before
    os.kill(pid, signal.SIGKILL)
    nursery.wait()
    assert (tmp_path / "run" / "lock").read_text() == f"{pid}\n", "left by the killed"
    with Store.open(tmp_path / "run") as store:
        assert store.keys == {"held"}
        assert (tmp_path / "run" / "lock").read_text() == f"{os.getpid()}\n"


def test_a_worker_that_outlives_a_killed_owner_does_not_block(tmp_path, nursery):
    pid = nursery.start("hold", folder=tmp_path / "run", ready=tmp_path / "ready", worker=True)
    worker = int(wait_for(tmp_path / "ready"))
    os.kill(pid, signal.SIGKILL)
    nursery.wait()
    try:
        os.kill(worker, 0)
        with Store.open(tmp_path / "run") as store:
            assert store.keys == {"held"}
    finally:
        os.kill(worker, signal.SIGKILL)


def test_the_same_process_is_refused_too_and_a_failed_opening_leaves_no_lock(tmp_path):
    with Store.open(tmp_path), pytest.raises(UserError, match=f"process {os.getpid()} is writing"):
        Store.open(tmp_path)
    sound = (tmp_path / "manifest.json").read_bytes()
    body = json.loads(sound) | {"format": 7}
    body["checksum"] = hash_bytes(canonical_json({name: value for name, value in body.items() if name != "checksum"}))
    (tmp_path / "manifest.json").write_text(json.dumps(body))
    with pytest.raises(UserError, match="format 7"):
        Store.open(tmp_path)
    (tmp_path / "manifest.json").write_bytes(sound)
    Store.open(tmp_path).close()


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_writer_whose_lock_was_taken_away_stops_and_no_row_is_lost(tmp_path, nursery, keys_on_disk, make_row, how):
    """A second process takes over after the lock file is gone: the first writes nothing more."""
    folder, lock = tmp_path / "run", tmp_path / "run" / "lock"
    first = Store.open(folder)
    for number in range(40):
        first.append(f"k{number}", make_row(number))
    first.flush()
    lock.unlink()
    if how == "replaced":
        lock.write_text("1\n")
    order = {"folder": folder, "rows": 600, "seal_every": 50, "flush_every": 7, "acknowledged": tmp_path / "told"}
    nursery.start("write", **order)
    wait_for(tmp_path / "told")
    for act in (lambda: first.append("k1000", make_row(0)), first.close):
        with pytest.raises(UserError, match=r"lock was removed or replaced .* this one stops"):
            act()
    assert nursery.wait() == 0
    assert keys_on_disk(folder) == {f"k{number}": 1 for number in range(600)}
    with Store.open(folder) as store:
        assert store.keys == {f"k{number}" for number in range(600)}


def test_nothing_is_written_after_the_lock_was_removed(tmp_path, make_row):
    store = Store.open(tmp_path / "run")
    store.append("k", make_row(0))
    store.flush()
    (tmp_path / "run" / "lock").unlink()
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    acts = (lambda: store.append("x", make_row(1)), store.seal, lambda: store.write_card({}), store.close)
    for act in acts:
        with pytest.raises(UserError, match="was removed or replaced"):
            act()
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("change", ["folder moved", "lock is a link", "another file", "folder replaced"])
def test_every_way_to_take_the_lock_away_is_noticed(tmp_path, make_row, change):
    folder, lock = tmp_path / "run", tmp_path / "run" / "lock"
    store = Store.open(folder)
    store.append("k", make_row(0))
    store.flush()
    if change == "lock is a link":  # even if it leads to the file that is locked
        lock.rename(tmp_path / "kept")
        lock.symlink_to(tmp_path / "kept")
    elif change == "another file":
        (tmp_path / "new").write_text("1\n")
        (tmp_path / "new").rename(lock)
    else:
        folder.rename(tmp_path / "moved")
        if change == "folder replaced":
            folder.mkdir()
            lock.write_text("1\n")
    for act in (lambda: store.append("x", make_row(1)), lambda: store.write_card({}), store.close):
        with pytest.raises(UserError, match="was removed or replaced"):
            act()
    if change == "lock is a link":
        lock.unlink()
    with Store.open(tmp_path / "moved" if change.startswith("folder") else folder) as again:
        assert set(again.keys) == {"k"}


def test_the_check_ends_for_every_path(tmp_path):
    """The folder itself, files and folders in it, those above it, and those elsewhere."""
    with Store.open(tmp_path / "run"):
        for path in (".", "x", "shards/x", "a/b/c", "..", "../x", "../../x", "/x", "/"):
            check_locks(tmp_path / "run" / path)
