"""Recursive masking: performance of the model while the top words of an explanation are masked step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import softmax

from verax.engine.protocols import Explain, RandomDraws
from verax.engine.questions import Outputs, QuestionGenerator, gold_class
from verax.metrics.ranking import best_first, needs_tokens, word_scores
from verax.models.subject import Subject
from verax.store.keys import key_of
from verax.types import (
    Attribution,
    BoolArray,
    FloatArray,
    Highlight,
    Measured,
    MeasuredProperty,
    Passes,
    Removal,
    require_at_least,
)


@dataclass(frozen=True)
class RecursiveMasking:
    """Area over the curve of the gold class's probability while words are masked; higher is better.

    At each step the masked input is explained again and the top words are masked too, until none is left. The value of
    one input is the mean drop of the gold probability over the curve (trapezoids); minus that of the random explanation
    it is the area between their curves. The predicted classes, from which the performance on the data set, ACU and RACU
    (Equation 3) are computed, are kept with each value, and so is the step at which each word is masked.

    Args:
        steps: number of steps from nothing masked to everything; 10 masks 10 % more at each step.
        maskings: how often an input is masked at random for the random explanation, whose value is their mean.
    """

    steps: int = 10
    maskings: int = 5

    name: ClassVar[str] = "recursive_masking"
    display: ClassVar[str] = "Recursive masking"
    summary: ClassVar[str] = (
        "Drop of the gold class while top words are masked and the rest is explained again; gives ACU and RACU."
    )
    cost: ClassVar[str] = "steps + 1 forward, and steps - 1 explanations"
    measures: ClassVar[MeasuredProperty] = "faithfulness"
    removal: ClassVar[Removal] = "mask"
    needs: ClassVar[frozenset[str]] = frozenset({"explain"})
    labelled: ClassVar[bool] = True
    version: ClassVar[int] = 2
    reference: ClassVar[str] = (
        "Madsen, Reddy and Chandar 2024, Faithfulness measurable masked language models, Algorithm 3"
    )
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float | None, float | None]] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        require_at_least("recursive_masking", 1, steps=self.steps, maskings=self.maskings)

    def passes(self, n: int) -> Passes:
        """One for each step, and the full input; passes of the explanations are added."""
        return Passes(min(self.steps, n) + 1, 0)

    def explained_again(self, n: int) -> list[int]:
        """Number of words that are left each time the input is explained again."""
        return explained_again(n, self.steps)

    def __call__(
        self, x: Subject, highlight: Highlight, *, explain: Explain | RandomDraws | None
    ) -> QuestionGenerator[Measured]:
        """The mean drop, the gold probability at each step, and the classes predicted there.

        The series `predicted` and `masked_at` (the step at which each word is masked) of a random explanation are those
        of all `maskings`, one after the other.
        """
        gold = gold_class(x)
        maskings = self.maskings if isinstance(explain, RandomDraws) else 1
        keep = np.ones((maskings, self.steps + 1, x.n_units), bool)
        for draw in range(maskings):
            keep[draw] = yield from masked_by(x, highlight, explain, self.steps, draw)
        logits: FloatArray = yield Outputs(x, keep.reshape(-1, x.n_units), self.removal)
        curve = softmax(logits, axis=1)[:, gold].reshape(maskings, -1).mean(0)
        area = float(np.trapezoid(curve[0] - curve, dx=1 / self.steps))
        series = {
            "gold": (gold,),
            "predicted": logits.argmax(1),
            "masked_at": keep.sum(1).ravel(),
            "maskings": (maskings,),
        }
        return Measured(area, tuple(curve.tolist()), {name: tuple(map(float, one)) for name, one in series.items()})


def masked_by(
    x: Subject, highlight: Highlight, explain: Explain | RandomDraws | None, steps: int, draw: int = 0
) -> QuestionGenerator[BoolArray]:
    """Words of x that are kept at each step: the top words of the explanation are masked first.

    After step i, i * n // steps of the n words are masked, and stay masked. Before each step the masked input is
    explained again, unless the step masks no further word (there are fewer words than steps) or all that are left.

    Args:
        explain: explains the masked input; if None, the highlight determines every step. For random draws it does not
            count: words are drawn for this input and model.
        draw: number of the random draw.

    Returns:
        Shape [steps + 1, n_units]; the first row is the full input, in the last no word is kept.
    """
    needs_tokens(highlight)
    n = x.n_units
    if isinstance(explain, RandomDraws):
        model = key_of(model=x.model.fingerprint)
        return masked_at_random(n, steps, x.rng(explain.seed, f"recursive_masking {draw} {model}"))
    scores = word_scores(x, highlight)
    keep = np.ones((steps + 1, n), bool)
    for step, more in enumerate(newly_masked(n, steps), 1):
        keep[step] = keep[step - 1]
        left = np.flatnonzero(keep[step])
        if 0 < more < len(left):
            again = scores[left]
            if explain is not None and len(left) < n:
                explained: Attribution = yield from explain(x.without(~keep[step], "mask"))
                again = explained.scores
            keep[step, left[best_first(again)[:more]]] = False
        elif more:
            keep[step] = False
    return keep


def masked_at_random(n: int, steps: int, rng: np.random.Generator) -> BoolArray:
    """Which of n words are kept at each step if they are masked in random order; shape [steps + 1, n]."""
    return np.asarray(rng.permutation(n) >= np.arange(steps + 1)[:, None] * n // steps)


def newly_masked(n: int, steps: int) -> list[int]:
    """Number of the n words that each step masks; together all of them."""
    return [step * n // steps - (step - 1) * n // steps for step in range(1, steps + 1)]


def explained_again(n: int, steps: int) -> list[int]:
    """Number of words that are left each time the input is explained again."""
    sizes, left = [], n
    for more in newly_masked(n, steps):
        if 0 < more < left < n:
            sizes.append(left)
        left -= more
    return sizes
