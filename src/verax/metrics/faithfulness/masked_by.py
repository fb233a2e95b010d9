"""Mask an input step by step as an explanation says, and explain what is left again before each step."""

from __future__ import annotations

import numpy as np

from verax.engine.protocols import Explain
from verax.engine.questions import QuestionGenerator
from verax.metrics.ranking import best_first, needs_tokens, word_scores
from verax.models.subject import Subject
from verax.types import Attribution, BoolArray, Highlight, UserError

REFERENCE = "Madsen, Reddy and Chandar 2024, Faithfulness measurable masked language models, Algorithm 3"


def masked_by(x: Subject, highlight: Highlight, explain: Explain | None, steps: int) -> QuestionGenerator[BoolArray]:
    """What is left of x at each step: the words that the explanation puts first are masked first.

    After step i, i * n // steps of the n words are masked, in whole numbers. What is masked stays masked. Before each
    step the masked input is explained anew, unless a step masks nothing more (there are fewer words than steps) or all
    that is left.

    Args:
        x: the input.
        highlight: its explanation, which decides the first step.
        explain: explains what is left; None: the highlight decides every step.
        steps: from nothing masked to everything.

    Returns:
        Which words are kept, shape [steps + 1, n_units]; the first row is the full input, in the last nothing is left.
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
    """How many of n words each step masks; together all of them."""
    return [step * n // steps - (step - 1) * n // steps for step in range(1, steps + 1)]


def explained_again(n: int, steps: int) -> list[int]:
    """How many words are left each time that the input is explained anew."""
    sizes, left = [], n
    for more in newly_masked(n, steps):
        if 0 < more < left < n:
            sizes.append(left)
        left -= more
    return sizes


def check_steps(metric: str, steps: int) -> None:
    """Refuse a number of steps that gives no curve."""
    if steps < 1:
        raise UserError(f"{metric}: steps: got {steps}, it must be at least 1")
