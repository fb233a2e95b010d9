"""Leave-one-out: how much the target drops when a word is removed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verax.engine.questions import Outputs, QuestionGenerator, resolve
from verax.models.subject import Subject
from verax.types import Attribution, FloatArray, Kind, Passes, Removal, Target


@dataclass(frozen=True)
class LeaveOneOut:
    """The score of word i is f(x) - f(x without i).

    Args:
        target: what of the model is explained.
        removal: how a word is removed.
        absolute: take the absolute value of the change.
    """

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
        without_one = ~np.eye(x.n_units, dtype=bool)
        logits: FloatArray = yield Outputs(x, without_one, self.removal, and_full=True)
        readout = yield from resolve(self.target, x)
        values = readout(logits)
        drops = values[-1] - values[:-1]
        return x.attribution(np.abs(drops) if self.absolute else drops)
