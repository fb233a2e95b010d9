"""Killed with -9 on its way, a run over free-text explanations goes on from what is kept; an endpoint is paid once."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import text_runs
from support.answering import answers_by_rule, bodies
from support.fault_server import FaultServer
from support.text_runs import content
from verax.results.run import Run
from verax.store.read import read_rows
from verax.types import Generated

Go = Callable[..., tuple[int, int]]


@pytest.fixture(scope="module")
def go() -> Iterator[Go]:
    """Carry a run out in another process, which may be told to die; how it ended, and what its model was asked."""
    command = [sys.executable, Path(__file__).with_name("dying_texts.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdin is not None
        assert program.stdout is not None

        def run(spec: dict[str, Any], folder: Path, death: tuple[int, str] | None = None) -> tuple[int, int]:
            program.stdin.write(json.dumps({"spec": spec, "folder": str(folder), "death": death}) + "\n")
            program.stdin.flush()
            ended, asked = json.loads(program.stdout.readline())
            return ended, asked

        yield run
        program.stdin.close()
        assert program.wait(20) == 0


def outcome(folder: Path) -> Any:
    """What a reader of the run sees, but for what depends on the clock and on who asked first."""
    run = Run(folder)
    assert run.problems == ()
    said = [(nle.instance_id, nle.method, nle.text, nle.label) for nle in run.texts()]
    return said, [
        (one.instance_id, one.method, one.metric, one.value, one.reason, one.trial_log) for one in run.score_rows()
    ]


def test_a_local_run_goes_on_where_it_was_killed(go: Go, tmp_path: Path) -> None:
    spec = content(tmp_path)
    assert go(spec, tmp_path / "whole")[0] == 0
    for row, when in ((1, "before"), (9, "after"), (17, "before"), (29, "after")):
        folder = tmp_path / f"killed-{row}"
        assert go(spec, folder, (row, when))[0] == signal.SIGKILL
        kept = dict(read_rows(folder))
        assert len(kept) == row - (when == "before")
        assert go(spec, folder)[0] == 0
        assert outcome(folder) == outcome(tmp_path / "whole")
        assert {key: row for key, row in read_rows(folder) if key in kept} == kept, "nothing kept is done again"
    assert go(spec, folder) == (0, 0), "and then nothing is asked"


def test_an_endpoint_is_not_paid_twice_for_what_came(go: Go, tmp_path: Path) -> None:
    with FaultServer(default=answers_by_rule()) as server:
        spec = content(tmp_path, model={"name": "m", "endpoint": {"url": server.url, "concurrency": 3}})
        spec["data"] = {"name": spec["data"], "limit": 3}
        assert go(spec, tmp_path / "whole") == (0, 0)
        once = bodies(server)
        assert len(once) == len(set(once)), "nothing is asked twice in one run either"
        for row in (2, 16, 40):
            server.asked.clear()
            folder = tmp_path / f"killed-{row}"
            assert go(spec, folder, (row, "after"))[0] == signal.SIGKILL
            server.settle()
            paid, kept = len(server.asked), [one for _, one in read_rows(folder) if isinstance(one, Generated)]
            assert len(kept) <= paid <= len(kept) + 3, "one of each thread is lost at most"
            server.asked.clear()
            assert go(spec, folder)[0] == 0
            assert len(server.asked) == len(once) - len(kept), "what is kept is not asked again"
            assert outcome(folder) == outcome(tmp_path / "whole")
    assert text_runs.WORD in "".join(once)
