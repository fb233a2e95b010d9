"""The budgets that every library gets, and how its work is timed: shared by both environments, so it needs no verax."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

LIME_SAMPLES = 50
PERMUTATIONS = 25
KERNEL_SHAP_SAMPLES = 100
STEPS = 50
TUNED_BATCH = 64
"""Rows in one call of the model when a library is told to batch."""

Scores = list[list[float]]
"""One score a word, text by text."""


class Answer(NamedTuple):
    """Scores, the seconds they took from text to scores, and how many rows went through the model for them."""

    scores: Scores
    seconds: float
    rows: int


class Stopwatch:
    """Times a call and counts the rows that the model receives in it.

    Args:
        model: whose rows are counted.
        cpu_time: measure CPU time of this process, which other programs on the machine disturb less.
    """

    def __init__(self, model: Any, *, cpu_time: bool) -> None:
        self._rows, self._clock = 0, time.process_time if cpu_time else time.perf_counter
        model.register_forward_pre_hook(self._count, with_kwargs=True)

    def __call__(self, call: Callable[[], Scores]) -> Answer:
        """Make the call."""
        self._rows = 0
        start = self._clock()
        scores = call()
        return Answer(scores, self._clock() - start, self._rows)

    def _count(self, _: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        inputs = [*args, kwargs.get("input_ids"), kwargs.get("inputs_embeds")]
        self._rows += next(len(tensor) for tensor in inputs if tensor is not None)
