"""Trainings in processes of their own: the same models, and failures that stop no other training."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from rich.console import Console

from support import small_tasks, tiny
from verax.jobs.training.classifier import train_classifiers
from verax.jobs.training.spec import parse_plain
from verax.run import placement
from verax.run.executors.tasks import Failed, run_tasks
from verax.run.placement import Placement, device_of_worker
from verax.types import UserError

QUIET = Console(quiet=True)


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As each of the workers has: another number of threads may give other bits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_a_process_that_dies_or_fails_stops_no_other_one() -> None:
    """One at a time, so that the second one starts after the death of the first."""
    tasks = {"first": small_tasks.die, "second": small_tasks.reject, "third": small_tasks.double}
    assert dict(run_tasks(tasks, Placement("processes", 1), "testing", QUIET)) == {
        "first": Failed("the process was killed by SIGKILL"),
        "second": Failed("data: it is empty"),
        "third": 0,
    }


def test_trainings_in_processes_give_the_models_of_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement.os, "cpu_count", lambda: 2)
    base = tiny.save("bert", tmp_path / "base")
    lines = ["text,label", *(f"the boat number {i} is {'near' if i % 2 else 'far'},{'ab'[i % 2]}" for i in range(20))]
    (tmp_path / "data.csv").write_text("\n".join(lines))
    content = {"base": str(base), "data": str(tmp_path / "data.csv"), "seeds": [0, 1], "epochs": 1}
    for workers in (1, 2):
        out = tmp_path / f"workers-{workers}"
        train_classifiers(parse_plain({**content, "device": "cpu", "workers": workers}), out, console=QUIET)
    models = [sorted((tmp_path / f"workers-{workers}").glob("*/model.safetensors")) for workers in (1, 2)]
    assert [len(found) for found in models] == [2, 2]
    assert [path.read_bytes() for path in models[0]] == [path.read_bytes() for path in models[1]]


def test_more_workers_than_cores_are_rejected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement.os, "cpu_count", lambda: 2)
    spec = parse_plain({"base": "b", "data": "d", "workers": 3})
    with pytest.raises(UserError, match=r"^workers: got 3, and this machine has 2 cores"):
        train_classifiers(spec, tmp_path, console=QUIET)


def test_each_worker_has_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert [device_of_worker("auto", worker) for worker in range(3)] == ["cuda:0", "cuda:1", "cuda:0"]
    assert device_of_worker("cpu", 1) == "cpu"
