"""The memo of answers about coalitions: bounded, and without effect on results."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

from verax.data.text import from_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import as_generator
from verax.engine.questions import coalitions
from verax.methods.beam import Beam
from verax.models.black_box import BlackBox
from verax.models.subject import Subject
from verax.types import FloatArray, Instance

WORDS = 40


def answer(texts: list[tuple[str, ...]]) -> FloatArray:
    first = np.array([1 / (2 + sum(map(ord, text)) % 97) for (text,) in texts])
    return np.stack([first, 1 - first], axis=1)


def beam_search(x: Subject) -> tuple[Any, int]:
    """The explanation, and the bytes that the subject holds after it."""
    outcomes: list[TaskResult[Any]] = []

    def done(outcome: TaskResult[Any]) -> tuple[()]:
        outcomes.append(outcome)
        return ()

    tracemalloc.start()
    Engine().run([Task(as_generator(Beam(removal="delete"), x), done)])
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert outcomes[0].error is None
    return outcomes[0].value, held


def subject() -> Subject:
    model = BlackBox(answer, labels=("a", "b"), name="sums", version="1")
    return Subject(Instance("long", (from_words([f"word{i * i}" for i in range(WORDS)]),)), model).encoded()


def test_a_beam_search_retains_no_more_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    unbounded, everything = beam_search(subject())
    monkeypatch.setattr(coalitions, "MEMO_BYTES", 500_000)
    bounded, held = beam_search(subject())
    assert everything > 2_000_000
    # the bound, and the answers to the last questions
    assert held < 1_000_000
    np.testing.assert_array_equal(bounded.scores, unbounded.scores)
