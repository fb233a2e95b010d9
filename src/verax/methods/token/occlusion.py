"""Occlusion: how much the target drops when a window of neighbouring words is removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verax.engine.questions import Outputs, QuestionGenerator, resolve
from verax.models.subject import Subject
from verax.types import Attribution, BoolArray, FloatArray, Kind, Passes, Removal, Target, UserError


@dataclass(frozen=True)
class Occlusion:
    """The score of a word is the mean of f(x) - f(x without w) over the windows w that contain it.

    Args:
        target: what of the model is explained.
        window: words in a window; windows move word by word and do not cross parts. A part that is shorter than the
            window is one window.
        removal: how words are removed.
        absolute: take the absolute value of the mean.
    """

    target: Target = Target()
    window: int = 1
    removal: Removal = "pad"
    absolute: bool = False

    name: ClassVar[str] = "occlusion"
    display: ClassVar[str] = "Occlusion"
    summary: ClassVar[str] = "Drop of the target when a window of words is removed."
    cost: ClassVar[str] = "n + 1 forward"
    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Zeiler and Fergus 2014, Visualizing and understanding convolutional networks"

    def __post_init__(self) -> None:
        if self.window < 1:
            raise UserError(f"occlusion: window: got {self.window}, it must be at least 1")

    def passes(self, n: int) -> Passes:
        """Each window once (with windows of one word, each word), and the full input."""
        return Passes(n + 1, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the input without each window, and the full input."""
        windows = self._windows(x)
        logits: FloatArray = yield Outputs(x, ~windows, self.removal, and_full=True)
        readout = yield from resolve(self.target, x)
        values = readout(logits)
        scores = (values[-1] - values[:-1]) @ windows / windows.sum(0)
        return x.attribution(np.abs(scores) if self.absolute else scores)

    def _windows(self, x: Subject) -> BoolArray:
        """Which units each window contains: shape [windows, n_units]."""
        parts = np.array([unit[0].part for unit in x.units])
        rows = []
        for part in np.unique(parts):
            members = np.flatnonzero(parts == part)
            for start in range(max(1, len(members) - self.window + 1)):
                row = np.zeros(x.n_units, bool)
                row[members[start : start + self.window]] = True
                rows.append(row)
        return np.array(rows).reshape(-1, x.n_units)
