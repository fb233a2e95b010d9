"""Addresses without a cluster, and the size of one; `test_faults` runs real clusters."""

from __future__ import annotations

import socket

import pytest

from verax.run.executors.ray import _death, _room, connect
from verax.run.placement import Placement, placement_of
from verax.types import UserError


def test_an_address_that_does_not_answer_is_rejected_at_once() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}"):
            with pytest.raises(UserError, match=rf"^address: no Ray cluster at {address}: .*refused"):
                connect(Placement("ray", address=address))


@pytest.mark.parametrize("address", ["nowhere", "http://127.0.0.1:1", "127.0.0.1:port"])
def test_an_address_in_no_known_form_is_rejected(address: str) -> None:
    with pytest.raises(UserError, match=r"use auto, HOST:PORT or ray://HOST:PORT"):
        connect(Placement("ray", address=address))


def test_more_cores_than_this_machine_has_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verax.run.executors.ray.os.cpu_count", lambda: 2)
    with pytest.raises(UserError, match=r"workers: 6 cores are requested, and this machine has 2"):
        connect(Placement("ray", workers=3, cpus_per_worker=2))


def test_a_cluster_has_room_for_a_worker_per_gpu_or_per_group_of_cores() -> None:
    resources = {"CPU": 18.0, "GPU": 4.0}
    assert _room(resources, Placement("ray", cpus_per_worker=4), gpus=False) == 4
    assert _room(resources, Placement("ray", cpus_per_worker=4), gpus=True) == 4
    assert _room(resources, Placement("ray", cpus_per_worker=8), gpus=True) == 2
    assert _room({}, Placement("ray"), gpus=False) == 0


def test_options_imply_the_executor() -> None:
    assert placement_of(None, None, None, 1).executor == "inline"
    assert placement_of(None, 2, None, 1).executor == "processes"
    assert placement_of(None, 2, "auto", 1).executor == "ray"
    with pytest.raises(UserError, match=r"are for the executor `ray`"):
        placement_of("processes", 2, "auto", 1)


def test_a_death_is_told_in_a_line() -> None:
    text = "The actor died.\nWorker exit type: SYSTEM_ERROR Worker exit detail: Killed by signal 9. There are many."
    assert _death(RuntimeError(text)).reason == "died: Killed by signal 9"
