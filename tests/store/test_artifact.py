"""Artifacts: one recipe for a folder, one process at a time, and a kill -9 at any point costs nothing."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verax.models.load import load_model
from verax.store.artifact import Artifact, ArtifactRecord, differences, read_json, read_record
from verax.store.files import replace_file
from verax.store.keys import key_of
from verax.store.lock import Lock
from verax.types import UserError

RECIPE: dict[str, Any] = {"base": "0" * 64, "optimiser": {"learning_rate": 2e-5, "epochs": 3}, "seeds": (0, 1)}
PIECES = ("one", "two", "three")


def artifact(folder: Path, *, kind: str = "checkpoint", recipe: dict[str, Any] = RECIPE, **more: Any) -> Artifact:
    return Artifact(folder, kind, key_of(**recipe), recipe, **more)


def work(one: Artifact, done: Callable[[str], None] = lambda _: None) -> None:
    """A job in three pieces, each kept once it is made."""
    if one.is_finished():
        return
    with one.claim():
        for piece in PIECES:
            if not (one.folder / piece).exists():
                done(piece)
                replace_file(one.folder / piece, piece.encode())
        replace_file(one.folder / "result.json", b"[1, 2, 3]")
        one.finish("result.json", "three")


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_finished_artifact_is_recognised_and_left_alone(tmp_path: Path) -> None:
    one = artifact(tmp_path / "made")
    assert not one.is_finished()
    assert not one.folder.exists(), "to ask writes nothing"
    work(one)
    assert one.is_finished()
    before = files(one.folder)
    assert before.keys() == {"artifact.json", "result.json", *PIECES}, "no lock is left"
    record = read_record(one.folder)
    assert record is not None
    assert (record.kind, record.key, record.finished) == ("checkpoint", one.key, True)
    assert record.recipe["optimiser"] == {"learning_rate": 2e-5, "epochs": 3}
    made: list[str] = []
    work(artifact(one.folder), made.append)
    assert (made, files(one.folder)) == ([], before)
    with artifact(one.folder).claim():  # a finished one may be claimed again, to add to it
        assert one.is_finished()
    assert files(one.folder) == before


def test_what_was_interrupted_is_continued(tmp_path: Path) -> None:
    made: list[str] = []

    def stopped(piece: str) -> None:
        made.append(piece)
        if piece == "two":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work(artifact(tmp_path / "made"), stopped)
    assert not artifact(tmp_path / "made").is_finished()
    work(artifact(tmp_path / "made"), made.append)
    assert made == ["one", "two", "two", "three"]


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"optimiser": {"learning_rate": 1e-3, "epochs": 3}}, "optimiser.learning_rate was 2e-05 and is now 0.001;"),
        ({"seeds": (0,)}, r"seeds was \[0, 1\] and is now \[0\];"),
        ({"base": "1" * 64}, "base is not the same;"),
        ({"base": "1" * 64, "seeds": (2,)}, r"base is not the same, seeds was \[0, 1\] and is now \[2\];"),
        ({"more": 1}, "the base, the data or the version of verax is not the same;"),
    ],
)
@pytest.mark.parametrize("finished", [True, False])
def test_another_recipe_is_rejected_and_the_fields_are_named(
    tmp_path: Path, change: dict[str, Any], named: str, finished: bool
) -> None:
    folder = tmp_path / "made"
    if finished:
        work(artifact(folder))
    else:
        with artifact(folder).claim():
            (folder / "one").write_text("one")
    before = files(folder)
    other = artifact(folder, recipe={**RECIPE, **change})
    held = "another" if finished else "the beginning of another"
    with pytest.raises(UserError, match=f"made holds {held} checkpoint: {named} choose another folder, or remove"):
        other.is_finished()
    with pytest.raises(UserError, match=named), other.claim():
        raise AssertionError("it must not be claimed")
    assert files(folder) == before


def test_many_differences_are_counted() -> None:
    kept, wanted = (dict.fromkeys("abcde", number) for number in (0, 1))
    assert len(differences(kept, wanted)) == 5
    assert differences(kept, {**kept, "new": 3}) == [], "what only one of them knows is not compared"


def test_a_claim_without_work_binds_nothing(tmp_path: Path) -> None:
    """A mistake that shows after the claim does not block the folder for the corrected recipe."""
    folder = tmp_path / "made"
    with artifact(folder).claim():
        (folder / "resume").mkdir()
    other = artifact(folder, recipe={**RECIPE, "seeds": (9,)})
    work(other)
    assert other.is_finished()


def test_files_that_bind_can_be_named(tmp_path: Path) -> None:
    folder, given = tmp_path / "made", {"bound_by": ("rows", "annotations")}
    with artifact(folder, **given).claim():
        (folder / "cache").write_text("of use for any recipe")
    with artifact(folder, recipe={"seeds": 9}, **given).claim():
        (folder / "rows").write_text("of this recipe")
    with pytest.raises(UserError, match="another checkpoint: seeds was 9"):
        artifact(folder, recipe={"seeds": 8}, **given).is_finished()


def test_something_else_in_the_folder_is_rejected(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*")
    assert not artifact(tmp_path).is_finished(), "hidden files are nobody's work"
    (tmp_path / "thesis.txt").write_text("mine")
    for attempt in (artifact(tmp_path).is_finished, lambda: artifact(tmp_path).claim().__enter__()):
        with pytest.raises(UserError, match=r"contains other files \('thesis.txt'\) and no checkpoint; choose a new"):
            attempt()
    with pytest.raises(UserError, match=r"thesis.txt is a file; name a folder"):
        artifact(tmp_path / "thesis.txt").is_finished()
    for place in ("thesis.txt/below", "/proc/verax"):
        with (
            pytest.raises(UserError, match=r"cannot be written to: .*; choose another"),
            artifact(tmp_path / place).claim(),
        ):
            raise AssertionError("it must not be claimed")
    assert files(tmp_path).keys() == {".gitignore", "thesis.txt"}
    work(artifact(tmp_path / "made"))
    with pytest.raises(UserError, match=r"something else \(checkpoint, not editor\)"):
        artifact(tmp_path / "made", kind="editor").is_finished()


def test_a_damaged_file_is_reported_and_a_missing_one_made_again(tmp_path: Path) -> None:
    one = artifact(tmp_path / "made")
    work(one)
    (one.folder / "result.json").write_text("[1, 2, 4]")
    with pytest.raises(UserError, match=r"result.json is damaged: .*; remove it to make it again"):
        one.is_finished()
    (one.folder / "result.json").unlink()
    assert not one.is_finished()
    made: list[str] = []
    work(one, made.append)
    assert one.is_finished()
    assert made == [], "the pieces were still there"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "artifact.json is damaged: "),
        ("[]", "artifact.json is damaged: expected an object"),
        ('{"format": 1}', "artifact.json is damaged: 'files'"),
        ('{"format": 1, "files": {}, "kind": "checkpoint"}', "artifact.json is damaged: "),
        ('{"format": 7}', "has format 7, and this version of verax reads formats up to 1: upgrade"),
    ],
)
def test_a_record_that_cannot_be_read(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "artifact.json").write_text(content)
    with pytest.raises(UserError, match=message) as error:
        artifact(tmp_path).is_finished()
    assert "\n" not in str(error.value)


def test_folders_of_before_there_were_records_are_recognised(tmp_path: Path) -> None:
    def read_older(folder: Path) -> ArtifactRecord | None:
        facts = read_json(folder / "facts.json")
        return None if facts is None else ArtifactRecord("checkpoint", facts["key"], {"seeds": facts["seeds"]}, True)

    (tmp_path / "facts.json").write_text(json.dumps({"key": key_of(**RECIPE), "seeds": [0, 1]}))
    one = artifact(tmp_path, read_older=read_older)
    assert one.is_finished()
    with pytest.raises(UserError, match=r"seeds was \[0, 1\] and is now \[5\]"):
        artifact(tmp_path, recipe={**RECIPE, "seeds": (5,)}, read_older=read_older).is_finished()
    assert files(tmp_path).keys() == {"facts.json"}
    with one.claim():
        assert read_record(tmp_path) == ArtifactRecord("checkpoint", one.key, json.loads(json.dumps(RECIPE)), True)
    assert one.is_finished()


HOLD = """
import sys, time
from pathlib import Path
from verax.store.artifact import Artifact
with Artifact(Path(sys.argv[1]), "checkpoint", sys.argv[2], {}).claim():
    print("claimed", flush=True)
    time.sleep(60)
"""


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    one = artifact(tmp_path / "made")
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, one.folder, one.key], stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "claimed\n"
        with pytest.raises(UserError, match=f"process {child.pid} is writing to {one.folder}"), one.claim():
            raise AssertionError("it must not be claimed twice")
        os.kill(child.pid, signal.SIGKILL)
    assert (one.folder / "lock").exists(), "left by the killed process"
    work(one)
    assert one.is_finished()
    assert not (one.folder / "lock").exists()


def test_a_lock_whose_file_is_removed_is_never_held_twice(tmp_path: Path) -> None:
    """Threads take and remove the same lock; two that held it at once would lose a count."""
    path, counter, inside = tmp_path / "lock", [0], [0]

    def count() -> None:
        done = 0
        while done < 40:
            try:
                lock = Lock.take(path)
            except UserError:
                continue
            inside[0] += 1
            assert inside[0] == 1
            value = counter[0]
            time.sleep(0)
            counter[0] = value + 1
            inside[0] -= 1
            lock.release(remove=True)
            done += 1

    threads = [threading.Thread(target=count) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter[0] == 120


def killed_at(call: int, folder: Path) -> int:
    """Do the job in a process that dies at its n-th change of a file, before an odd one and after an even one."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    numbers = iter(range(1, 10**6))

    def deadly(change: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any, **named: Any) -> Any:
            number = next(numbers)
            if number == call and call % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            result = change(*arguments, **named)
            if number == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return changed

    for name in ("replace", "unlink", "mkdir", "fsync", "pwrite"):
        setattr(os, name, deadly(getattr(os, name)))
    try:
        work(artifact(folder))
    except BaseException:  # noqa: BLE001 - a fork of pytest must not go on with the suite
        os._exit(1)
    os._exit(0)


def test_killed_at_any_change_of_a_file_it_ends_the_same(tmp_path: Path) -> None:
    work(artifact(tmp_path / "whole"))
    expected, call, status = files(tmp_path / "whole"), 0, -1
    while status:
        call += 1
        folder = tmp_path / str(call)
        status = killed_at(call, folder)
        assert status in {0, int(signal.SIGKILL)}
        kept = {piece for piece in PIECES if (folder / piece).exists()}
        made: list[str] = []
        work(artifact(folder), made.append)
        if artifact(folder).has_leftovers():
            with artifact(folder).claim():
                pass
        assert files(folder) == expected, call
        assert set(made) == set(PIECES) - kept, "what was kept is not made again"
    assert call > 15


def test_a_job_whose_lock_was_taken_away_stops_before_its_next_write(tmp_path: Path) -> None:
    one = artifact(tmp_path / "made")

    def rob(piece: str) -> None:
        if piece == "two":
            (one.folder / "lock").unlink()

    with pytest.raises(UserError, match=r"lock was removed or replaced .* so this one stops"):
        work(one, rob)
    assert not (one.folder / "two").exists()
    work(one)
    assert one.is_finished()


def test_a_second_job_keeps_its_lock_when_the_first_ends(tmp_path: Path) -> None:
    one = artifact(tmp_path / "made")
    first = one.claim()
    first.__enter__()
    (one.folder / "lock").unlink()
    with artifact(one.folder).claim():
        first.__exit__(None, None, None)
        with pytest.raises(UserError, match="is writing to"), artifact(one.folder).claim():
            raise AssertionError("it must not be claimed")


def test_a_flipped_bit_in_a_large_file_or_in_the_record_is_told(tmp_path: Path) -> None:
    one = artifact(tmp_path / "made")
    with one.claim():
        replace_file(one.folder / "weights", bytes(3_000_000))
        one.finish("weights")
    for name in ("weights", "artifact.json"):
        whole = (one.folder / name).read_bytes()
        at = len(whole) // 2
        (one.folder / name).write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(UserError, match=f"{name} is damaged"):
            one.is_finished()
        (one.folder / name).write_bytes(whole)
    assert one.is_finished()


def test_an_artifact_with_a_link_in_it_is_not_written_to(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("precious")
    one = artifact(tmp_path / "made")
    with one.claim():
        replace_file(one.folder / "one", b"one")
    (one.folder / "two").symlink_to(tmp_path / "mine")
    with pytest.raises(UserError, match=r"two is a symbolic link, and verax does not write through it"), one.claim():
        raise AssertionError("it must not be claimed")
    assert (tmp_path / "mine").read_text() == "precious"


def test_a_trained_model_is_verified_when_it_is_loaded(checkpoint: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(checkpoint("bert"), folder)
    load_model(folder)  # no artifact: anything goes
    artifact = Artifact(folder, "checkpoint", "k", {}, lambda _: ArtifactRecord("checkpoint", "k", {}))
    with artifact.claim():
        artifact.finish("config.json", "model.safetensors")
    load_model(folder)
    weights = bytearray((folder / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(UserError, match=r"model.safetensors is missing or damaged"):
        load_model(folder)
    (folder / "artifact.json").unlink()
    load_model(folder)
