"""Models for workers: functions in files of their own, which some inputs kill."""

from __future__ import annotations

from pathlib import Path

CODE = '''
import os, pathlib, signal
import numpy as np

HERE = pathlib.Path(__file__).parent


def answer(texts):
    """Probabilities by the letters of a text; a text with the word of `deadly` kills the process that reads it."""
    texts = [" ".join(parts) for parts in texts]
    (HERE / f"pid-{os.getpid()}").touch()
    deadly = (HERE / "deadly").read_text() if (HERE / "deadly").exists() else None
    if deadly and any(deadly in text for text in texts):
        os.kill(os.getpid(), signal.SIGSEGV)
    rows = np.array([[sum(map(ord, text)) % 97 + 1.0, len(text) + 1.0] for text in texts])
    return rows / rows.sum(1, keepdims=True)
'''


def write_model(folder: Path) -> str:
    """Write the module and return the name of the model."""
    (folder / "worker_model.py").write_text(CODE)
    return "python:worker_model:answer"


def write_data(folder: Path, n: int) -> Path:
    """A CSV file of n inputs of different lengths; the word `inputK` is in the input with the id K alone."""
    lines = [f"input{i + 1} {'word ' * (1 + i % 7)}end,{'ab'[i % 2]}" for i in range(n)]
    path = folder / "data.csv"
    path.write_text("\n".join(["text,label", *lines]))
    return path


def process_ids(folder: Path) -> set[int]:
    """Processes that asked the model, which may have ended."""
    return {int(path.name.removeprefix("pid-")) for path in folder.glob("pid-*")}
