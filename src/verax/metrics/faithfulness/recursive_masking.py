"""Recursive masking: performance of the model while the top words of an explanation are masked step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from verax.engine.protocols import Explain
from verax.engine.questions import Outputs, QuestionGenerator, gold_class
from verax.metrics.faithfulness.masked_by import REFERENCE, check_steps, explained_again, masked_by
from verax.models.subject import Subject
from verax.types import FloatArray, Highlight, Measured, Passes, Removal


@dataclass(frozen=True)
class RecursiveMasking:
    """Area over the curve of the gold class's probability while words are masked; higher is better.

    At each step the masked input is explained again and the top words are masked too, until none is left. The value of
    one input is the mean drop of the gold probability over the curve (trapezoids); minus that of the random explanation
    it is the area between their curves. The predicted classes are kept with each value, from which the performance on
    the data set, ACU and RACU (Equation 3) are computed.

    Args:
        steps: number of steps from nothing masked to everything; 10 masks 10 % more at each step.
    """

    steps: int = 10

    name: ClassVar[str] = "recursive_masking"
    display: ClassVar[str] = "Recursive masking"
    summary: ClassVar[str] = (
        "Drop of the gold class while top words are masked and the rest is explained again; gives ACU and RACU."
    )
    cost: ClassVar[str] = "steps + 1 forward, and steps - 1 explanations"
    measures: ClassVar[str] = "faithfulness"
    removal: ClassVar[Removal] = "mask"
    needs: ClassVar[frozenset[str]] = frozenset({"explain"})
    labelled: ClassVar[bool] = True
    version: ClassVar[int] = 1
    reference: ClassVar[str] = REFERENCE
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float | None, float | None]] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        check_steps("recursive_masking", self.steps)

    def passes(self, n: int) -> Passes:
        """One for each step, and the full input; passes of the explanations are added."""
        return Passes(min(self.steps, n) + 1, 0)

    def explained_again(self, n: int) -> list[int]:
        """Number of words that are left each time the input is explained again."""
        return explained_again(n, self.steps)

    def __call__(self, x: Subject, highlight: Highlight, *, explain: Explain | None) -> QuestionGenerator[Measured]:
        """The mean drop, the gold probability at each step, and the classes predicted there."""
        gold = gold_class(x)
        keep = yield from masked_by(x, highlight, explain, self.steps)
        logits: FloatArray = yield Outputs(x, keep, self.removal)
        curve = softmax(logits, axis=1)[:, gold]
        area = float(np.trapezoid(curve[0] - curve, dx=1 / self.steps))
        predicted = tuple(float(label) for label in logits.argmax(1))
        return Measured(area, tuple(curve.tolist()), {"gold": (float(gold),), "predicted": predicted})
