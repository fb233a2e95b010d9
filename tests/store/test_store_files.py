"""The run card and the plan are covered by hashes: damage is named, set aside and repaired, whatever kind it is."""

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.stored import forget_hashes, read_run
from verax.store.files import read_regular, replace_file
from verax.store.read import RunTables
from verax.store.shards import read_index
from verax.store.store import Store
from verax.types import UserError

CARD = {"metrics": [{"label": "sufficiency", "higher_is_better": False}]}


@pytest.fixture
def run(tmp_path, make_row):
    folder = tmp_path / "run"
    with Store.open(folder) as store:
        store.write_card({"old": True})
        store.write_plan([f"k{number}" for number in range(6)])
        for number in range(6):
            store.append(f"k{number}", make_row(number))
        store.seal()
        store.write_card(CARD)
    return folder


def damage(path, kind):
    data = path.read_bytes()
    match kind:
        case "deleted":
            path.unlink()
        case "truncated":
            path.write_bytes(data[: len(data) // 2])
        case "empty":
            path.write_bytes(b"")
        case "flipped":
            at = random.Random(3).randrange(len(data))
            path.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        case "meaning":
            path.write_bytes(data.replace(b"false", b"true") if path.name == "run.json" else data.replace(b"k5", b"k4"))
        case "folder":
            path.unlink()
            path.mkdir()
        case "pipe":
            path.unlink()
            os.mkfifo(path)


KINDS = ["deleted", "truncated", "empty", "flipped", "meaning", "folder", "pipe"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_card_is_named_read_from_its_copy_and_rebuilt(run, kind):
    whole = (run / "run.json").read_bytes()
    damage(run / "run.json", kind)
    read = read_run(run)
    assert read.card == CARD
    (problem,) = read.damaged
    assert problem.startswith("run.json is ")
    assert problem.endswith("its copy in manifest.json is used")
    with Store.open(run) as store:
        assert store.card == CARD
        (line,) = store.repaired
        assert "it was rebuilt from its copy" in line
    assert (run / "run.json").read_bytes() == whole
    assert (run / "quarantine" / "run.json").exists() == (kind != "deleted")
    assert read_run(run).damaged == ()


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_plan_is_named_and_written_again(run, kind):
    whole = (run / "plan.txt").read_bytes()
    damage(run / "plan.txt", kind)
    problems = RunTables.open(run).problems
    assert [line for line in problems if line.startswith("plan.txt is ")], problems
    with Store.open(run) as store:
        assert "the same command writes it again" in store.repaired[0]
        assert len(store.keys) == 6
        store.write_plan([f"k{number}" for number in range(6)])
    assert (run / "plan.txt").read_bytes() == whole
    assert RunTables.open(run).problems == ()


def test_files_that_changed_places_or_came_from_another_run_are_named(run, tmp_path):
    with Store.open(tmp_path / "other") as store:
        store.write_card({"metrics": []})
        store.write_plan(["k1"])
    for name in ("run.json", "plan.txt"):
        whole = (run / name).read_bytes()
        (run / name).write_bytes((tmp_path / "other" / name).read_bytes())
        assert any(line.startswith(f"{name} is damaged") for line in read_run(run).damaged)
        (run / name).write_bytes(whole)
    (run / "run.json").rename(run / "x")
    (run / "plan.txt").rename(run / "run.json")
    (run / "x").rename(run / "plan.txt")
    damaged = read_run(run).damaged
    assert [sum(line.startswith(f"{name} is damaged") for line in damaged) for name in ("run.json", "plan.txt")] == [
        1,
        1,
    ]


def test_a_run_of_an_earlier_version_has_no_hashes_and_gets_them(run, make_row):
    manifest = json.loads((run / "manifest.json").read_text())
    assert set(read_index(run).files) == {"run.json", "plan.txt"} == set(manifest["files"])
    forget_hashes(run)
    assert read_run(run).damaged == ()
    assert read_run(run).card == CARD
    with Store.open(run) as store:
        assert store.repaired == ()
        store.write_card(store.card)
    assert set(read_index(run).files) == {"run.json"}


def test_a_kill_at_any_step_of_writing_the_card_is_no_damage(run, tmp_path, nursery):
    """The reader and the next writer see the card before or the card after, and nothing to complain about."""
    status, call, seen = 9 << 8, 0, set()
    while status:
        call += 1
        folder = tmp_path / str(call)
        shutil.copytree(run, folder)
        nursery.start("card_at", folder=folder, call=call, before=call % 2 == 0, card={"new": True}, plan=["k1"])
        status = nursery.wait()
        assert status in {0, 9 << 8}
        read = read_run(folder)
        assert [line for line in read.damaged if "not finished" not in line] == [], call
        assert read.card in (CARD, {"new": True})
        seen.add("new" in read.card)
        with Store.open(folder) as store:
            assert store.repaired == ()
            assert store.card in (CARD, {"new": True})
    assert seen == {False, True}
    assert call > 20


@pytest.mark.parametrize("name", ["run.json", "plan.txt", "manifest.json", "journal", "lock", "shards", "quarantine"])
def test_nothing_outside_the_folder_is_written_through_a_link(run, tmp_path, make_row, name):
    """A folder from someone else, in which one name is a link to a file or a folder of the reader's."""
    outside = tmp_path / "outside"
    inside = next(run.glob("journal-*")) if name == "journal" else run / name
    if name in {"shards", "quarantine"}:
        if inside.exists():
            inside.rename(outside)
        else:
            outside.mkdir()
            next((run / "shards").glob("scores-*")).write_bytes(b"rotten")
    else:
        outside.write_bytes(inside.read_bytes() or b"precious")
        inside.unlink()
    inside.symlink_to(outside)
    before = {path: path.read_bytes() for path in [outside, *outside.rglob("*")] if path.is_file()}

    def write():
        with Store.open(run) as store:
            store.append("new", make_row(1))
            store.write_plan(["new"])
            store.write_card({"new": 1})

    with pytest.raises(UserError, match=r"^[^\n]+$"):
        write()
    assert {path: path.read_bytes() for path in [outside, *outside.rglob("*")] if path.is_file()} == before


def test_nothing_outside_the_folder_is_removed_or_moved_through_a_link(run, tmp_path, make_row):
    """`shards` leads to another run of the reader's, where a process that is still writing has a temporary file."""
    other = tmp_path / "other"
    with Store.open(other) as store:
        store.append("mine", make_row(1))
    (other / "shards" / "scores-000001.parquet.0123456789abcdef.tmp").write_text("being written")
    shutil.rmtree(run / "shards")
    (run / "shards").symlink_to(other / "shards")
    before = {path: path.read_bytes() for path in other.rglob("*") if path.is_file()}
    for _ in range(2):
        with pytest.raises(UserError, match="shards is a symbolic link"):
            Store.open(run, rebuild=True)
    assert {path: path.read_bytes() for path in other.rglob("*") if path.is_file()} == before


def test_a_hard_link_to_another_file_is_not_written_to(run, tmp_path, make_row):
    (journal,) = run.glob("journal-*")
    os.link(journal, tmp_path / "mine")
    before = (tmp_path / "mine").read_bytes()
    with Store.open(run) as store:
        store.append("new", make_row(1))
    assert (tmp_path / "mine").read_bytes() == before
    (tmp_path / "notes").write_text("precious")
    (run / "lock").unlink()
    os.link(tmp_path / "notes", run / "lock")
    with pytest.raises(UserError, match=r"lock is not a regular file of its own; remove it"):
        Store.open(run)
    assert (tmp_path / "notes").read_text() == "precious"


def test_only_a_regular_file_is_replaced(tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name, kind in (("link", "a symbolic link"), ("pipe", "not a regular file"), ("folder", "not a regular file")):
        with pytest.raises(UserError, match=f"{name} is {kind}, and is not replaced"):
            replace_file(tmp_path / name, b"x")
    with pytest.raises(OSError, match="not a regular file"):
        read_regular(tmp_path / "pipe")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "link", "mine", "pipe"]
    assert (tmp_path / "mine").read_text() == "precious"


def test_temporary_files_are_new_and_have_random_names(tmp_path, monkeypatch):
    opened = []
    call = os.open
    monkeypatch.setattr(
        os, "open", lambda path, flags, *a, **k: (opened.append((path, flags)), call(path, flags, *a, **k))[1]
    )
    for _ in range(2):
        replace_file(tmp_path / "file", b"x")
    temporary = [(path, flags) for path, flags in opened if str(path).endswith(".tmp")]
    assert len({path for path, _ in temporary}) == 2
    assert all(flags & os.O_EXCL and flags & os.O_NOFOLLOW for _, flags in temporary)


def test_200_flipped_bits_and_every_other_fault_are_never_silent_and_never_a_crash():
    """`python -m bench.flips --times N` is the campaign."""
    command = [sys.executable, "-m", "bench.flips", "--times", "200", "--two-runs", "--json"]
    done = subprocess.run(command, check=False, capture_output=True, text=True, cwd=Path(__file__).parents[2])
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["faults"] == 200 + counts["other_faults"]
    assert counts["other_faults"] > 100
    assert counts["named"] > 200
    assert [counts[name] for name in ("silent", "crashes", "lost", "changed", "unrepaired")] == [0] * 5
