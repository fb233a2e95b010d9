"""The status of a run: temporary failures are retried, others on request, and exit codes and first lines state it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from verax.methods.occlusion import LeaveOneOut
from verax.results.run import Run
from verax.run.rows import TEMPORARY, as_skip
from verax.store.store import Store

CallVerax = Callable[..., Any]
MODEL = """
from pathlib import Path

def answer(texts):
    if Path("down").exists() and texts != [("a boat 0",)]:  # which is asked before the run begins
        raise {error}
    return [[0.25, 0.75] if "boat" in text[0] else [0.75, 0.25] for text in texts]
"""


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Writes a model that raises while the file `down` exists, and returns the command of a run of it."""
    monkeypatch.chdir(tmp_path)

    def write(error: str) -> list[str]:
        name = f"model_{abs(hash(error))}"
        Path(f"{name}.py").write_text(MODEL.format(error=error))
        rows = [{"text": f"a boat {number}", "label": "x"} for number in range(4)]
        Path("data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        content = {
            "model": {"name": f"python:{name}:answer", "labels": ["x", "y"]},
            "data": "data.jsonl",
            "methods": ["random", {"leave_one_out": {"removal": "delete"}}],
            "metrics": [{"comprehensiveness": {"removal": "delete"}}],
        }
        Path("spec.yaml").write_text(json.dumps(content))
        Path("down").touch()
        return ["run", "spec.yaml", "--import-from", "."]

    return write


def test_a_callable_that_raised_is_asked_again_when_the_run_continues(
    spec: Callable[[str], list[str]], verax: CallVerax
) -> None:
    command = spec("ValueError('gone')")
    said = verax(*command)
    assert said.code == 1
    assert said.out.startswith("Finished with failures (")
    run = Run("runs/spec")
    assert (run.status, run.exit_code) == ("finished with failures", 1)
    assert {skip.detail.partition(" (")[0] for skip in run.skips() if skip.failed} == {
        "temporary failure: ValueError: gone"
    }
    assert verax("show", "runs/spec").code == 1
    reported = verax("report", "runs/spec")
    assert reported.code == 1
    assert "finished with failures" in Path("runs/spec/report.html").read_text()
    Path("down").unlink()
    said = verax(*command)
    assert said.code == 0, said.err
    assert said.out.startswith("Finished: ")
    run = Run("runs/spec")
    assert (run.status, run.failed, run.exit_code) == ("finished", 0, 0)
    assert verax("show", "runs/spec").out.startswith("Finished: ")
    assert verax("report", "runs/spec").code == 0
    before = {key: repr(row) for key, row in stored("runs/spec")}
    assert verax(*command).code == 0
    assert {key: repr(row) for key, row in stored("runs/spec")} == before, "nothing is computed a third time"


def stored(folder: str) -> list[tuple[str, Any]]:
    with Store.open(Path(folder)) as store:
        return list(store.rows())


def test_other_failures_are_kept_unless_they_are_to_be_retried(
    spec: Callable[[str], list[str]], verax: CallVerax, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = spec("ValueError('never')")
    Path("down").unlink()

    def broken(self: Any, x: Any) -> Any:
        raise ArithmeticError("a mistake in the method")

    with monkeypatch.context() as patch:
        patch.setattr(LeaveOneOut, "__call__", broken)
        assert verax(*command).code == 1
    assert Run("runs/spec").failed == 8
    assert verax(*command).code == 1, "it would fail again"
    assert "to do: 0" in verax(*command, "--dry-run").err
    assert "to do: 8" in verax(*command, "--dry-run", "--retry-failed").err
    assert verax(*command, "--retry-failed").code == 0
    assert Run("runs/spec").status == "finished"


def test_fail_on_error_stops_and_the_run_is_unfinished(spec: Callable[[str], list[str]], verax: CallVerax) -> None:
    command = spec("ConnectionError('refused')")
    said = verax(*command, "--fail-on-error", "2")
    assert said.code == 3
    assert "stopped after 2 failed rows" in said.err
    run = Run("runs/spec")
    assert (run.status, run.failed, run.exit_code) == ("unfinished", 2, 3)
    Path("down").unlink()
    assert verax(*command, "--fail-on-error", "2").code == 0
    assert Run("runs/spec").status == "finished"


def test_an_unfinished_run_and_a_damaged_plan_say_so(spec: Callable[[str], list[str]], verax: CallVerax) -> None:
    command = spec("ValueError('never')")
    Path("down").unlink()
    assert verax(*command).code == 0
    plan = Path("runs/spec/plan.txt")
    lines = plan.read_text().splitlines(keepends=True)
    plan.write_text("".join(lines[: len(lines) // 2]))
    for name in ("show", "report"):
        said = verax(name, "runs/spec")
        assert said.code == 3
        assert "plan.txt is damaged" in said.out + said.err
        if name == "show":
            assert said.out.startswith("Unfinished (a file is damaged): ")
    assert verax(*command).code == 0
    with Store.open(Path("runs/spec")) as store:
        store.write_plan([*plan.read_text().split(), "0" * 64])
    said = verax("show", "runs/spec")
    assert said.code == 3
    assert said.out.startswith("Unfinished (")
    assert " rows done, 1 of their inputs and alignments missing): " in " ".join(said.out.split())


@pytest.mark.parametrize(
    ("error", "temporary"),
    [
        (ConnectionResetError("reset"), True),
        (TimeoutError("late"), True),
        (MemoryError(), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"), True),
        (RuntimeError("shape mismatch"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_errors_that_may_pass(error: Exception, temporary: bool) -> None:
    skip = as_skip("x", "m", error)
    assert (skip.reason, skip.failed) == ("failed", True)
    assert skip.detail.startswith(TEMPORARY) is temporary
