"""Signals to real processes, at start-up and in the middle of work; and a disk that is full or read-only."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import verax as package
from support.cli import CallVerax
from verax.store.store import Store
from verax.types import Score

VERAX = [sys.executable, "-m", "verax"]
WRITER = """
import sys, time
from pathlib import Path
from verax.cli import app, main
from verax.store.store import Store
from verax.types import Score

@app.command()
def write(folder: Path, swallow: bool = False) -> None:
    if swallow:  # as a library may do while it is being imported
        print("ready", flush=True)
        try:
            time.sleep(60)
        except BaseException:
            pass
    with Store.open(folder) as store:
        for number in range(10**6):
            store.append(f"k{number}", Score(f"x{number}", "m", "s", float(number)))
            if number == 3:
                print("ready", flush=True)
            if number >= 3:
                time.sleep(0.01)

main()
"""


def as_in_a_terminal(ignored: tuple[int, ...] = ()) -> None:
    """Reset the signals, some of which the process that runs the tests may ignore."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)


def child(*arguments: object, ignored: tuple[int, ...] = ()) -> subprocess.Popen[str]:
    """Start the writer."""
    command = [sys.executable, "-c", WRITER, "write", *map(str, arguments)]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes, preexec_fn=partial(as_in_a_terminal, ignored))  # noqa: PLW1509 - no thread holds a lock here


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stores_finished_work_and_says_so(tmp_path: Path, number: signal.Signals) -> None:
    with child(tmp_path / "run") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    by = "" if number == signal.SIGINT else f" by {number.name}"
    assert err == f"stopped{by}; finished work is stored, and the same command continues from there\n"
    assert list((tmp_path / "run" / "shards").iterdir()), "the rows are sealed"
    with Store.open(tmp_path / "run") as store:
        assert {"k0", "k1", "k2", "k3"} <= store.keys
        assert store.repaired == ()


def test_a_signal_that_a_library_swallowed_at_start_up_still_ends_the_command(tmp_path: Path) -> None:
    with child(tmp_path / "run", "--swallow") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out == ""
    assert err.startswith("stopped; ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_before_the_command_line_is_imported(tmp_path: Path, number: signal.Signals) -> None:
    """One of the first imports waits, and swallows whatever is raised in it."""
    (tmp_path / "typer.py").write_text(
        "import time\nprint('ready', flush=True)\ntry:\n    time.sleep(60)\nexcept BaseException:\n    pass\n"
    )
    command = [*VERAX, "list", "methods"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    with subprocess.Popen(command, **pipes, env=environment, preexec_fn=as_in_a_terminal) as process:  # noqa: PLW1509
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (128 + number, "")
    assert err == f"stopped by {number.name} during start-up; nothing was computed\n"


def test_little_is_imported_before_signals_are_handled() -> None:
    """Signals before that end Python with a traceback; `typing` alone would take longer than all that is needed."""
    code = "import sys; sys.path[:0] = sys.argv[1:]; before = set(sys.modules); import verax.__main__; " + (
        "print(*sorted(name for name in set(sys.modules) - before if name.startswith(('verax', 'typing'))))"
    )
    home = str(Path(package.__file__).parents[1])
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code, home], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["verax", "verax.__main__"]


def test_nohup_is_respected(tmp_path: Path) -> None:
    with child(tmp_path / "run", ignored=(signal.SIGHUP,)) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 128 + signal.SIGTERM


@pytest.fixture
def tiny_run(tmp_path: Path) -> Path:
    with Store.open(tmp_path / "run") as store:
        for number in range(8):
            for method in ("random", "loo"):
                store.append(f"{method}{number}", Score(f"x{number}", method, "entropy", float(number)))
    return tmp_path / "run"


def test_no_room_for_a_report_is_one_clear_line(tiny_run: Path) -> None:
    """Files of this process may have 20 kB at most, and a report has more."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))

    done = subprocess.run(
        [*VERAX, "report", str(tiny_run)], capture_output=True, text=True, check=False, preexec_fn=limit
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: cannot write {tiny_run / 'report.html'}: ")
    assert "File too large; free some space" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tiny_run.glob("report*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
@pytest.mark.parametrize("state", ["full", "read-only"])
def test_a_full_or_read_only_disk_is_one_clear_line_in_report_and_train(
    tiny_run: Path, tmp_path: Path, state: str, checkpoint: Callable[[str], Path], call_verax: CallVerax
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(disk)], check=False)
    if mounted.returncode != 0:
        pytest.skip("cannot mount here")
    rows = "".join(f'{{"text": "a boat {n}", "label": "{"yes" if n % 2 else "no"}"}}\n' for n in range(12))
    (tmp_path / "data.jsonl").write_text(rows)
    try:
        if state == "read-only":
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        else:
            (disk / "ballast").write_bytes(bytes(60_000))
        report = ["report", tiny_run, "-o", disk / "report.html"]
        data = ["--data", str(tmp_path / "data.jsonl"), "--validation", str(tmp_path / "data.jsonl")]
        train = ["train", "plain", "--base", checkpoint("bert"), *data, "--epochs", "1"]
        reason = "No space left on device" if state == "full" else "Read-only file system"
        for command in (report, [*train, "--out", disk / "model"]):
            said = call_verax(*command)
            assert said.code == 2, said.err
            last = said.err.strip().splitlines()[-1]
            assert last.startswith("error: ")
            assert reason in last
            assert "Traceback" not in said.err
            assert "unexpected" not in last
    finally:
        subprocess.run(["umount", str(disk)], check=True)
