"""Leave-one-out and occlusion: how much the target drops when a word, or a window of words, is removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verax.engine.questions import Outputs, QuestionGenerator, resolve_target
from verax.models.subject import Subject
from verax.types import Attribution, BoolArray, FloatArray, Kind, Passes, Removal, Target, require_at_least


@dataclass(frozen=True)
class LeaveOneOut:
    """The score of word i is f(x) - f(x without i); with `absolute` the size of that change."""

    target: Target = Target()
    removal: Removal = "mask"
    absolute: bool = False

    name: ClassVar[str] = "leave_one_out"
    display: ClassVar[str] = "LOO"
    summary: ClassVar[str] = "Drop of the target when one word is removed."
    cost: ClassVar[str] = "n + 1 forward"
    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = (
        "Li, Monroe and Jurafsky 2016, Understanding neural networks through representation erasure"
    )

    def passes(self, n: int) -> Passes:
        """Each word once, and the full input."""
        return Passes(n + 1, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: every coalition that lacks one word, and the full input."""
        drops = yield from _drops(x, self.target, ~np.eye(x.n_units, dtype=bool), self.removal)
        return x.attribution(np.abs(drops) if self.absolute else drops)


@dataclass(frozen=True)
class Occlusion:
    """The score of a word is the mean of f(x) - f(x without w) over the windows w that contain it.

    Args:
        window: words in a window; windows move word by word and do not cross parts. A part that is shorter than the
            window is one window.
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
        require_at_least("occlusion", 1, window=self.window)

    def passes(self, n: int) -> Passes:
        """Each window once (with windows of one word, each word), and the full input."""
        return Passes(n + 1, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the input without each window, and the full input."""
        windows = self._windows(x)
        drops = yield from _drops(x, self.target, ~windows, self.removal)
        scores = drops @ windows / windows.sum(0)
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


def _drops(x: Subject, target: Target, keep: BoolArray, removal: Removal) -> QuestionGenerator[FloatArray]:
    """Drop of the target when only the words of each coalition are kept: [rows, n_units] -> [rows]."""
    logits: FloatArray = yield Outputs(x, keep, removal, and_full=True)
    readout = yield from resolve_target(target, x)
    values = readout(logits)
    return np.asarray(values[-1] - values[:-1])
