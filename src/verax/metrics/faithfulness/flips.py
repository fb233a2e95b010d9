"""Prediction flips: does the predicted class change when the top words are removed, or all others are?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from verax.engine.questions import Outputs, QuestionGenerator
from verax.metrics.budget import Budget, Matched, check_budget
from verax.metrics.pieces import marked, pieces_up_to, top_words
from verax.models.subject import Subject
from verax.types import BoolArray, FloatArray, Highlight, Measured, Passes, Removal, UserError


@dataclass(frozen=True)
class Flips:
    """Share of perturbations that change the prediction (top words removed) or keep it (only top words kept).

    Perturbations concern the top theta(x, k) words, k = 1, 2, ..., where theta is the number of words in the top k span
    pairs of the same base, so that words, pairs and spans are compared at the same number of words.

    Args:
        k: largest number of span pairs.
        grid: `matched` perturbs theta(x, 1), ..., theta(x, k) words; `incremental` adds piece by piece until theta(x,
            k) words are reached (Appendix A).
        budget: `base` takes the span pairs of the same base; `shared` the mean over all span explanations of the run,
            so that every method has the same budget.
        words: numbers of words to perturb, in place of theta; then no span explanation is needed.
        removal: how words are removed.
    """

    k: int = 3
    grid: Literal["matched", "incremental"] = "matched"
    budget: Matched = "base"
    words: tuple[int, ...] | None = None
    removal: Removal = "mask"

    cost: ClassVar[str] = "k + 1 forward"
    measures: ClassVar[str] = "faithfulness"
    top: ClassVar[Literal["removed", "kept"]]
    reference: ClassVar[str] = "Sun, Atanasova and Augenstein 2024, Equations 2 to 8"
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        check_budget(f"{'comprehensiveness' if self.top == 'removed' else 'sufficiency'}_flips", self.k, self.words)
        if self.grid == "incremental" and self.words is not None:
            raise UserError("grid: incremental adds the pieces up to theta, and words gives the numbers: give one")

    @property
    def needs(self) -> frozenset[str]:
        """The budget, unless the numbers of words are given."""
        return frozenset() if self.words is not None else frozenset({"budget"})

    def passes(self, n: int) -> Passes:
        """One for each perturbation, and the full input; a piece without a new word needs no pass."""
        rows = n if self.grid == "incremental" else self.k if self.words is None else len(self.words)
        return Passes(rows + 1, 0)

    def __call__(
        self, x: Subject, highlight: Highlight, *, budget: Budget | None = None
    ) -> QuestionGenerator[Measured]:
        """The share over the perturbations, and for each whether it changed (or kept) the prediction."""
        chosen = self._chosen(x, highlight, budget)
        logits: FloatArray = yield Outputs(x, chosen if self.top == "kept" else ~chosen, self.removal, and_full=True)
        classes = logits.argmax(1)
        same = classes[:-1] == classes[-1]
        good = (same if self.top == "kept" else ~same).astype(float)
        # theta repeats where there are fewer pairs than k, and so do its rows
        return Measured(
            float(good.mean()), tuple(good.tolist()), {"words": tuple(chosen.sum(1).astype(float).tolist())}
        )

    def _chosen(self, x: Subject, highlight: Highlight, budget: Budget | None) -> BoolArray:
        """Words of each perturbation, shape [perturbations, n_units]."""
        if self.words is not None:
            return np.array([top_words(x, highlight, most) for most in self.words])
        assert budget is not None  # noqa: S101 - provided, since it is needed
        if self.grid == "matched":
            return np.array([top_words(x, highlight, budget.at(k)) for k in range(1, self.k + 1)])
        pieces = pieces_up_to(highlight, budget.at(self.k), set(x.words))
        return np.array([marked(x, pieces[: number + 1], 0) for number in range(len(pieces))])
