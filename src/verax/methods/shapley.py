"""Shapley values of words: exact, by regression on coalitions, by sampling orders, and of a word given another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from verax.engine.questions import QuestionGenerator
from verax.methods.coalitions import MAX_ENUMERATED
from verax.methods.games import enumerated, ordered, ordered_passes, sampled, sampled_passes
from verax.methods.pairs import Pairing, pair_attribution
from verax.models.subject import Subject
from verax.types import Attribution, Base, Kind, Passes, Removal, Target, Undefined, require_at_least


class _ShapleyValues:
    """What the methods that estimate Shapley values have in common."""

    kind: ClassVar[Kind] = "token"
    base: ClassVar[Base] = "shapley"


@dataclass(frozen=True)
class ExactShapley(_ShapleyValues):
    """Shapley values of the game f(x with only the words of a coalition), from every coalition."""

    target: Target = Target()
    removal: Removal = "mask"

    name: ClassVar[str] = "exact_shapley"
    display: ClassVar[str] = "Exact Shapley"
    summary: ClassVar[str] = "Shapley values from all coalitions; at most 14 words."
    cost: ClassVar[str] = "2^n forward"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Shapley 1953, A value for n-person games; Strumbelj and Kononenko 2010"

    def passes(self, n: int) -> Passes:
        """Every coalition; no pass for an input that is too long."""
        return Passes(2**n if n <= MAX_ENUMERATED else 0, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: all coalitions, unless there are too many."""
        if x.n_units > MAX_ENUMERATED:
            raise Undefined("too_many_words", f"{x.n_units} words; exact_shapley takes up to {MAX_ENUMERATED}")
        game = yield from enumerated(x, self.target, self.removal)
        return x.attribution(game.shapley())


@dataclass(frozen=True)
class KernelShap(_ShapleyValues):
    """Shapley values by least squares over coalitions, constrained to sum to f(all) - f(none).

    Coalitions come in pairs of complements; sizes that fit the budget are enumerated, the rest is sampled without
    replacement. With all coalitions the result is exact.

    Args:
        budget: forward passes, including the full and the empty input; 2 n + 2048 for n words by default. Never more
            than the 2^n coalitions.
    """

    target: Target = Target()
    budget: int | None = None
    removal: Removal = "mask"
    seed: int = 0

    name: ClassVar[str] = "kernel_shap"
    display: ClassVar[str] = "SHAP"
    summary: ClassVar[str] = "Shapley values by regression on coalitions."
    cost: ClassVar[str] = "2 n + 2048 forward, at most 2^n"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Lundberg and Lee 2017; paired as in Covert and Lee 2021"

    def __post_init__(self) -> None:
        require_at_least("kernel_shap", 4, budget=self.budget)

    def passes(self, n: int) -> Passes:
        """The budget, but never more than the number of coalitions."""
        return Passes(sampled_passes(n, self.budget), 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: no word, the coalitions, all words."""
        game = yield from sampled(x, self.target, self.removal, self.budget, self.seed)
        return x.attribution(game.shapley())


@dataclass(frozen=True)
class ShapleySampling(_ShapleyValues):
    """The mean over random orders of f(words up to i) - f(words before i), for each word i.

    Orders come in pairs of reverses: unbiased, and with an even number of orders exact if words interact only in pairs.
    For an input with so few words that the orders need all coalitions, the values are exact.

    Args:
        permutations: number of orders.
    """

    target: Target = Target()
    permutations: int = 25
    removal: Removal = "pad"
    seed: int = 0

    name: ClassVar[str] = "shapley_sampling"
    display: ClassVar[str] = "Shapley sampling"
    summary: ClassVar[str] = "Shapley values by sampling permutations of the words."
    cost: ClassVar[str] = "permutations (n - 1) + 2 forward, at most 2^n"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Castro, Gomez and Tejada 2009; Strumbelj and Kononenko 2010"

    def __post_init__(self) -> None:
        require_at_least("shapley_sampling", 1, permutations=self.permutations)

    def passes(self, n: int) -> Passes:
        """The inner coalitions of each order, plus none and all; never more than the number of coalitions."""
        return Passes(ordered_passes(n, self.permutations), 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the coalitions of all orders."""
        game = yield from ordered(x, self.target, self.removal, self.permutations, self.seed)
        return x.attribution(game.shapley())


@dataclass(frozen=True)
class BivariateShapley(_ShapleyValues):
    """The Shapley value of word i over coalitions that contain word j; for a pair, the mean of both directions.

    It uses the coalitions of `kernel_shap` or `shapley_sampling` with the same budget, removal and seed, so it needs no
    pass if that method has run. Coalitions are over the words of all parts.

    Args:
        coalitions: those of `kernel_shap` or of `shapley_sampling`.
        budget: of kernel_shap, forward passes; 2 n + 2048 for n words by default.
        permutations: of shapley_sampling.
        parts: pairs `between` the two parts, or `within` each part.
        directed: score i given j and j given i as two units.
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
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Masoomi et al. 2022, Explanations of black-box models based on directional interactions"

    def __post_init__(self) -> None:
        require_at_least("bivariate_shapley", 4, budget=self.budget)
        require_at_least("bivariate_shapley", 1, permutations=self.permutations)

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
