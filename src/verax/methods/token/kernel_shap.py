"""Kernel SHAP: Shapley values as the solution of a weighted regression on coalitions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verax.engine.asks import Asking, Outputs, resolve
from verax.methods.coalitions import kernel_coalitions, kernel_values
from verax.methods.token.exact_shapley import by_enumeration
from verax.models.encoding import Encoded
from verax.types import Attribution, FloatArray, Kind, Passes, Removal, Target, UserError


@dataclass(frozen=True)
class KernelShap:
    """Shapley values by least squares over coalitions, the sum held to f(all) - f(none).

    Coalitions come in pairs, one the complement of the other; sizes that the budget can hold whole are enumerated, the
    rest is drawn without repetition. With as many coalitions as there are the answer is exact.

    Args:
        target: what of the model is explained.
        budget: forward passes, the full and the empty input among them; 2 n + 2048 for n words by default. Never more
            than the 2^n coalitions that there are.
        removal: how the words outside a coalition are removed.
        seed: of the coalitions.
    """

    target: Target = Target()
    budget: int | None = None
    removal: Removal = "mask"
    seed: int = 0

    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Lundberg and Lee 2017; paired as in Covert and Lee 2021"

    def __post_init__(self) -> None:
        if self.budget is not None and self.budget < 4:
            raise UserError(f"kernel_shap: budget: got {self.budget}, it must be at least 4")

    def passes(self, n: int) -> Passes:
        """The budget, and never more than there are coalitions."""
        return Passes(min(2**n, 2 * n + 2048 if self.budget is None else self.budget), 0)

    def __call__(self, x: Encoded) -> Asking[Attribution]:
        """One question: no word, the coalitions, all words."""
        n, budget = x.n_units, self.passes(x.n_units).forward
        if 2**n <= budget:
            return (yield from by_enumeration(x, self.target, self.removal))
        game = kernel_coalitions(n, budget - 2, x.rng(self.seed, "kernel_shap"))
        keep = np.concatenate([np.zeros((1, n), bool), game.keep])
        logits: FloatArray = yield Outputs(x, keep, self.removal, and_full=True)
        readout = yield from resolve(self.target, x)
        nothing, *values, everything = readout(logits)
        return x.attribution(kernel_values(game, np.array(values), nothing, everything))
