"""Verification and repair of whole folders, and the merging of many small shards."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.stored import forget_hashes, read_run
from verax.store.artifact import Artifact, write_json
from verax.store.files import replace_file
from verax.store.shards import read_index
from verax.store.store import MANY_SHARDS, Store
from verax.store.verify import verify_folder
from verax.types import UserError

GOLDEN = Path(__file__).parent.parent / "golden" / "earlier"
CallVerax = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path, make_row: Callable[[int], Any]) -> Path:
    folder = tmp_path / "run"
    with Store.open(folder, seal_every=10) as store:
        store.write_card({"command": "verax run"})
        store.write_plan([f"k{number}" for number in range(30)])
        for number in range(30):
            store.append(f"k{number}", make_row(number))
    return folder


def damaged(folder: Path) -> list[str]:
    return [file.name for file in verify_folder(folder) if file.problem is not None]


def test_every_file_of_a_run_is_verified(run: Path) -> None:
    files = verify_folder(run)
    assert all(file.problem is None and file.covered for file in files)
    written = {str(path.relative_to(run)) for path in run.rglob("*") if path.is_file()}
    assert {file.name for file in files} == written - {"lock"}
    for name in written - {"lock"}:
        whole = (run / name).read_bytes()
        (run / name).write_bytes(whole[:-3] + bytes([whole[-3] ^ 4]) + whole[-2:])
        assert damaged(run) == [name]
        (run / name).unlink()
        assert name in damaged(run)
        (run / name).write_bytes(whole)
    assert damaged(run) == []


def test_files_that_do_not_belong_to_the_run_are_named(run: Path) -> None:
    (run / "shards" / "scores-000077.parquet").write_bytes(b"x")
    (run / "notes").symlink_to(run)
    (run / "notes.txt").write_text("mine")
    assert set(damaged(run)) == {"shards/scores-000077.parquet", "notes"}


def test_a_run_of_an_earlier_version_is_readable_and_its_card_is_said_to_have_no_hash(
    verax: CallVerax, tmp_path: Path
) -> None:
    shutil.copytree(GOLDEN / "demo", tmp_path / "demo")
    forget_hashes(tmp_path / "demo")
    before = read_run(tmp_path / "demo")
    assert before.damaged == ()
    said = verax("verify", "demo")
    assert said.code == 0
    for name in ("run.json", "plan.txt"):
        assert f"{name}: an earlier version of verax wrote no hash of it" in said.out
    assert verax("show", "demo").code == 0
    assert verax("repair", "demo").code == 0
    assert read_run(tmp_path / "demo") == before


def test_the_command_says_what_is_damaged(verax: CallVerax, run: Path) -> None:
    said = verax("verify", run)
    assert (said.code, said.err) == (0, "")
    assert "files are intact" in said.out
    shard = next((run / "shards").glob("scores-*"))
    shard.write_bytes(shard.read_bytes()[:-1])
    (run / "run.json").unlink()
    said = verax("verify", run)
    assert said.code == 1
    assert f"shards/{shard.name} is damaged" in said.err
    assert "run.json is missing" in said.err
    assert "2 damaged" in said.out
    said = verax("repair", run)
    assert said.code == 0
    assert "it was rebuilt from its copy" in said.out
    assert verax("verify", run).code == 0
    assert verax("verify", run.parent).code == 2
    assert verax("repair", run.parent / "nothing").code == 2
    assert not (run.parent / "nothing").exists()


def test_a_run_is_rebuilt_from_its_shards_alone(
    verax: CallVerax, run: Path, keys_on_disk: Callable[[Path], Any], make_row: Callable[[int], Any]
) -> None:
    for path in [*run.glob("journal-*"), run / "manifest.json", run / "lock", run / "run.json", run / "plan.txt"]:
        path.unlink()
    with pytest.raises(UserError, match=r"has shards of a run and no manifest\.json; verax repair .* rebuilds it"):
        Store.open(run)
    said = verax("repair", run)
    assert said.code == 0, said.err
    assert "30 rows are intact" in said.out
    assert keys_on_disk(run) == {f"k{number}": 1 for number in range(30)}
    with Store.open(run) as store:
        assert {key: repr(row) for key, row in store.rows()} == {f"k{n}": repr(make_row(n)) for n in range(30)}


def test_rows_of_a_journal_without_its_first_record_survive_a_lost_manifest(
    verax: CallVerax, run: Path, make_row: Callable[[int], Any], keys_on_disk: Callable[[Path], Any]
) -> None:
    store = Store.open(run)
    store.append("new", make_row(3))
    store.flush()
    (journal,) = run.glob("journal-*")
    data = journal.read_bytes()
    (run / "lock").unlink()
    with pytest.raises(UserError, match="removed"):
        store.close()
    journal.write_bytes(b"\xff" + data[1:])
    (run / "manifest.json").unlink()
    assert verax("repair", run).code == 0
    assert keys_on_disk(run) == {f"k{number}": 1 for number in range(30)} | {"new": 1}


def test_a_run_of_an_earlier_version_is_rebuilt_from_its_shards_alone(verax: CallVerax, tmp_path: Path) -> None:
    folder = tmp_path / "demo"
    shutil.copytree(GOLDEN / "demo", folder)
    forget_hashes(folder)
    before = read_run(folder)
    for path in [*folder.glob("journal-*"), folder / "manifest.json"]:
        path.unlink()
    assert verax("repair", folder).code == 0
    assert read_run(folder) == before


def test_damaged_answers_of_agents_are_set_aside(run: Path) -> None:
    (run / "agents").mkdir()
    write_json(run / "agents" / "good.json", {"named": [0, 1]})
    write_json(run / "agents" / "bad.json", {"named": [0, 1]})
    (run / "agents" / "bad.json").write_text((run / "agents" / "bad.json").read_text().replace("0", "1", 1))
    assert [file.name for file in verify_folder(run) if file.problem] == ["agents/bad.json"]
    with Store.open(run) as store:
        assert store.repaired == (
            "agents/bad.json is damaged; its agent is trained again when needed; the file is kept in quarantine/",
        )
    assert not any(file.problem for file in verify_folder(run))
    assert (run / "agents" / "good.json").exists()
    assert (run / "quarantine" / "bad.json").exists()


def test_an_artifact_is_verified(tmp_path: Path, verax: CallVerax) -> None:
    artifact = Artifact(tmp_path / "model", "checkpoint", "key", {})
    with artifact.claim():
        replace_file(artifact.folder / "weights", b"w" * 2_000_000)
        artifact.finish("weights")
    assert verax("verify", artifact.folder).code == 0
    (artifact.folder / "weights").write_bytes(b"w" * 1_999_999 + b"v")
    said = verax("verify", artifact.folder)
    assert said.code == 1
    assert "weights is damaged: its SHA-256 differs" in said.err


def test_many_small_shards_are_merged_and_no_row_changes(
    tmp_path: Path, make_row: Callable[[int], Any], keys_on_disk: Callable[[Path], Any]
) -> None:
    """A run that was continued a hundred times."""
    folder = tmp_path / "run"
    most = 0
    for number in range(100):
        with Store.open(folder) as store:
            store.append(f"k{number}", make_row(number))
        most = max(most, len(read_index(folder).shards))
    assert most <= MANY_SHARDS + 1
    assert len(list((folder / "shards").iterdir())) == len(read_index(folder).shards)
    assert not (folder / "quarantine").exists()
    assert keys_on_disk(folder) == {f"k{number}": 1 for number in range(100)}
    assert damaged(folder) == []
    with Store.open(folder) as store:
        assert {key: repr(row) for key, row in store.rows()} == {f"k{n}": repr(make_row(n)) for n in range(100)}
    assert [score.instance_id for score in read_run(folder).scores] == [f"x{n}" for n in range(4, 100, 5)]


def test_large_shards_are_left_as_they_are(tmp_path: Path, make_row: Callable[[int], Any]) -> None:
    folder = tmp_path / "run"
    with Store.open(folder, seal_every=5) as store:
        for number in range(400):
            store.append(f"k{number}", make_row(number))
    shards = read_index(folder).shards
    assert len(shards) > MANY_SHARDS
    Store.open(folder, seal_every=2).close()
    assert read_index(folder).shards == shards
