"""Prediction flips: does the predicted class change when the top words are removed, or all others are?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from verax.engine.questions import Outputs, QuestionGenerator
from verax.metrics.ranking import Budget, BudgetSource, by_budget, check_budget, mask_of, pieces_up_to, top_words
from verax.models.subject import Subject
from verax.types import BoolArray, FloatArray, Highlight, Measured, MeasuredProperty, Passes, Removal, UserError


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
    """

    k: int = 3
    grid: Literal["matched", "incremental"] = "matched"
    budget: BudgetSource = "base"
    words: tuple[int, ...] | None = None
    removal: Removal = "mask"

    cost: ClassVar[str] = "at most n + 1 forward"
    measures: ClassVar[MeasuredProperty] = "faithfulness"
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
        """One for each number of words, and the full input; budgets by other seeds may have any number."""
        return Passes((n if self.words is None else len(self.words)) + 1, 0)

    def __call__(
        self, x: Subject, highlight: Highlight, *, budget: Budget | None = None
    ) -> QuestionGenerator[Measured]:
        """The share over the perturbations, and for each whether it changed (or kept) the prediction.

        The shares at budgets by other seeds are kept too.
        """
        others = () if budget is None or self.words is not None else budget.others
        groups = [self._chosen(x, highlight, one) for one in (budget, *others)]
        chosen = groups[0]
        # theta repeats where there are fewer pairs than k, and so do its rows
        masks, place = np.unique(np.concatenate(groups), axis=0, return_inverse=True)
        logits: FloatArray = yield Outputs(x, masks if self.top == "kept" else ~masks, self.removal, and_full=True)
        classes = logits.argmax(1)
        same = classes[:-1] == classes[-1]
        all_good = (same if self.top == "kept" else ~same).astype(float)[place.ravel()]
        good, *elsewhere = np.split(all_good, np.cumsum([len(group) for group in groups])[:-1])
        series = {"words": tuple(chosen.sum(1).astype(float).tolist())}
        return Measured(
            float(good.mean()), tuple(good.tolist()), series | by_budget(float(one.mean()) for one in elsewhere)
        )

    def _chosen(self, x: Subject, highlight: Highlight, budget: Budget | None) -> BoolArray:
        """Words of each perturbation, shape [perturbations, n_units]."""
        if self.words is not None:
            return np.array([top_words(x, highlight, count) for count in self.words])
        assert budget is not None  # noqa: S101 - provided, since it is needed
        if self.grid == "matched":
            return np.array([top_words(x, highlight, budget.at(k)) for k in range(1, self.k + 1)])
        pieces = pieces_up_to(highlight, budget.at(self.k), set(x.words))
        return np.array([mask_of(x, pieces[: number + 1], 0) for number in range(len(pieces))])


@dataclass(frozen=True)
class ComprehensivenessFlips(Flips):
    """Share of perturbations without the top words that change the prediction; higher is better."""

    name: ClassVar[str] = "comprehensiveness_flips"
    display: ClassVar[str] = "Comprehensiveness flips"
    summary: ClassVar[str] = (
        "Share of perturbations without the top words that flip the prediction, at matched budgets."
    )
    top: ClassVar[Literal["removed", "kept"]] = "removed"
    version: ClassVar[int] = 2


@dataclass(frozen=True)
class SufficiencyFlips(Flips):
    """Share of perturbations with only the top words that keep the prediction; higher is better."""

    name: ClassVar[str] = "sufficiency_flips"
    display: ClassVar[str] = "Sufficiency flips"
    summary: ClassVar[str] = (
        "Share of perturbations with only the top words that keep the prediction, at matched budgets."
    )
    top: ClassVar[Literal["removed", "kept"]] = "kept"
    version: ClassVar[int] = 2
