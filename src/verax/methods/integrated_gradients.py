"""Integrated gradients: gradients averaged along a path from a baseline, times the difference from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from verax.engine.ask import ask_all
from verax.engine.questions import Outputs, PathGradient, QuestionGenerator, SummedGradient, resolve_target
from verax.methods.aggregation import to_words
from verax.models.classifier import Capability
from verax.models.subject import Subject
from verax.stats.aggregation import Aggregation
from verax.types import Attribution, Base, FloatArray, Kind, Passes, Removal, Target, UserError, require_at_least

Baseline = Literal["pad", "mask", "zero", "zero_words"]
REMOVED: dict[Baseline, Removal] = {"pad": "pad", "mask": "mask", "zero_words": "zero"}
"""Baselines that are the input with every word removed, by the rule that removes it."""
CANDIDATES = (50, 75, 100, 150, 200)
SAMPLE = 16
INCOMPLETE = 0.05
"""Relative error above which an explanation is incomplete."""


@dataclass(frozen=True)
class IntegratedGradients:
    """(E - E') * integral of df/dE from the baseline E' to the input E, summed over the sub-words of a word.

    With `aggregate="sum"` the scores of all tokens sum to f(E) - f(E'). Their deviation from it, relative to that
    difference, is recorded as `completeness_error`.

    Args:
        steps: number of points on the path; `auto` chooses it in a run, on validation data, by completeness.
        baseline: `pad` and `mask` replace every word by that token's embedding and keep special tokens; `zero_words`
            replaces words by zeros; `zero` replaces everything by zeros, special tokens included.
        rule: `gauss_legendre` or `riemann_right` (points 1/m, 2/m, ..., 1).
        aggregate: how the dimensions of an embedding are aggregated.
        absolute: take |.| of each sub-word before they are summed.
    """

    target: Target = Target()
    steps: int | Literal["auto"] = 50
    baseline: Baseline = "pad"
    rule: Literal["gauss_legendre", "riemann_right"] = "gauss_legendre"
    aggregate: Aggregation = "sum"
    absolute: bool = False

    name: ClassVar[str] = "integrated_gradients"
    display: ClassVar[str] = "IG"
    summary: ClassVar[str] = "Gradient averaged along the path from a baseline, times the difference to the baseline."
    cost: ClassVar[str] = "2 forward, steps backward"
    kind: ClassVar[Kind] = "token"
    base: ClassVar[Base] = "integrated_gradients"
    requires: ClassVar[frozenset[Capability]] = frozenset({"outputs", "gradients"})
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Sundararajan, Taly and Yan 2017, Axiomatic attribution for deep networks"

    def __post_init__(self) -> None:
        if self.steps != "auto":
            require_at_least("integrated_gradients", 1, steps=self.steps)

    def fitted(self, run: Any) -> IntegratedGradients:
        """The method with a number of steps, if that is `auto`: the fewest that are complete on validation data.

        Tried are `CANDIDATES` on `SAMPLE` inputs spread over the validation data of a run, until at most `INCOMPLETE`
        of them miss completeness by more than `INCOMPLETE`; else the largest is used.
        """
        if self.steps != "auto":
            return self
        instances = run.open_validation().instances
        sample = instances[:: max(1, len(instances) // SAMPLE)][:SAMPLE]
        for steps in CANDIDATES:
            tried = replace(self, steps=steps, aggregate="sum", absolute=False)
            missed: dict[str, bool] = {}

            def note(name: str, found: Attribution, missed: dict[str, bool] = missed) -> None:
                missed[name] = float(found.notes["completeness_error"]) > INCOMPLETE

            ask_all(((one.id, tried(Subject(one, run.model))) for one in sample), note)
            if not missed:
                raise UserError("integrated_gradients: steps: auto: no input of the validation data can be explained")
            if sum(missed.values()) <= INCOMPLETE * len(missed):
                break
        return replace(self, steps=steps)

    @property
    def _count(self) -> int:
        if self.steps == "auto":
            raise UserError(
                "integrated_gradients: steps: auto is chosen on the validation data of a run; give a number"
            )
        return self.steps

    def passes(self, n: int) -> Passes:
        """A gradient for each step, and the values at both ends."""
        steps = CANDIDATES[-1] if self.steps == "auto" else self.steps
        return Passes(1, steps + 1) if self.baseline == "zero" else Passes(2, steps)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """One question for the whole path, and one for the values at its ends."""
        readout = yield from resolve_target(self.target, x)
        alphas, weights = self._points()
        if self.baseline in REMOVED:  # the baseline is the input without its words: its value takes a forward pass
            summed: SummedGradient = yield PathGradient(x, readout, self.baseline, alphas, weights)
            ends: FloatArray = yield Outputs(x, np.zeros((1, x.n_units), bool), REMOVED[self.baseline], and_full=True)
            start, end = readout(ends).tolist()
        else:  # a point of weight 0 gives the value at the baseline
            summed = yield PathGradient(x, readout, self.baseline, (0.0, *alphas), (0.0, *weights))
            full: FloatArray = yield Outputs(x, np.empty((0, x.n_units), bool), and_full=True)
            start, end = float(summed.values[0]), float(readout(full)[0])
        scores, token_unit = (summed.path.inputs - summed.path.baseline) * summed.gradient, summed.path.token_unit
        error = abs(float(scores.sum()) - (end - start)) / max(abs(end - start), float(np.finfo(np.float32).eps))
        words = to_words(scores, token_unit, x, aggregate=self.aggregate, absolute=self.absolute)
        return x.attribution(words, completeness_error=error)

    def _points(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        if self.rule == "riemann_right":
            return tuple((k + 1) / self._count for k in range(self._count)), (1 / self._count,) * self._count
        nodes, weights = np.polynomial.legendre.leggauss(self._count)
        return tuple(((nodes + 1) / 2).tolist()), tuple((weights / 2).tolist())
