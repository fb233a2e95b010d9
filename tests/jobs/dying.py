"""Trainings that die at each step of theirs, in a process of their own; a program for tests that kill.

It is handed, as JSON, a command without its `--out` and a folder. It prints, as JSON, what became of each training:
where it was killed, and how many epochs were trained before and after that. The last one met no death.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerFast

import verax.jobs.training.classifier
import verax.jobs.training.self_explainer  # noqa: F401 - so that not every child has to import it
from verax.cli import main
from verax.models.checkpoint import load_base
from verax.models.load import load_generator
from verax.train.loop import Loop

STEPS = ((os, "replace"), (os, "unlink"), (os, "rmdir"), (PreTrainedModel, "save_pretrained"))
MORE_STEPS = ((PreTrainedTokenizerFast, "save_pretrained"), (Loop, "_step"))


def go(command: list[str], out: Path, die_at: int | None) -> int:
    """Carry the command out in a process of its own that dies at a step, before or after it; how that one ended."""
    out.parent.mkdir(parents=True, exist_ok=True)
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    with (out.parent / "said").open("ab") as said:
        for stream in (1, 2):
            os.dup2(said.fileno(), stream)
    _count_epochs(out.parent / "epochs")
    os.fsync = lambda _: None  # a killed process leaves the files of the system alone; only a power cut would not
    if die_at is not None:
        count = iter(range(1, 10**6))
        for owner, name in (*STEPS, *MORE_STEPS):
            setattr(owner, name, _dying(getattr(owner, name), name, count.__next__, die_at, out.parent / "died"))
    sys.argv = ["verax", *command, "--out", str(out)]
    try:
        main()
    except SystemExit as ended:
        os._exit(int(ended.code or 0))
    os._exit(99)


def _dying(call: Callable[..., Any], name: str, number: Callable[[], int], die_at: int, told: Path) -> Any:
    def changed(*arguments: Any, **named: Any) -> Any:
        now = number() == die_at
        if now:
            told.write_text(name)
        if now and die_at % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        result = call(*arguments, **named)
        if now:
            os.kill(os.getpid(), signal.SIGKILL)
        return result

    return changed


def _count_epochs(path: Path) -> None:
    epoch = Loop._epoch

    def counted(*arguments: Any) -> float:
        loss = epoch(*arguments)
        with path.open("ab") as file:
            file.write(b".")
        return loss

    Loop._epoch = counted  # type: ignore[method-assign]


def _epochs(out: Path) -> int:
    path = out.parent / "epochs"
    return path.stat().st_size if path.exists() else 0


def die_everywhere(command: list[str], root: Path, every: int) -> None:
    """Until a training has no more steps to die at: kill it there, then give the same command again.

    Args:
        every: 1 for each step, 3 for every third one.
    """
    status, step = -1, 0
    while status:
        step += every
        out = root / str(step) / "model"
        status = go(command, out, step)
        before, begun = _epochs(out), bool(list(out.rglob("epoch.safetensors")))
        again = go(command, out, None)
        died = out.parent / "died"
        where = died.read_text() if died.exists() else None
        found = {"step": step, "where": where, "ended": status, "begun": begun}
        found |= {"again": again, "before": before, "after": _epochs(out) - before}
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    command = given["command"]
    base = Path(command[command.index("--base") + 1])
    load_generator(base) if "nle" in command else load_base(base, "", ("a", "b"), seed=0)  # imports all, once
    die_everywhere(command, Path(given["root"]), given.get("every", 1))
