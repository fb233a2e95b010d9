"""The other end of `bench.peer_interpreto`: starts that process in its own environment and hands it requests."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from transformers.utils.logging import disable_progress_bar

from bench.peer_work import TUNED_BATCH, Answer

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".bench" / "interpreto"
INSTALLED = HOME / "installed"
"""There once `make` has filled the environment."""


class Interpreto:
    """A running child process.

    Args:
        process: started by `interpreto`.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def explain(self, method: str, *, tuned: bool) -> Answer:
        """All texts in one call; `tuned` sets the batch size."""
        return Answer(**self.ask({"method": method, "batch_size": TUNED_BATCH if tuned else None}))

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """One line there, one line back."""
        assert self._process.stdin is not None  # noqa: S101 - both were asked for as pipes
        assert self._process.stdout is not None  # noqa: S101
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(
                f"interpreto's process ended before it had answered {request.get('method', 'its start')}"
            )
        answer: dict[str, Any] = json.loads(line)
        return answer


@contextmanager
def interpreto(
    model: Any, tokenizer: Any, texts: Sequence[str], targets: Sequence[int], *, cpu_time: bool
) -> Iterator[tuple[Interpreto, dict[str, str]]]:
    """A child process that holds the same model and texts, with the versions that it runs; it ends with the context."""
    threads = torch.get_num_threads()
    offline = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": str(threads)}
    command = [str(HOME / "bin" / "python"), "-m", "bench.peer_interpreto"]
    disable_progress_bar()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        # leaving the context closes its input, which ends it
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT, env={**os.environ, **offline}
        ) as process:
            child = Interpreto(process)
            given = {"texts": list(texts), "targets": list(targets), "threads": threads, "cpu_time": cpu_time}
            ready = child.ask({"model": folder, **given})
            if ready["tokens"] != tokenizer(list(texts))["input_ids"] or ready["threads"] != threads:
                raise RuntimeError("interpreto's process sees other tokens, or has another number of threads")
            yield child, ready["versions"]
