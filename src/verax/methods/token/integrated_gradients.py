"""Integrated gradients: gradients averaged along the way from a baseline, times the way gone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from verax.engine.asks import Asking, Outputs, PathGradient, SummedGradient, resolve
from verax.methods.aggregation import Aggregation, over_dimensions, over_subwords
from verax.models.encoding import Encoded
from verax.types import Attribution, FloatArray, Kind, Passes, Target, UserError

Baseline = Literal["pad", "mask", "zero", "zero_words"]


@dataclass(frozen=True)
class IntegratedGradients:
    """(E - E') * integral of df/dE from the baseline E' to the input E, summed over the sub-words of a word.

    With `aggregate="sum"` the scores of all tokens sum to f(E) - f(E'). How far they miss it is recorded as
    `completeness_error`, relative to that difference.

    Args:
        target: what of the model is explained.
        steps: points on the path.
        baseline: `pad` or `mask` put that token's embedding in place of every word and leave special tokens as they
            are; `zero_words` puts zeros there; `zero` puts zeros everywhere, special tokens too.
        rule: `gauss_legendre` or `riemann_right` (points 1/m, 2/m, ..., 1).
        aggregate: how the dimensions of an embedding are brought together.
        absolute: take |.| of each sub-word before they are summed.
    """

    target: Target = Target()
    steps: int = 50
    baseline: Baseline = "pad"
    rule: Literal["gauss_legendre", "riemann_right"] = "gauss_legendre"
    aggregate: Aggregation = "sum"
    absolute: bool = False

    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Sundararajan, Taly and Yan 2017, Axiomatic attribution for deep networks"

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise UserError(f"integrated_gradients: steps: got {self.steps}, it must be at least 1")

    def passes(self, n: int) -> Passes:
        """A gradient for each step and one at the baseline, and one forward pass for the full input."""
        return Passes(1, self.steps + 1)

    def __call__(self, x: Encoded) -> Asking[Attribution]:
        """One question for the whole path; its first point has no weight and tells the value at the baseline."""
        readout = yield from resolve(self.target, x)
        alphas, weights = self._points()
        summed: SummedGradient = yield PathGradient(x, readout, self.baseline, (0.0, *alphas), (0.0, *weights))
        full: FloatArray = yield Outputs(x, np.empty((0, x.n_units), bool), and_full=True)
        per_dimension = (summed.path.inputs - summed.path.baseline) * summed.gradient
        gap = float(readout(full)[0] - summed.values[0])
        error = abs(float(per_dimension.sum()) - gap) / max(abs(gap), float(np.finfo(np.float32).eps))
        tokens = over_dimensions(per_dimension, self.aggregate)
        tokens = np.abs(tokens) if self.absolute else tokens
        return x.attribution(over_subwords(tokens, summed.path.token_unit, x), completeness_error=error)

    def _points(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        if self.rule == "riemann_right":
            return tuple((k + 1) / self.steps for k in range(self.steps)), (1 / self.steps,) * self.steps
        nodes, weights = np.polynomial.legendre.leggauss(self.steps)
        return tuple(((nodes + 1) / 2).tolist()), tuple((weights / 2).tolist())
