import os
import signal
import time

import pytest

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
    (tmp_path / "manifest.json").write_bytes(sound.replace(b'"format": 1', b'"format": 7'))
    with pytest.raises(UserError, match="format 7"):
        Store.open(tmp_path)
    (tmp_path / "manifest.json").write_bytes(sound)
    Store.open(tmp_path).close()
