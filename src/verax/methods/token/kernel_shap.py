"""Kernel SHAP: Shapley values as the solution of a weighted regression on coalitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from verax.engine.questions import QuestionGenerator
from verax.methods.games import sampled, sampled_passes
from verax.models.subject import Subject
from verax.types import Attribution, Base, Kind, Passes, Removal, Target, UserError


@dataclass(frozen=True)
class KernelShap:
    """Shapley values by least squares over coalitions, constrained to sum to f(all) - f(none).

    Coalitions come in pairs of complements; sizes that fit the budget are enumerated, the rest is sampled without
    replacement. With all coalitions the result is exact.

    Args:
        target: what of the model is explained.
        budget: forward passes, including the full and the empty input; 2 n + 2048 for n words by default. Never more
            than the 2^n coalitions.
        removal: how the words outside a coalition are removed.
        seed: of the coalitions.
    """

    target: Target = Target()
    budget: int | None = None
    removal: Removal = "mask"
    seed: int = 0

    name: ClassVar[str] = "kernel_shap"
    display: ClassVar[str] = "SHAP"
    summary: ClassVar[str] = "Shapley values by regression on coalitions."
    cost: ClassVar[str] = "2 n + 2048 forward, at most 2^n"
    kind: ClassVar[Kind] = "token"
    base: ClassVar[Base] = "shapley"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Lundberg and Lee 2017; paired as in Covert and Lee 2021"

    def __post_init__(self) -> None:
        if self.budget is not None and self.budget < 4:
            raise UserError(f"kernel_shap: budget: got {self.budget}, it must be at least 4")

    def passes(self, n: int) -> Passes:
        """The budget, but never more than the number of coalitions."""
        return Passes(sampled_passes(n, self.budget), 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: no word, the coalitions, all words."""
        game = yield from sampled(x, self.target, self.removal, self.budget, self.seed)
        return x.attribution(game.shapley())
