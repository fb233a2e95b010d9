"""Runs and tasks in a Ray cluster of three nodes: the rows of one process, and what is rejected."""

from __future__ import annotations

import os
import signal
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from support.worker_models import process_ids, write_data, write_model
from verax import evaluate
from verax.run.executors.ray import _death, _no_room, _room, connect
from verax.run.executors.tasks import Failed, run_tasks
from verax.run.executors.worker import installed_versions
from verax.run.placement import Placement, placement_of
from verax.store.read import read_rows
from verax.types import UserError

METHODS, METRICS = ["leave_one_out"], ["comprehensiveness", "complexity"]
QUIET = Console(quiet=True)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is not that of the cluster, with a model and data."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "worker_model", raising=False)
    monkeypatch.chdir(tmp_path)
    write_model(tmp_path)
    write_data(tmp_path, 40)
    return tmp_path


def run_in_folder(place: Path, out: str, **options: Any) -> Any:
    """A run whose data have a relative path."""
    model = {"name": "python:worker_model:answer", "labels": ["a", "b"], "mask_text": "_"}
    return evaluate(model, "data.csv", METHODS, METRICS, out=place / out, progress=False, **options)


def test_actors_give_the_rows_of_one_process_until_decided_and_finish_its_run(place: Path, ray_address: str) -> None:
    until: dict[str, Any] = {"goal": "best", "metrics": ["complexity"]}
    inline = run_in_folder(place, "inline", until_decided=until)
    run_in_folder(place, "ray", until_decided={**until, "max_inputs": 20})
    before = process_ids(place)
    by_ray = run_in_folder(place, "ray", until_decided=until, address=ray_address, workers=2)
    assert {key for key, _ in read_rows(place / "ray")} == {key for key, _ in read_rows(place / "inline")}
    scores = [{(s.instance_id, s.method, s.metric, s.value) for s in run.score_rows()} for run in (inline, by_ray)]
    assert scores[0] == scores[1]
    tests = [run.manifest.until_decided for run in (inline, by_ray)]
    assert [(test.decided, test.undecided) for test in tests if test is not None] == [({}, tests[0].undecided)] * 2
    assert process_ids(place) - before, "actors asked the model"


def test_a_node_that_does_not_see_a_file_or_has_other_software_says_so(
    place: Path, ray_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = {**installed_versions(), "torch": "99.0"}
    with monkeypatch.context() as patch:
        patch.setattr("verax.run.executors.worker.installed_versions", lambda: newer)
        with pytest.raises(UserError, match=r"it has torch .* and the driver 99.0: install the same version"):
            run_in_folder(place, "other", address=ray_address, workers=1)
    with (place / "data.csv").open("rb") as only_here:
        os.dup2(only_here.fileno(), 200)
    try:
        (place / "data.csv").unlink()
        (place / "data.csv").symlink_to("/proc/self/fd/200")
        with pytest.raises(UserError, match=r"^Ray worker 1: on .*data\.csv"):
            run_in_folder(place, "unseen", address=ray_address, workers=1)
    finally:
        os.close(200)


def _die_once(worker: int) -> str:
    marker = Path("marker")  # in the folder of the driver
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return f"worker {worker}"


def _fail(_: int) -> None:
    raise UserError("data: it is empty")


def test_tasks_that_die_are_run_again_and_failures_stop_no_other_one(place: Path, ray_address: str) -> None:
    tasks = {"dying": _die_once, "failing": _fail}
    placement = Placement("ray", address=ray_address)
    assert dict(run_tasks(tasks, placement, "testing", QUIET)) == {
        "dying": "worker 0",
        "failing": Failed("data: it is empty"),
    }
    assert (place / "marker").exists()


def test_an_address_that_does_not_answer_is_rejected_at_once() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
            with pytest.raises(UserError, match=rf"^address: no Ray cluster at {address}: .*refused"):
                connect(Placement("ray", address=address))


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", None])
def test_a_program_that_is_not_ray_is_rejected_within_seconds(
    answer: bytes | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It closes the connection, answers something else, or nothing."""
    monkeypatch.setattr("verax.run.executors.ray._REACHED", 0.2)
    rejected = pytest.raises(UserError, match=r"^address: no Ray cluster at .*: (another program|timed out)")
    with socket.create_server(("127.0.0.1", 0)) as server, ThreadPoolExecutor() as thread:

        def accept() -> socket.socket:
            connection, _ = server.accept()
            connection.sendall(answer or b"")
            if answer is not None:
                connection.shutdown(socket.SHUT_WR)
            return connection

        accepted = thread.submit(accept)
        with rejected:
            connect(Placement("ray", address=f"127.0.0.1:{server.getsockname()[1]}"))
        accepted.result().close()


@pytest.mark.parametrize("address", ["nowhere", "http://127.0.0.1:1", "127.0.0.1:port"])
def test_an_address_in_no_known_form_is_rejected(address: str) -> None:
    with pytest.raises(UserError, match=r"use auto, HOST:PORT or ray://HOST:PORT"):
        connect(Placement("ray", address=address))


def test_more_cores_than_this_machine_has_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verax.run.executors.ray.os.cpu_count", lambda: 2)
    with pytest.raises(UserError, match=r"workers: 6 cores are requested, and this machine has 2"):
        connect(Placement("ray", workers=3, cpus_per_worker=2))


def node(cpus: float, gpus: float = 0.0, *, alive: bool = True) -> dict[str, Any]:
    return {"Alive": alive, "Resources": {"CPU": cpus, "GPU": gpus} if gpus else {"CPU": cpus}}


def test_a_cluster_has_room_for_a_worker_per_gpu_or_per_group_of_cores_of_a_node() -> None:
    nodes = [node(9, 2), node(9, 2), node(64, 8, alive=False)]
    assert _room(nodes, Placement("ray", cpus_per_worker=4), gpus=False) == 4
    assert _room(nodes, Placement("ray"), gpus=True) == 4
    assert _room(nodes, Placement("ray", cpus_per_worker=9), gpus=True) == 2
    assert _room(nodes, Placement("ray", cpus_per_worker=10), gpus=False) == 0
    assert _room([{"Alive": True, "Resources": {}}], Placement("ray"), gpus=False) == 0


def test_workers_that_a_cluster_has_no_room_for_are_announced() -> None:
    assert _no_room(2, Placement("ray", workers=2)) is None
    assert _no_room(1, Placement("ray")) is None
    assert _no_room(2, Placement("ray", workers=3)) == (
        "workers: 3 are requested, and the cluster has room for 2; the others start when nodes join"
    )
    assert "no node of the cluster has room for a worker of 8 cores" in str(
        _no_room(0, Placement("ray", None, None, 8))
    )


def test_options_imply_the_executor() -> None:
    assert placement_of(None, None, None, 1).executor == "inline"
    assert placement_of(None, 2, None, 1).executor == "processes"
    assert placement_of(None, 2, "auto", 1).executor == "ray"
    with pytest.raises(UserError, match=r"are for the executor `ray`"):
        placement_of("processes", 2, "auto", 1)


def test_a_death_is_told_in_a_line() -> None:
    text = "The actor died.\nWorker exit type: SYSTEM_ERROR Worker exit detail: Killed by signal 9. There are many."
    assert _death(RuntimeError(text)).reason == "died: Killed by signal 9"
