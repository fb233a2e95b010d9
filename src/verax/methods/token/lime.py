"""LIME: a linear model that approximates the target around the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from sklearn.linear_model import Lasso, Ridge

from verax.engine.questions import Outputs, QuestionGenerator, resolve
from verax.methods.coalitions import all_coalitions
from verax.models.subject import Subject
from verax.types import Attribution, BoolArray, FloatArray, Kind, Passes, Removal, Target, UserError

STRENGTH = {"ridge": 1.0, "lasso": 0.01}
"""Default strength of the penalty: that of the authors' code, and that of Captum."""


@dataclass(frozen=True)
class Lime:
    """Coefficients of a linear model fitted to f on random coalitions, weighted by similarity to the input.

    Every word is kept with probability 1/2; coalitions come in pairs of complements. The weight is
    exp(-d^2 / (2 width^2)), where d is the cosine distance of the coalition's vector of zeros and ones to all ones. For
    an input with at most as many coalitions as samples, each coalition is used once.

    Args:
        target: what of the model is explained.
        samples: number of coalitions.
        regression: `ridge` or `lasso`.
        strength: of the penalty, as in scikit-learn; 1 for ridge and 0.01 for lasso by default.
        width: of the kernel.
        removal: how the words outside a coalition are removed.
        seed: of the coalitions.
    """

    target: Target = Target()
    samples: int = 50
    regression: Literal["ridge", "lasso"] = "ridge"
    strength: float | None = None
    width: float = 0.25
    removal: Removal = "pad"
    seed: int = 0

    name: ClassVar[str] = "lime"
    display: ClassVar[str] = "LIME"
    summary: ClassVar[str] = "Coefficients of a linear model that approximates the target around the input."
    cost: ClassVar[str] = "samples + 1 forward"
    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Ribeiro, Singh and Guestrin 2016, Why should I trust you?"

    def __post_init__(self) -> None:
        for name, wrong in {"samples": self.samples < 1, "width": self.width <= 0}.items():
            if wrong:
                raise UserError(f"lime: {name}: got {getattr(self, name)}, it must be above 0")
        least = 0 if self.regression == "ridge" else 1e-12  # a lasso without a penalty does not converge
        if self.strength is not None and self.strength < least:
            raise UserError(f"lime: strength: got {self.strength}, for {self.regression} it must be at least {least}")

    def passes(self, n: int) -> Passes:
        """The samples, or every coalition if there are fewer; and the full input, for the prediction."""
        return Passes(min(2**n, self.samples) + 1, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: the coalitions; the rest is a regression."""
        keep = self._coalitions(x)
        logits: FloatArray = yield Outputs(x, keep, self.removal)
        readout = yield from resolve(self.target, x)
        distance = 1 - np.sqrt(keep.mean(1))  # the cosine of a row with all ones is sqrt(kept / n)
        weights = np.exp(-(distance**2) / (2 * self.width**2))
        strength = STRENGTH[self.regression] if self.strength is None else self.strength
        model = Ridge(strength) if self.regression == "ridge" else Lasso(strength, max_iter=100_000, random_state=0)
        model.fit(keep.astype(np.float64), readout(logits), sample_weight=weights)
        return x.attribution(model.coef_)

    def _coalitions(self, x: Subject) -> BoolArray:
        """Sampled coalitions: shape [samples, n_units]."""
        n = x.n_units
        if 2**n <= self.samples:
            return all_coalitions(n)
        drawn = x.rng(self.seed, "lime").random(((self.samples + 1) // 2, n)) < 0.5
        return np.stack([drawn, ~drawn], axis=1).reshape(-1, n)[: self.samples]
