"""Mask an input step by step by its explanation, and explain the rest again before each step."""

from __future__ import annotations

import numpy as np

from verax.engine.protocols import Explain
from verax.engine.questions import QuestionGenerator
from verax.metrics.ranking import best_first, needs_tokens, word_scores
from verax.models.subject import Subject
from verax.types import Attribution, BoolArray, Highlight, UserError

REFERENCE = "Madsen, Reddy and Chandar 2024, Faithfulness measurable masked language models, Algorithm 3"


def masked_by(x: Subject, highlight: Highlight, explain: Explain | None, steps: int) -> QuestionGenerator[BoolArray]:
    """Words of x that are kept at each step: the top words of the explanation are masked first.

    After step i, i * n // steps of the n words are masked, and stay masked. Before each step the masked input is
    explained again, unless the step masks no further word (there are fewer words than steps) or all that are left.

    Args:
        x: the input.
        highlight: its explanation, which determines the first step.
        explain: explains the rest; None: the highlight determines every step.
        steps: number of steps from nothing masked to everything.

    Returns:
        Shape [steps + 1, n_units]; the first row is the full input, in the last no word is kept.
    """
    needs_tokens(highlight)
    n = x.n_units
    scores = word_scores(x, highlight)
    keep = np.ones((steps + 1, n), bool)
    for step, more in enumerate(newly_masked(n, steps), 1):
        keep[step] = keep[step - 1]
        left = np.flatnonzero(keep[step])
        if 0 < more < len(left):
            again = scores[left]
            if explain is not None and len(left) < n:
                made: Attribution = yield from explain(x.without(~keep[step], "mask"))
                again = made.scores
            keep[step, left[best_first(again)[:more]]] = False
        elif more:
            keep[step] = False
    return keep


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


def check_steps(metric: str, steps: int) -> None:
    """Reject a number of steps that gives no curve."""
    if steps < 1:
        raise UserError(f"{metric}: steps: got {steps}, it must be at least 1")
