import errno
import os
import subprocess

import pytest

from support.stored import read_run
from verax.store.store import Store
from verax.types import UserError


def test_a_new_run_in_new_folders(tmp_path, make_row):
    folder = tmp_path / "a" / "b" / "run"
    with Store.open(folder) as store:
        assert store.keys == set()
        assert store.repaired == ()
        store.append("k", make_row(0))
    assert read_run(folder).instances == [make_row(0)]
    assert sorted(path.name for path in folder.iterdir()) == ["journal-000002.log", "lock", "manifest.json", "shards"]


def test_an_empty_folder_becomes_a_run(tmp_path):
    Store.open(tmp_path).close()
    assert read_run(tmp_path).instances == []


def test_a_file_is_no_run(tmp_path):
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UserError, match="it is a file, or below a file"):
            Store.open(path)
    with pytest.raises(UserError, match=r"file is not a run"):
        read_run(tmp_path / "file")


def test_a_folder_of_other_things_is_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(
        UserError, match=r"is not a run and contains other files \('thesis\.tex'\); name a new or empty"
    ):
        Store.open(tmp_path)
    with pytest.raises(UserError, match=r"is not a run: it has no manifest\.json"):
        read_run(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_manifest_of_another_program_is_left_alone(tmp_path):
    (tmp_path / "manifest.json").write_text('{"name": "my web app"}')
    with pytest.raises(UserError, match=r"cannot be opened: manifest\.json is damaged"):
        Store.open(tmp_path)
    assert (tmp_path / "manifest.json").read_text() == '{"name": "my web app"}'


def test_no_folder_at_all(tmp_path):
    with pytest.raises(UserError, match=r"nowhere is not a run"):
        read_run(tmp_path / "nowhere")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to a folder of any mode")
def test_a_folder_that_may_not_be_written(tmp_path):
    Store.open(tmp_path / "run").close()
    (tmp_path / "run" / "lock").unlink()
    (tmp_path / "run").chmod(0o500)
    with pytest.raises(UserError, match=r"cannot write .*lock: Permission denied"):
        Store.open(tmp_path / "run")
    assert read_run(tmp_path / "run").damaged == ()


def test_a_disk_that_is_read_only(tmp_path, fill):
    fill(tmp_path / "run", range(5), seal=True)
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    done = subprocess.run(["mount", "--bind", str(tmp_path), str(tmp_path)], check=False, capture_output=True)
    if done.returncode != 0:
        pytest.skip(f"cannot mount here: {done.stderr.decode().strip()}")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(tmp_path)], check=True)
        with pytest.raises(UserError, match=r"cannot write .*lock: Read-only file system"):
            Store.open(tmp_path / "run")
        with pytest.raises(UserError, match=r"cannot use .*new for a run: Read-only file system"):
            Store.open(tmp_path / "new")
        assert len(read_run(tmp_path / "run").scores) == 1
    finally:
        subprocess.run(["umount", str(tmp_path)], check=True)


def test_a_key_can_be_there_only_once(tmp_path, make_row):
    folder = tmp_path / "run"
    with Store.open(folder) as store:
        store.append("k", make_row(4))
        with pytest.raises(ValueError, match="already has a row with the key 'k'"):
            store.append("k", make_row(4))
        store.seal()
        with pytest.raises(ValueError, match="already"):
            store.append("k", make_row(9))
    with Store.open(folder) as store, pytest.raises(ValueError, match="already"):
        store.append("k", make_row(4))
    assert read_run(folder).scores == [make_row(4)]


def test_a_closed_store_says_so(tmp_path, make_row):
    store = Store.open(tmp_path / "run")
    store.close()
    store.close()
    for act in (lambda: store.append("k", make_row(0)), store.flush, store.seal, lambda: store.write_card({})):
        with pytest.raises(ValueError, match="is closed"):
            act()


def test_the_card_comes_back_and_can_be_written_again(tmp_path):
    folder = tmp_path / "run"
    card = {"spec": {"steps": 100, "x": 0.1}, "text": "א\0\ud800😀", "none": None, "list": [1, 2.0, True]}
    with Store.open(folder) as store:
        assert read_run(folder).card == {}
        store.write_card({"old": 1})
        store.write_card(card)
        assert read_run(folder).card == card
        assert repr(list(read_run(folder).card)) == repr(list(card)), "in the order given"
        for bad in ({"x": float("nan")}, {"x": object()}):
            with pytest.raises((ValueError, TypeError)):
                store.write_card(bad)
        assert read_run(folder).card == card


@pytest.mark.parametrize("text", ["{", "[1]", ""])
def test_a_damaged_card_is_told(tmp_path, text):
    Store.open(tmp_path).close()
    (tmp_path / "run.json").write_text(text)
    assert read_run(tmp_path).card == {}
    assert read_run(tmp_path).damaged == ("run.json is damaged",)


def test_the_plan_is_written_as_its_keys_come(tmp_path, monkeypatch):
    """A collection is iterated again when the disk was full; an iterator cannot be, and is not lost either."""
    monkeypatch.setattr("verax.store.files._PAUSE", 0.0)
    keys = [f"key-{number}" for number in range(1000)]
    replace = os.replace
    for number, plan in enumerate([keys, iter(keys), (key for key in keys)]):
        failures = [OSError(errno.ENOSPC, "No space left on device")] * 2

        def full(*arguments, failures=failures):
            if failures:
                raise failures.pop()
            replace(*arguments)

        said = []
        with Store.open(tmp_path / str(number), say=said.append) as store, monkeypatch.context() as patch:
            patch.setattr(os, "replace", full)
            store.write_plan(plan)
        assert (tmp_path / str(number) / "plan.txt").read_text() == "".join(f"{key}\n" for key in keys)
        assert len(said) == 2
