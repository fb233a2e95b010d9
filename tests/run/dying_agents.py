"""Runs that are killed while their agents are trained, in processes of their own; a program for test_agents.

It is handed a folder and, as JSON, deaths: a function (`_step` of the optimiser, `replace_by` of what a training goes
on from, `write_json` of an agent's answers), the number of the call to die at, and whether to die before it or after.
For each it prints how the run ended, how many epochs it had trained, and how many more were trained when the same run
was started again. The last run meets no death.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from support import hidden_place
from verax.api import evaluate
from verax.models.load import load_model
from verax.train import agent, fine_tuning, resume
from verax.train.agent import find_start
from verax.types import UserError

METRIC = {"simulatability": {"insertion": "text", "seeds": 1, "epochs": 3, "learning_rate": 5e-3, "batch_size": 8}}


Death = tuple[str, int, str]
OWNERS = {"_step": fine_tuning._ClassifierTraining, "replace_by": resume, "write_json": agent}


def go(root: Path, out: Path, death: Death | None) -> int:
    """Carry a run out in a process of its own that may die on its way; how that one ended."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    if death is not None:
        name, number, when = death
        setattr(OWNERS[name], name, _dying(getattr(OWNERS[name], name), number, when))
    os.fsync = lambda _: None  # a killed process leaves the files of the system alone; only a power cut would not
    epoch = fine_tuning._ClassifierTraining._epoch
    fine_tuning._ClassifierTraining._epoch = _counted(epoch, out.with_suffix(".epochs"))  # type: ignore[method-assign]
    try:
        methods: list[Any] = [hidden_place.DecisivePair()]
        data, model = hidden_place.texts(30), load_model(root / "model")
        evaluate(model, data, methods=methods, metrics=[METRIC], out=out, progress=False)
    except UserError as error:
        sys.stderr.write(f"{error}\n")
        os._exit(2)
    os._exit(0)


def _dying(call: Callable[..., Any], die_at: int, when: str) -> Any:
    calls = iter(range(1, 10**6))

    def changed(*arguments: Any, **named: Any) -> Any:
        now = next(calls) == die_at
        if now and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        result = call(*arguments, **named)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return changed


def _counted(epoch: Callable[..., float], path: Path) -> Any:
    def counted(*arguments: Any) -> float:
        loss = epoch(*arguments)
        with path.open("ab") as file:
            file.write(b".")
        return loss

    return counted


def _epochs(out: Path) -> int:
    path = out.with_suffix(".epochs")
    return path.stat().st_size if path.exists() else 0


if __name__ == "__main__":
    root = Path(sys.argv[1])
    hidden_place.save_model(root / "model")
    find_start(load_model(root / "model"), None)  # what it imports is imported once
    for number, death in enumerate([*json.loads(sys.argv[2]), None]):
        out = root / f"run-{number}"
        ended, before = go(root, out, death), _epochs(out)
        again = go(root, out, None)
        found = {"death": death, "ended": ended, "again": again, "before": before, "after": _epochs(out) - before}
        sys.stdout.write(json.dumps(found) + "\n")
