import os
import signal
import subprocess
import sys
import time

from support.stored import read_run
from verax.store.folder import find_index
from verax.store.store import Store


def test_reading_while_another_process_writes(tmp_path, nursery):
    """Each look sees whole rows alone, in order, and never fewer than the look before."""
    run = tmp_path / "run"
    Store.open(run).close()
    pid = nursery.start("write", folder=run, acknowledged=tmp_path / "told", rows=10**6, seal_every=10, flush_every=4)
    looks, seen, until = 0, 0, time.monotonic() + 2
    while time.monotonic() < until or (seen < 50 and time.monotonic() < until + 30):
        acknowledged = (tmp_path / "told").read_text().split() if (tmp_path / "told").exists() else []
        stored = read_run(run)
        assert stored.damaged == ()
        rows = [*stored.instances, *stored.predictions, *stored.highlights, *stored.skips, *stored.scores]
        numbers = sorted(number_of(value) for value in rows)
        assert numbers == list(range(len(rows)))
        assert len(rows) >= max(seen, len(acknowledged))
        seen, looks = len(rows), looks + 1
    os.kill(pid, signal.SIGKILL)
    nursery.wait()
    assert seen >= 50
    assert looks > 5


def number_of(value):
    return int((value.id if hasattr(value, "id") else value.instance_id).removeprefix("x"))


def test_reading_changes_nothing_in_the_folder(tmp_path, fill):
    fill(tmp_path / "run", range(10), seal=False)
    with (tmp_path / "run" / "journal-000001.log").open("ab") as journal:
        journal.write(b"torn")
    before = look_at(tmp_path / "run")
    assert read_run(tmp_path / "run").damaged == ()
    assert look_at(tmp_path / "run") == before


def look_at(folder):
    return {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.rglob("*") if path.is_file()}


def test_rows_come_back_equal_and_in_order(tmp_path, fill, make_row):
    fill(tmp_path / "run", range(20), seal=True)
    fill(tmp_path / "run", range(20, 33), seal=False)
    stored = read_run(tmp_path / "run")
    lists = [stored.instances, stored.predictions, stored.highlights, stored.skips, stored.scores]
    for rest, values in enumerate(lists):
        assert values == [make_row(number) for number in range(33) if number % 5 == rest]


def test_reading_needs_no_torch_and_starts_no_thread(tmp_path, fill):
    """A thread of pyarrow's that lives when the process ends may abort it."""
    fill(tmp_path / "run", range(5), seal=True)
    code = (
        "import os, sys; from pathlib import Path; from verax.store.read import RunTables; "
        "threads = len(os.listdir('/proc/self/task')); "
        f"assert len(RunTables.open(Path({str(tmp_path / 'run')!r})).rows('scores')) == 1; "
        "assert len(os.listdir('/proc/self/task')) == threads, 'threads'; "
        "assert not {'torch', 'transformers'} & set(sys.modules), 'heavy'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_seal_between_two_steps_of_reading_is_no_damage(tmp_path, make_row, monkeypatch):
    """The index is read, then its journal is sealed and deleted: reading begins again with the new index."""
    with Store.open(tmp_path) as store:
        store.append("k", make_row(0))
        looks = []

        def find_then_seal(folder):
            found = find_index(folder)
            looks.append(found)
            if len(looks) == 1:
                store.seal()
            return found

        monkeypatch.setattr("verax.store.read.find_index", find_then_seal)
        stored = read_run(tmp_path)
    assert len(looks) == 2
    assert stored.instances == [make_row(0)]
    assert stored.damaged == ()
