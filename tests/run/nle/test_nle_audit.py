"""`verax audit` of a model at an endpoint: a real server, a limit of requests, a spec that repeats it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.answering import answers_by_rule
from support.fault_server import FaultServer
from support.text_runs import write_data, write_words
from verax.results.run import Run


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WNSEARCHDIR", str(write_words(tmp_path / "wordnet")))
    return write_data(tmp_path / "pairs.jsonl")


def test_an_audit_at_an_endpoint(verax: Callable[..., Any], data: Path, tmp_path: Path) -> None:
    with FaultServer(default=answers_by_rule()) as server:
        where = ("audit", "some/model", data, "--endpoint", server.url, "--limit", 2, "--out", "runs/mine")
        planned = verax(*where, "--dry-run")
        assert (planned.code, server.asked) == (0, []), planned.err
        assert "requests, " in planned.out
        assert "nothing was sent so far" in planned.out
        said = verax(*where)
        asked = len(server.asked)
        assert said.code == 0, said.err
        assert verax("run", "runs/mine.yaml").code == 0
        assert len(server.asked) == asked, "everything is stored"
    assert "\nVerdict\n" in said.out
    run = Run(tmp_path / "runs/mine")
    assert (run.status, len(run.instances)) == ("finished", 2)
    assert [one.name for one in run.manifest.methods] == ["explain_then_answer", "answer_then_explain"]
    assert {one.name for one in run.manifest.metrics} == {"counterfactual_test", "reconstruction_test", "bleu"}
    assert {one.body["model"] for one in server.asked} == {"some/model"}


def test_the_number_of_requests_decides_the_number_of_inputs(
    verax: Callable[..., Any], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET", "of-nobody")
    with FaultServer(default=answers_by_rule()) as server:
        options = ("--endpoint", server.url, "--key-env", "MY_SECRET", "--max-requests", 200, "--out", "run")
        said = verax("audit", "some/model", data, *options)
        assert said.code == 0, said.err
        assert 0 < len(server.asked) <= 200
        assert {one.headers["Authorization"] for one in server.asked} == {"Bearer of-nobody"}
    spec = yaml.safe_load((tmp_path / "run.yaml").read_text("utf-8"))
    assert spec["data"]["sample"] == len(Run(tmp_path / "run").instances) < 6
    assert spec["model"]["endpoint"] == {"url": server.url, "max_requests": 200, "key_env": "MY_SECRET"}
    assert "of-nobody" not in (tmp_path / "run.yaml").read_text("utf-8")


def test_options_of_endpoints_need_one(verax: Callable[..., Any], data: Path) -> None:
    said = verax("audit", "some/model", data, "--max-requests", 5)
    assert (said.code, "--max-requests: it is an option of --endpoint URL" in said.err) == (2, True)
