"""Runs logged to a real file store of MLflow, to offline runs of Weights & Biases, and to a plug-in; and read back."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wandb.proto.wandb_internal_pb2 import Record

from support.cli import CallVerax
from support.plug_ins import InstallPlugIn
from support.runs import word_run
from verax.loggers.record import record_of
from verax.results.run import Run
from verax.types import Estimate

KEY = "overview/loo/comp"
"""The mean of a method under a metric."""


def log(folder: Path, *arguments: str, **settings: str) -> str:
    """Log a run in a process of its own, since trackers keep settings; what it printed."""
    names = ("MLFLOW", "WANDB")
    env = {name: value for name, value in os.environ.items() if not name.startswith(names)} | settings
    command = [sys.executable, "-m", "verax", "log", *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return word_run(tmp_path / "run", 12)


def mean_of(run: Run, key: str = KEY) -> Estimate:
    """An estimate by table, row and column."""
    name, row, column = key.split("/")
    (table,) = [table for found in run.findings() for table in found.all_tables if table.name == name]
    (cells,) = [one.cells for one in table.rows if one.cells[0].value == row]
    value = cells[[column.name for column in table.columns].index(column)].value
    assert isinstance(value, Estimate)
    return value


def test_the_record_has_what_the_tables_have(run: Run) -> None:
    logged = record_of(run, run.folder / "report.html")
    mean = mean_of(run)
    assert [logged.metrics[f"{KEY}{end}"] for end in ("", "_low", "_high", "_n")] == [*mean, 12]
    assert not any(key.startswith("comp/") for key in logged.metrics)  # the ranking repeats the overview
    assert logged.params["model"] == "tiny"
    assert logged.params["methods"] == "random, loo"
    (verdict,) = [table for name, table in logged.tables.items() if name == "leaderboard/verdict"]
    assert logged.tags["verax.verdict.loo"] == verdict.records()[0]["verdict"]
    assert logged.tags["verax.status"] == "finished"


def test_mlflow_in_a_store_of_files(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "store"
    settings = {"MLFLOW_TRACKING_URI": str(store), "MLFLOW_ALLOW_FILE_STORE": "true", "GIT_PYTHON_REFRESH": "quiet"}
    assert f"Logged to mlflow: {store}, run " in log(tmp_path, "run", "mlflow", **settings)
    (folder,) = [path.parent for path in store.glob("*/*/meta.yaml")]
    logged = record_of(run, run.folder / "report.html")

    def entries(kind: str) -> dict[str, str]:
        paths = [path for path in (folder / kind).rglob("*") if path.is_file()]
        return {path.relative_to(folder / kind).as_posix(): path.read_text("utf-8") for path in paths}

    metrics = {key: float(text.split()[1]) for key, text in entries("metrics").items()}
    assert metrics == logged.metrics
    assert entries("params") == {key: text for key, text in logged.params.items() if key != "folder"} | {
        "folder": "run"
    }
    assert logged.tags.items() <= entries("tags").items()
    assert entries("tags")["mlflow.runName"] == "tiny on pairs"
    artifacts = entries("artifacts")
    assert artifacts["report.html"] == (run.folder / "report.html").read_text("utf-8")
    saved = json.loads(artifacts["tables/leaderboard/overview.json"])
    assert saved["rows"] == logged.tables["leaderboard/overview"].records()
    (experiment,) = [path for path in store.glob("*/meta.yaml") if path.parent == folder.parent]
    assert "name: verax\n" in experiment.read_text("utf-8")


def records(file: Path) -> Iterator[Record]:
    """The records of a run of Weights & Biases: the log format of LevelDB, after a header of 7 bytes."""
    data, place, pieces = file.read_bytes(), 7, b""
    while place < len(data):
        left = 32768 - place % 32768
        if left < 7:
            place += left
            continue
        _, length, kind = struct.unpack_from("<IHB", data, place)
        pieces += data[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in {1, 4}:  # a whole record, or the last piece of one
            yield Record.FromString(pieces)
            pieces = b""


def test_weights_and_biases_offline(run: Run, tmp_path: Path) -> None:
    said = log(tmp_path, "run", "wandb", WANDB_MODE="offline", WANDB_DIR=str(tmp_path), WANDB_PROJECT="mine")
    assert "Logged to wandb: " in said
    (file,) = (tmp_path / "wandb").glob("offline-run-*/*.wandb")
    logged = record_of(run, run.folder / "report.html")
    summary: dict[str, Any] = {}
    config: dict[str, Any] = {}
    projects, artifacts = set(), []
    for record in records(file):
        kind = record.WhichOneof("record_type")
        if kind == "summary":
            updates = record.summary.update
            summary |= {item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in updates}
        elif kind == "run":
            projects.add(record.run.project)
            config |= {item.key: json.loads(item.value_json) for item in record.run.config.update}
        elif kind == "request" and record.request.WhichOneof("request_type") == "log_artifact":
            artifacts.append(record.request.log_artifact.artifact.name)
        elif kind == "artifact":
            artifacts.append(record.artifact.name)
    assert {key: value for key, value in summary.items() if key in logged.metrics} == logged.metrics
    assert projects == {"mine"}
    assert config["model"] == "tiny"
    assert config["verax.verdict.loo"] == logged.tags["verax.verdict.loo"]
    assert "report" in artifacts
    (table,) = (file.parent / "files/media/table/tables/leaderboard").glob("overview*.json")
    rows = json.loads(table.read_text("utf-8"))
    expected = logged.tables["leaderboard/overview"].records()
    assert [dict(zip(rows["columns"], row, strict=True)) for row in rows["data"]] == expected


PLUG_IN = """
from pathlib import Path

def log(logged):
    Path("logged.txt").write_text(f"{logged.name}: {sorted(logged.metrics)[0]}, {logged.report.name}")
    return "logged.txt"

def broken(logged):
    raise ConnectionError("the tracker is away\\nfor long")
"""


def test_a_plug_in_and_a_logger_that_fails(verax: CallVerax, tmp_path: Path, install_plug_in: InstallPlugIn) -> None:
    (tmp_path / "my_tracker.py").write_text(PLUG_IN)
    install_plug_in("tracker", {"verax.loggers": {"mine": "my_tracker:log", "broken": "my_tracker:broken"}})
    spec = {
        "model": "world/nli",
        "data": {"name": "world/nli", "limit": 2},
        "methods": ["leave_one_out"],
        "metrics": ["comprehensiveness"],
    }
    (tmp_path / "spec.yaml").write_text(json.dumps(spec))
    answer = verax("run", "spec.yaml", "--out", "run", "--log", "broken", "--log", "mine")
    assert answer.code == 1
    assert "warning: broken failed: ConnectionError: the tracker is away; the run is stored" in answer.err
    assert "`verax log run broken` tries again" in answer.err
    assert "Logged to mine: logged.txt" in answer.out
    assert (tmp_path / "logged.txt").read_text() == (
        "world/nli on world/nli: overview/leave_one_out/comprehensiveness, report.html"
    )
    assert Run(tmp_path / "run").status == "finished"
    assert verax("log", "run", "mine").code == 0
    assert verax("log", "run", "broken").code == 1


@pytest.mark.parametrize(
    ("logger", "message"),
    [
        ("mlfow", "unknown logger 'mlfow'; did you mean 'mlflow'?"),
        ("mlflow", "the logger mlflow needs the package mlflow, which is not installed: pip install 'verax[mlflow]'"),
    ],
)
def test_a_logger_that_cannot_work_is_rejected_before_the_run(
    verax: CallVerax, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, logger: str, message: str
) -> None:
    monkeypatch.setattr("verax.loggers.record.find_spec", lambda name: None)
    (tmp_path / "spec.yaml").write_text(json.dumps({"model": "none", "data": "none", "metrics": ["agreement"]}))
    answer = verax("run", "spec.yaml", "--out", "run", "--log", logger)
    assert (answer.code, message in answer.err) == (2, True), answer.err
    assert not (tmp_path / "run").exists()
