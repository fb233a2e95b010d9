"""Bivariate Shapley: the contribution of a word given that another one is present."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from verax.engine.questions import QuestionGenerator
from verax.methods.games import ordered, ordered_passes, sampled, sampled_passes
from verax.methods.pairs import Pairing, pair_attribution
from verax.models.subject import Subject
from verax.types import Attribution, Base, Kind, Passes, Removal, Target, UserError


@dataclass(frozen=True)
class BivariateShapley:
    """The Shapley value of word i over coalitions that contain word j; for a pair, the mean of both directions.

    It uses the coalitions of `kernel_shap` or `shapley_sampling` with the same budget, removal and seed, so it needs no
    pass if that method has run. Coalitions are over the words of all parts.

    Args:
        target: what of the model is explained.
        coalitions: those of `kernel_shap` or of `shapley_sampling`.
        budget: of kernel_shap, forward passes; 2 n + 2048 for n words by default.
        permutations: of shapley_sampling.
        removal: how the words outside a coalition are removed.
        parts: pairs `between` the two parts, or `within` each part.
        directed: score i given j and j given i as two units.
        seed: of the coalitions.
    """

    target: Target = Target()
    coalitions: Literal["kernel_shap", "shapley_sampling"] = "kernel_shap"
    budget: int | None = None
    permutations: int = 25
    removal: Removal = "mask"
    parts: Pairing = "between"
    directed: bool = False
    seed: int = 0

    name: ClassVar[str] = "bivariate_shapley"
    display: ClassVar[str] = "Bivariate Shapley"
    summary: ClassVar[str] = "Shapley value of a word given that another word is present."
    cost: ClassVar[str] = "as kernel_shap"
    kind: ClassVar[Kind] = "token_interaction"
    base: ClassVar[Base] = "shapley"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Masoomi et al. 2022, Explanations of black-box models based on directional interactions"

    def __post_init__(self) -> None:
        if self.budget is not None and self.budget < 4:
            raise UserError(f"bivariate_shapley: budget: got {self.budget}, it must be at least 4")
        if self.permutations < 1:
            raise UserError(f"bivariate_shapley: permutations: got {self.permutations}, it must be at least 1")

    def passes(self, n: int) -> Passes:
        """Those of the Shapley values that it is based on."""
        if self.coalitions == "kernel_shap":
            return Passes(sampled_passes(n, self.budget), 0)
        return Passes(ordered_passes(n, self.permutations), 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """The question of the Shapley values."""
        if self.coalitions == "kernel_shap":
            game = yield from sampled(x, self.target, self.removal, self.budget, self.seed)
        else:
            game = yield from ordered(x, self.target, self.removal, self.permutations, self.seed)
        return pair_attribution(x, game.bivariate(), self.parts, directed=self.directed)
