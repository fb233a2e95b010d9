"""Pairwise Shapley interaction index: what two words add together beyond what each adds alone."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import ClassVar, NamedTuple

import numpy as np
from scipy.linalg import lstsq

from verax.engine.questions import Outputs, QuestionGenerator, resolve_target
from verax.methods.games import enumerated, sampled_passes
from verax.methods.pairs import Pairing, pair_attribution
from verax.models.subject import Subject
from verax.types import Attribution, BoolArray, FloatArray, Kind, Passes, Removal, Target, require_at_least

_BORDER = 1e8
"""Weight of the smallest and largest coalitions, infinite in the paper; the value that shapiq uses."""


@dataclass(frozen=True)
class ShapleyInteraction:
    """The pairwise Shapley interaction index: exact where the budget covers all coalitions, else by KernelSHAP-IQ.

    Positive where two words strengthen each other, negative where one makes the other redundant. Unlike
    `bivariate_shapley` it leaves out what each word is worth by itself.

    Args:
        budget: forward passes; 2 n + 2048 for n words by default, never more than the 2^n coalitions.
        parts: pairs `between` the two parts, or `within` each part.
    """

    target: Target = Target()
    budget: int | None = None
    removal: Removal = "mask"
    parts: Pairing = "between"
    seed: int = 0

    name: ClassVar[str] = "shapley_interaction"
    display: ClassVar[str] = "SII"
    summary: ClassVar[str] = "Shapley interaction index of two words, computed by shapiq (extra: interactions)."
    cost: ClassVar[str] = "2 n + 2048 forward"
    kind: ClassVar[Kind] = "token_interaction"
    version: ClassVar[int] = 2
    reference: ClassVar[str] = "Grabisch and Roubens 1999; estimated as in Fumagalli et al. 2024, KernelSHAP-IQ"
    extra: ClassVar[tuple[str, str]] = ("shapiq", "interactions")

    def __post_init__(self) -> None:
        require_at_least("shapley_interaction", 4, budget=self.budget)

    def passes(self, n: int) -> Passes:
        """The budget, at most one pass per coalition."""
        return Passes(sampled_passes(n, self.budget), 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question: all coalitions, or those that shapiq draws."""
        n, budget = x.n_units, self.passes(x.n_units).forward
        if 2**n <= budget:
            game = yield from enumerated(x, self.target, self.removal)
            return pair_attribution(x, exact_index(game.values), self.parts)
        readout = yield from resolve_target(self.target, x)
        drawn = draw_coalitions(n, budget, int(x.rng(self.seed, "shapley_interaction").integers(2**31)))
        logits: FloatArray = yield Outputs(x, drawn.keep, self.removal)
        return pair_attribution(x, kernel_index(drawn, readout(logits)), self.parts)


def exact_index(values: FloatArray) -> FloatArray:
    """The index of every pair from the value of every coalition, in the order of `all_coalitions`: [2^n] -> [n, n]."""
    import shapiq  # noqa: PLC0415 - optional, and slow to import

    n = len(values).bit_length() - 1
    if n < 2:
        return np.zeros((n, n))
    numbers = 1 << np.arange(n)
    exact = shapiq.ExactComputer(lambda keep: values[np.atleast_2d(keep) @ numbers], n_players=n)
    return np.asarray(exact("SII", order=2).get_n_order_values(2))


class Drawn(NamedTuple):
    """Coalitions, shape [rows, n], and the factor by which drawing them changes their weights, shape [rows]."""

    keep: BoolArray
    factors: FloatArray


def draw_coalitions(n: int, budget: int, seed: int) -> Drawn:
    """The coalitions that shapiq draws for KernelSHAP-IQ of order 2; always with no word and with all words."""
    from shapiq.approximator.sampling import CoalitionSampler  # noqa: PLC0415 - optional, and slow to import

    weights = [_BORDER if size < 2 or size > n - 2 else 1 / (size * (n - size)) for size in range(n + 1)]
    sampler = CoalitionSampler(n, np.array(weights) / np.sum(weights), random_state=seed)
    sampler.sample(budget)
    return Drawn(sampler.coalitions_matrix, sampler.sampling_adjustment_weights)


def kernel_index(drawn: Drawn, values: FloatArray) -> FloatArray:
    """The index of every pair by KernelSHAP-IQ: [rows] -> [n, n].

    Words are fitted to the values first, pairs to the residuals (Fumagalli et al. 2024, Algorithm 1).
    """
    keep = drawn.keep
    n, sizes = keep.shape[1], keep.sum(1)
    inside = keep.astype(np.float64)
    gains = values - values[sizes == 0][0]
    words = weighted_least_squares(inside, gains, drawn.factors * _size_weights(n, 1)[sizes])
    first, second = np.triu_indices(n, k=1)
    apart = -0.5 * (keep[:, first] != keep[:, second])
    index = np.zeros((n, n))
    index[first, second] = weighted_least_squares(
        apart, gains - inside @ words, drawn.factors * _size_weights(n, 2)[sizes]
    )
    return index + index.T


def _size_weights(n: int, order: int) -> FloatArray:
    """The weight of one coalition of each size from 0 to n in the regression on sets of `order` words."""
    inner = {size: comb(n - 2 * order, size - order) for size in range(order, n - order + 1)}
    return np.array([1 / ((n - 2 * order + 1) * inner[size]) if size in inner else _BORDER for size in range(n + 1)])


def weighted_least_squares(features: FloatArray, values: FloatArray, weights: FloatArray) -> FloatArray:
    """The solution of least norm that minimises the weighted sum of squares: [rows, p], [rows], [rows] -> [p].

    Weights differ by a factor of 1e8 here, so the normal equations would lose eight digits of the light rows. A QR
    decomposition with pivoting keeps them if heavy rows come first (Cox and Higham 1998) and none contradict each
    other: a coalition and its complement have the same features, so equal rows are merged into their mean.
    """
    distinct, number = np.unique(features, axis=0, return_inverse=True)
    number = number.reshape(-1)
    merged = np.bincount(number, weights)
    means = np.bincount(number, weights * values) / merged
    heavy_first = np.argsort(-merged, kind="stable")
    root = np.sqrt(merged[heavy_first])
    rank_tolerance = max(features.shape) * np.finfo(np.float64).eps
    solution, *_ = lstsq(
        root[:, None] * distinct[heavy_first], root * means[heavy_first], cond=rank_tolerance, lapack_driver="gelsy"
    )
    return np.asarray(solution)
