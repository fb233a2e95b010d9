"""Runs in worker processes: the rows of one process, whatever dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from support.worker_models import process_ids, write_data, write_model
from verax import evaluate, load_model
from verax.run import placement
from verax.run.executors.worker import Assignment, installed_versions
from verax.run.prepare import prepare
from verax.run.rows import TEMPORARY
from verax.run.spec import parse_spec
from verax.store.read import read_rows
from verax.store.tables import Row
from verax.types import Cost, UserError

METHODS, METRICS = ["leave_one_out", {"lime": {"samples": 20, "removal": "mask"}}], ["comprehensiveness", "complexity"]


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement.os, "cpu_count", lambda: 2)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "worker_model", raising=False)
    return tmp_path


def section(place: Path) -> dict[str, Any]:
    return {"name": write_model(place), "labels": ["a", "b"], "mask_text": "_", "version": "1"}


def rows_in(folder: Path) -> dict[str, Row]:
    """All rows by key, without their cost: the time differs."""
    return {key: replace(row, cost=Cost()) if hasattr(row, "cost") else row for key, row in read_rows(folder)}


def test_workers_give_the_rows_of_one_process_and_finish_its_run(place: Path) -> None:
    data, model = str(write_data(place, 24)), section(place)
    evaluate(model, data, METHODS, METRICS, out=place / "inline", progress=False)
    few = evaluate(model, {"name": data, "limit": 5}, METHODS, METRICS, out=place / "begun", progress=False)
    assert few.manifest.counts is not None
    evaluate(model, data, METHODS, METRICS, out=place / "workers", workers=2, progress=False)
    evaluate(model, data, METHODS, METRICS, out=place / "begun", workers=1, progress=False)
    assert rows_in(place / "workers") == rows_in(place / "inline") == rows_in(place / "begun")
    assert process_ids(place) - {os.getpid()}


def test_an_input_that_kills_two_workers_fails_and_the_run_continues(place: Path) -> None:
    data, model = str(write_data(place, 12)), section(place)
    (place / "deadly").write_text("input7 ")
    run = evaluate(model, data, METHODS, METRICS, out=place / "run", workers=2, progress=False)
    skips = run.skips()
    assert {skip.instance_id for skip in skips} == {"7"}
    assert {skip.detail for skip in skips} == {
        f"{TEMPORARY}WorkerDied: two workers died of this input, the last one was killed by SIGSEGV"
    }
    assert run.manifest.counts is not None
    assert run.manifest.counts.failed == 8  # all but random's explanation and its complexity, which ask no model
    (place / "deadly").unlink()
    run = evaluate(model, data, METHODS, METRICS, out=place / "run", workers=1, progress=False)
    assert run.manifest.counts is not None
    assert run.manifest.counts.failed == 0  # computed again, as all that may pass


def test_workers_are_kept_from_look_to_look_until_a_run_is_decided(place: Path) -> None:
    data, model = str(write_data(place, 40)), section(place)
    until = {"goal": "best", "metrics": ["complexity"]}
    runs = [
        evaluate(model, data, METHODS, METRICS, out=place / name, until_decided=until, progress=False, **more)
        for name, more in (("inline", {}), ("workers", {"workers": 1}))
    ]
    assert rows_in(place / "workers") == rows_in(place / "inline")
    inline, workers = (run.manifest.until_decided for run in runs)
    assert inline == workers
    assert inline is not None
    assert len(inline.looks) > 1
    assert len(process_ids(place) - {os.getpid()}) == 1


RUN = """
import sys
sys.path.insert(0, {place!r})
from verax import evaluate
evaluate({model!r}, {data!r}, {methods!r}, {metrics!r}, out={out!r}, workers=1, progress=False)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_end_with_the_driver_and_another_executor_finishes(place: Path, number: int) -> None:
    data, model = str(write_data(place, 60)), section(place)
    code = (place / "worker_model.py").read_text()
    (place / "worker_model.py").write_text(code.replace("    rows =", "    import time; time.sleep(0.02)\n    rows ="))
    out = place / "run"
    facts = {"place": str(place), "model": model, "data": data, "methods": METHODS, "metrics": METRICS}
    driver = subprocess.Popen([sys.executable, "-c", RUN.format(**facts, out=str(out))])
    while not process_ids(place) - {driver.pid}:  # the driver has asked, too, to check the function
        assert driver.poll() is None
        time.sleep(0.05)
    workers = psutil.Process(driver.pid).children()
    assert workers
    driver.send_signal(number)
    driver.wait()
    assert not psutil.wait_procs(workers, timeout=60)[1]
    write_model(place)
    evaluate(model, data, METHODS, METRICS, out=out, progress=False)
    evaluate(model, data, METHODS, METRICS, out=place / "undisturbed", progress=False)
    assert rows_in(out) == rows_in(place / "undisturbed")


def test_models_in_memory_too_many_workers_and_options_of_other_executors_are_rejected(place: Path) -> None:
    data = str(write_data(place, 3))
    model = load_model(section(place)["name"], labels=("a", "b"), mask_text="_")
    with pytest.raises(UserError, match=r"is an object in this process; save it to a folder"):
        evaluate(model, data, METHODS, METRICS, out=place / "run", workers=2, progress=False)
    with pytest.raises(UserError, match=r"workers: got 3, and this machine has 2 cores"):
        evaluate(section(place), data, METHODS, METRICS, out=place / "run", workers=3, progress=False)
    with pytest.raises(UserError, match=r"executor: got 'slurm'; use one of inline, processes, ray"):
        evaluate(section(place), data, METHODS, METRICS, executor="slurm", progress=False)
    with pytest.raises(UserError, match=r"workers: got 2, and `inline` computes in this process"):
        evaluate(section(place), data, METHODS, METRICS, executor="inline", workers=2, progress=False)


def test_a_worker_whose_software_model_or_data_differ_says_so(place: Path) -> None:
    spec = {"model": section(place), "data": str(write_data(place, 3)), "methods": METHODS, "metrics": METRICS}
    prepared = prepare(parse_spec(spec))
    assignment = Assignment.of(prepared.recipe, prepared.plan, frozenset())
    assignment.plan()
    newer = {**installed_versions(), "torch": "99.0"}
    with pytest.raises(UserError, match=r"it has torch .* and the driver 99.0: install the same version"):
        replace(assignment, versions=newer).plan()
    write_data(place, 4)
    with pytest.raises(UserError, match=r"its data differs from the driver's"):
        assignment.plan()


def test_a_worker_that_cannot_start_ends_the_run_with_its_last_words(place: Path) -> None:
    data, model = str(write_data(place, 3)), section(place)
    code = (place / "worker_model.py").read_text()
    (place / "worker_model.py").write_text(f"import os\nif os.getpid() != {os.getpid()}: os.abort()\n{code}")
    with pytest.raises(UserError, match=r"worker 1 was killed by SIGABRT while it was loading model and data, 5 times"):
        evaluate(model, data, METHODS, METRICS, out=place / "run", workers=1, progress=False)


def test_agents_and_alignments_in_workers_give_the_rows_of_one_process(place: Path) -> None:
    """Both wait for all explanations, and are computed as tasks of their own."""
    model = {"name": "world/xnli", "dtype": "float64", "device": "cpu"}
    data = {"name": "world/xnli", "langs": ["en", "de"], "limit": 14}
    metrics = [
        "crosslingual_faithfulness",
        {"simulatability": {"seeds": 1, "epochs": 1}},
    ]
    for name, options in {"inline": {}, "workers": {"workers": 2}}.items():
        methods = [{"louvain": {"over": "attention_interaction"}}]
        evaluate(model, data, methods, metrics, out=place / name, progress=False, **options)
    rows = rows_in(place / "inline")
    assert rows_in(place / "workers") == rows
    assert Counter(type(row).__name__ for row in rows.values())["Alignment"] == 14
