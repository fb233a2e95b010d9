"""Rows of results: summaries, comparisons and masking curves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from verax.types.estimate import Estimate
from verax.types.text import Performance


@dataclass(frozen=True, slots=True)
class Summary:
    """One row of the leaderboard: a method under a metric.

    Args:
        method, metric: their labels in the run.
        mean: over the n instances that have a value; None when there is none.
        low, high: BCa interval of the mean; None when fewer than two values.
        n, skipped: how many instances have a value (translations of one input count once), and how many instances have
            a reason instead.
        random: mean of the random explanation of the same kind over the instances where both have a value.
        p, p_holm: paired test against that random explanation, and Holm-corrected over the methods of the metric.
        higher_is_better: the direction of the metric.
        group: letters; methods that share one can't be told apart under this metric.
    """

    method: str
    metric: str
    mean: float | None
    low: float | None
    high: float | None
    n: int
    skipped: int
    random: float | None
    p: float | None
    p_holm: float | None
    higher_is_better: bool = True
    group: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One method under one metric in two runs, over the instances that both runs have a value for.

    Args:
        mean_a, mean_b: over those n instances; None when there is none.
        p, p_holm: paired test of the difference, and Holm-corrected over all rows of the comparison.
    """

    method: str
    metric: str
    mean_a: float | None
    mean_b: float | None
    n: int
    p: float | None
    p_holm: float | None
    higher_is_better: bool = True


@dataclass(frozen=True, slots=True)
class MaskingCurve:
    """One measure under recursive masking: the model's performance while words are masked, and the area it loses.

    Args:
        method: its label in the run.
        metric: how performance is measured.
        curve: performance at each masking ratio, from 0 to 1 in equal steps.
        acu: area between the random curve and this one (Equation 3): positive where masking by this measure hurts more.
        racu: acu as a share of the area between the random curve and its end; None with `reason` if there is no such
            area.
        signed: whether the measure tells for from against; then racu has no upper bound of 1.
        n: instances that both this measure and the random one have a curve for; of several runs, the fewest.
        skipped: instances that they do not; of several runs, the most.
        over: what the intervals are over: resampled instances of one run, or seeds, one run each.
        p_values: in-distribution p-value of the data set at each masking ratio; None if it was not tested.
    """

    method: str
    metric: Performance
    curve: tuple[Estimate, ...]
    acu: Estimate
    racu: Estimate | None
    reason: str | None
    signed: bool
    n: int
    skipped: int
    over: Literal["instances", "seeds"]
    p_values: tuple[float, ...] | None = None

    @property
    def ratios(self) -> tuple[float, ...]:
        """The share of words masked at each point of the curve."""
        return tuple(i / (len(self.curve) - 1) for i in range(len(self.curve)))

    def outside(self, alpha: float = 0.05) -> tuple[float, ...]:
        """The masking ratios at which the inputs are not in-distribution: what is measured there is not valid."""
        p_values = self.p_values or ()
        return tuple(ratio for ratio, p in zip(self.ratios, p_values, strict=False) if p < alpha)


@dataclass(frozen=True, slots=True)
class MaskingCurves:
    """Every measure of a run, or of several that differ in their seed, under recursive masking.

    Args:
        baseline: the label of the random measure, whose curve is among `curves`.
        majority: performance of always naming the most frequent class.
        runs: how many runs these are the means of.
    """

    baseline: str
    majority: float
    curves: tuple[MaskingCurve, ...]
    runs: int = 1
