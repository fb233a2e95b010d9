"""Shapley interaction index: what two words contribute together beyond their own contributions, by shapiq."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verax.engine.questions import Outputs, QuestionGenerator, resolve
from verax.methods.games import sampled_passes
from verax.methods.pairs import Pairing, pair_attribution
from verax.models.subject import Subject
from verax.types import Attribution, BoolArray, FloatArray, Kind, Passes, Removal, Target, UserError


@dataclass(frozen=True)
class ShapleyInteraction:
    """The pairwise Shapley interaction index, by shapiq: exact where the budget covers all coalitions, else estimated.

    Positive if two words strengthen each other, negative if one makes the other redundant. Unlike `bivariate_shapley`
    it excludes the contribution of each word by itself.

    Args:
        target: what of the model is explained.
        budget: forward passes; 2 n + 2048 for n words by default, never more than the 2^n coalitions.
        removal: how the words outside a coalition are removed.
        parts: pairs `between` the two parts, or `within` each part.
        seed: of the coalitions.
    """

    target: Target = Target()
    budget: int | None = None
    removal: Removal = "mask"
    parts: Pairing = "between"
    seed: int = 0

    kind: ClassVar[Kind] = "token_interaction"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Grabisch and Roubens 1999; estimated as in Fumagalli et al. 2024, KernelSHAP-IQ"
    extra: ClassVar[tuple[str, str]] = ("shapiq", "interactions")

    def __post_init__(self) -> None:
        if self.budget is not None and self.budget < 4:
            raise UserError(f"shapley_interaction: budget: got {self.budget}, it must be at least 4")

    def passes(self, n: int) -> Passes:
        """The budget, but never more than the number of coalitions."""
        return Passes(sampled_passes(n, self.budget), 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """The coalitions that shapiq asks for, in as many questions."""
        readout = yield from resolve(self.target, x)
        known: dict[bytes, float] = {}
        while True:
            try:
                index = self._estimate(x, _Lookup(known))
            except _Unknown as unknown:
                logits: FloatArray = yield Outputs(x, unknown.keep, self.removal)
                values = readout(logits).tolist()
                known.update((row.tobytes(), value) for row, value in zip(unknown.keep, values, strict=True))
            else:
                return pair_attribution(x, index, self.parts)

    def _estimate(self, x: Subject, game: Callable[[BoolArray], FloatArray]) -> FloatArray:
        """The index of every pair, shape [n_units, n_units]; raises `_Unknown` until the game can answer."""
        import shapiq  # noqa: PLC0415 - an extra, and slow to import

        n, budget = x.n_units, self.passes(x.n_units).forward
        if n < 2:
            return np.zeros((n, n))
        if 2**n <= budget:
            exact = shapiq.ExactComputer(game, n_players=n)
            return np.asarray(exact("SII", order=2).get_n_order_values(2))
        drawn = int(x.rng(self.seed, "shapley_interaction").integers(2**31))
        estimator = shapiq.KernelSHAPIQ(n, max_order=2, index="SII", random_state=drawn)
        return np.asarray(estimator.approximate(budget, game).get_n_order_values(2))


class _Unknown(Exception):
    def __init__(self, keep: BoolArray) -> None:
        super().__init__(f"{len(keep)} coalitions are not known yet")
        self.keep = keep


@dataclass(frozen=True)
class _Lookup:
    """A game for shapiq, which calls it while it computes: it is run again once the answers are known."""

    known: dict[bytes, float]

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        rows = np.atleast_2d(np.asarray(coalitions, bool))
        missing = [row for row in rows if row.tobytes() not in self.known]
        if missing:
            raise _Unknown(np.unique(np.array(missing), axis=0))
        return np.array([self.known[row.tobytes()] for row in rows])
