"""Runs over free-text explanations that are killed on their way, in processes of their own; a program for tests.

It reads jobs, a line of JSON each: the content of a spec, the folder of the run, and the number of the row at which the
process kills itself, before it is kept or after, or null. For each it prints how the process ended and how many passes
the local model, which follows a rule, was asked for.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from support import text_runs
from verax.models import self_explainer
from verax.store.store import Store


def go(job: dict[str, Any]) -> tuple[int, int]:
    """Carry a run out in a process of its own; how that ended, and what its model was asked."""
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        os.close(receive)
        _child(job, send)
    os.close(send)
    with os.fdopen(receive, "rb") as asked:
        passes = len(asked.read())
    return os.waitpid(child, 0)[1], passes


def _child(job: dict[str, Any], send: int) -> None:
    model = text_runs.rule()
    called = model._called

    def counted(what: str, passes: Any) -> None:
        os.write(send, b"." * len(passes))
        called(what, passes)

    model._called = counted  # type: ignore[method-assign]
    self_explainer.load_generator = lambda *_, **__: model  # type: ignore[attr-defined]
    os.fsync = lambda _: None  # a killed process leaves the files of the system alone; only a power cut would not
    if job["death"] is not None:
        _die_at(*job["death"])
    text_runs.execute_run(job["spec"], Path(job["folder"]))
    os._exit(0)


def _die_at(row: int, when: str) -> None:
    append, rows = Store.append, iter(range(1, 10**6))

    def dying(store: Store, *arguments: Any) -> None:
        now = next(rows) == row
        if now and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        append(store, *arguments)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)

    Store.append = dying  # type: ignore[method-assign]


if __name__ == "__main__":
    self_explainer.load_generator = lambda *_, **__: text_runs.rule()  # type: ignore[attr-defined]
    with TemporaryDirectory() as place:  # what a run loads is loaded once, by the parent of all
        text_runs.execute_run(text_runs.content(Path(place)), Path(place) / "run")
    for line in sys.stdin:
        sys.stdout.write(json.dumps(go(json.loads(line))) + "\n")
        sys.stdout.flush()
