"""Complexity: is the explanation concentrated on a few pieces or spread over all?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from scipy.special import entr

from verax.metrics.ranking import Budget, BudgetSource, best_first, by_budget
from verax.models.subject import Subject
from verax.registry import ShortForms
from verax.types import FloatArray, Highlight, Measured, MeasuredProperty, NoPasses, Undefined


@dataclass(frozen=True)
class Complexity(NoPasses):
    """Entropy, in nats, of the shares |a_i| / sum |a_j| of the scores; lower is simpler.

    Args:
        top: `all` scores, or (`span_pairs`) the first k_x of them, where k_x is the number of span pairs of the same
            input, so that kinds with many and with few pieces are compared at the same number.
        by: rank by `score` or by `magnitude`.
        budget: which span pairs count, as in comprehensiveness_flips.
    """

    top: Literal["all", "span_pairs"] = "all"
    by: Literal["score", "magnitude"] = "score"
    budget: BudgetSource = "base"

    name: ClassVar[str] = "complexity"
    display: ClassVar[str] = "Complexity"
    short_forms: ClassVar[ShortForms] = {"top": {"span_pairs": "matched"}}
    summary: ClassVar[str] = "Entropy of the scores; lower is simpler."
    cost: ClassVar[str] = "none"
    measures: ClassVar[MeasuredProperty] = "complexity"
    version: ClassVar[int] = 2
    reference: ClassVar[str] = (
        "Bhatt, Weller and Moura 2021; matched as in Sun, Atanasova and Augenstein 2024, Equations 18 and 19"
    )
    higher_is_better: ClassVar[bool] = False
    range: ClassVar[tuple[float | None, float | None]] = (0.0, None)

    @property
    def needs(self) -> frozenset[str]:
        """The budget, if it is used."""
        return frozenset({"budget"}) if self.top == "span_pairs" else frozenset()

    def __call__(self, x: Subject, highlight: Highlight, *, budget: Budget | None = None) -> Measured:
        """From 0 (one piece) to the logarithm of their number (all equal).

        With a budget the bounds are kept too: as many scores drawn from [0, 1), and as many equal ones.
        """
        scores = np.array(highlight.scores)
        if budget is None:
            return Measured(_entropy(scores))
        order = best_first(scores if self.by == "score" else np.abs(scores))
        value, *others = (_entropy(scores[order[: one.pieces]]) for one in (budget, *budget.others))
        n = min(len(scores), budget.pieces)
        drawn = x.rng(0, "complexity").random(n)
        bounds = {"random": (_entropy(drawn),), "uniform": (float(np.log(n)),)}
        return Measured(value, series=bounds | by_budget(others))


def _entropy(scores: FloatArray) -> float:
    """Entropy of the shares (Equations 16 and 17)."""
    sizes = np.abs(scores)
    total = sizes.sum()
    if not total > 0:
        raise Undefined("no_signal", "all scores are zero")
    return float(entr(sizes / total).sum())
