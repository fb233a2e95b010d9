"""LIME: a linear model that approximates the target around the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from sklearn.linear_model import Lasso, Ridge

from verax.engine.questions import Embeddings, Outputs, QuestionGenerator, resolve_target
from verax.methods.coalitions import all_coalitions
from verax.models.classifier import Capability, EmbeddingPath
from verax.models.subject import Subject
from verax.types import Attribution, BoolArray, FloatArray, Kind, Passes, Removal, Target, UserError, require_at_least

STRENGTH = {"ridge": 1.0, "lasso": 0.01}
"""Default strength of the penalty: that of the authors' code, and that of Captum."""


@dataclass(frozen=True)
class Lime:
    """Coefficients of a linear model fitted to f on random coalitions, weighted by similarity to the input.

    Every word is kept with probability 1/2; coalitions come in pairs of complements. The weight is
    exp(-d^2 / (2 width^2)), where d is the cosine distance of the coalition's vector of zeros and ones to all ones. For
    an input with at most as many coalitions as samples, each coalition is used once.

    Args:
        samples: number of coalitions.
        regression: `ridge` or `lasso`.
        strength: of the penalty, as in scikit-learn; 1 for ridge and 0.01 for lasso by default.
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
        readout = yield from resolve_target(self.target, x)
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


@dataclass(frozen=True)
class LimeCaptum:
    """LIME with the settings of Captum: a lasso, independent samples, and the distance between embeddings.

    Every word is kept with probability 1/2. The weight is exp(-d^2 / (2 width^2)), where d is the cosine distance
    between the word embeddings of the input and those of the coalition, all tokens concatenated, special ones included.

    Args:
        samples: number of coalitions.
        removal: which embedding a removed word gets: that of the token `pad` or `mask`, or `zero`.
    """

    target: Target = Target()
    samples: int = 50
    strength: float = STRENGTH["lasso"]
    width: float = 1.0
    removal: Literal["pad", "mask", "zero"] = "pad"
    seed: int = 0

    name: ClassVar[str] = "lime_captum"
    display: ClassVar[str] = "Captum LIME"
    summary: ClassVar[str] = "LIME with the settings of Captum: lasso, independent samples, distance of embeddings."
    cost: ClassVar[str] = "samples + 1 forward"
    kind: ClassVar[Kind] = "token"
    requires: ClassVar[frozenset[Capability]] = frozenset({"outputs", "embeddings"})
    version: ClassVar[int] = 2
    reference: ClassVar[str] = "Kokhlikyan et al. 2020, Captum; Ribeiro, Singh and Guestrin 2016"

    def __post_init__(self) -> None:
        require_at_least("lime_captum", 1, samples=self.samples)
        for name in ("strength", "width"):
            if getattr(self, name) <= 0:
                raise UserError(f"lime_captum: {name}: got {getattr(self, name)}, it must be above 0")

    def passes(self, n: int) -> Passes:
        """The samples, and the full input, for the prediction."""
        return Passes(self.samples + 1, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question for the coalitions, and one for the embeddings; the rest is a regression."""
        keep = x.rng(self.seed, self.name).random((self.samples, x.n_units)) < 0.5
        logits: FloatArray = yield Outputs(x, keep, self.removal)
        readout = yield from resolve_target(self.target, x)
        path: EmbeddingPath = yield Embeddings(x, "zero_words" if self.removal == "zero" else self.removal)
        weights = np.exp(-(_embedding_distance(x, keep, path) ** 2) / (2 * self.width**2))
        model = Lasso(self.strength, max_iter=100_000, random_state=0)
        model.fit(keep.astype(np.float64), readout(logits), sample_weight=weights)
        return x.attribution(model.coef_)


def _embedding_distance(x: Subject, keep: BoolArray, path: EmbeddingPath) -> FloatArray:
    """Cosine distance between the embeddings of an input and those of coalitions of its units: [rows, units] -> [rows].

    A token of a removed unit has the embedding of the baseline; a token of no unit of this view has its own in both.
    """
    own = path.inputs
    kept = np.ones((len(keep), x.encoding.n_units + 1), bool)
    kept[:, x.alive] = keep
    columns = kept[:, path.token_unit]  # -1 is the last: always kept
    products, sizes = ((own * other).sum(1) for other in (path.baseline, own))
    dot = np.where(columns, sizes, products).sum(1)
    norm = np.where(columns, sizes, (path.baseline**2).sum(1)).sum(1)
    return np.asarray(1 - dot / np.sqrt(norm * sizes.sum()))
