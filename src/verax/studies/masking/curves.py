"""Results of recursive masking: curves of each measure on each data set, for models of one kind of training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from verax.stats.intervals import mean_interval
from verax.stats.joint import AgainstRandom
from verax.types import Estimate, Performance

ALPHA = 0.05
CONVERGED = 0.5
"""A seed converged if it gains at least this share of the best seed's gain over the most frequent class."""
_TRAININGS = {
    ("half", "both"): "masked fine-tuning",
    ("masking", "masking"): "only masking",
    ("none", "none"): "plain fine-tuning",
}
"""Names of Section 5.1 of the paper (its Table 10), by what was masked and what the epoch was selected on."""


def paper_name(display: str) -> str:
    """The display name of a measure, as the paper writes it; the product of gradient and input differs."""
    return display.replace("InputXGrad", "x ⊙ grad")


class Training(NamedTuple):
    """How a model was trained: what was masked, and what its best epoch was selected on; None if not recorded."""

    masking: str | None = None
    selected_on: str | None = None

    def __str__(self) -> str:
        if self == NOT_RECORDED:
            return "training not recorded"
        name = _TRAININGS.get((str(self.masking), str(self.selected_on)))
        return name or f"masked in training: {self.masking}, epoch selected on: {self.selected_on}"


NOT_RECORDED = Training()
NOT_COMPARED = AgainstRandom()


class SeedValues(NamedTuple):
    """One measure in one run: the seed of its model, performance unmasked and fully masked, and the areas."""

    seed: str
    unmasked: float
    fully_masked: float
    acu: float
    racu: float | None


@dataclass(frozen=True, slots=True)
class MaskingCurve:
    """One measure under recursive masking: the model's performance while words are masked, and the area it loses.

    Args:
        curve: performance at each masking ratio, from 0 to 1 in equal steps.
        acu: area between the random curve and this one: positive where masking by this measure hurts more.
        racu: acu as a share of the area between the random curve and its end; None with `reason` unless that area is
            positive.
        signed: whether the measure distinguishes support from opposition; its racu may then exceed 1.
        n: instances that both this measure and the random one have a curve for; of several runs, the fewest.
        skipped: instances that they do not; of several runs, the most.
        over: what the intervals are over: instances of one run, or seeds, one run each.
        p_values: in-distribution p-value of the data set at each masking ratio; None if it was not tested.
        roar: racu by Recursive ROAR on the same data; None if it was not measured.
        against: what the leaderboard of the one run says about the measure and the random one.
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
    seeds: tuple[SeedValues, ...] = ()
    roar: Estimate | None = None
    against: AgainstRandom = NOT_COMPARED

    @property
    def ratios(self) -> tuple[float, ...]:
        """Share of words masked at each point of the curve."""
        return tuple(i / (len(self.curve) - 1) for i in range(len(self.curve)))

    def outside(self, alpha: float = ALPHA) -> tuple[int, ...]:
        """The points at which the masked inputs are not in-distribution."""
        return tuple(place for place, p in enumerate(self.p_values or ()) if p < alpha)


@dataclass(frozen=True, slots=True)
class MaskingCurves:
    """Every measure of a run, or of several runs that differ in their seed.

    Args:
        name: of the data set, or of the metric where a run has several.
        baseline: label of the random measure, whose curve is among `curves`.
        majority_of: the data whose most frequent class it is: that of the training, or that which is measured.
        without: measures that have no curve, or not in every run, and why.
    """

    name: str
    baseline: str
    majority: float
    curves: tuple[MaskingCurve, ...]
    majority_of: Literal["training", "measured"] = "measured"
    training: Training = NOT_RECORDED
    data: str = ""
    runs: int = 1
    without: Mapping[str, str] = field(default_factory=dict)
    display: Mapping[str, str] = field(default_factory=dict)

    def shown(self, method: str) -> str:
        """The display name of a measure."""
        return self.display.get(method, method)

    @property
    def random(self) -> MaskingCurve:
        """The curve of the random measure."""
        return next(curve for curve in self.curves if curve.method == self.baseline)

    @property
    def unmasked(self) -> Estimate:
        """Performance with nothing masked."""
        return self.random.curve[0]

    @property
    def fully_masked(self) -> Estimate:
        """Performance with everything masked."""
        return self.random.curve[-1]

    @property
    def threshold(self) -> float:
        """The unmasked performance from which on a seed counts as converged."""
        best = max((one.unmasked for one in self.random.seeds), default=self.unmasked.value)
        return self.majority + CONVERGED * (best - self.majority)

    @property
    def converged(self) -> frozenset[str]:
        """Seeds that converged: those at the threshold or above, and above the most frequent class."""
        least = self.threshold
        return frozenset(
            one.seed for one in self.random.seeds if one.unmasked >= least and one.unmasked > self.majority
        )

    def ranked(self) -> list[MaskingCurve]:
        """The measures by their area, best first, the random one last."""
        return sorted(self.curves, key=lambda curve: (curve.method == self.baseline, -curve.acu.value))

    def invalid(self, curve: MaskingCurve) -> tuple[int, ...]:
        """The points at which a measure or the random one is not in-distribution: its area is not valid there."""
        return tuple(sorted({*curve.outside(), *self.random.outside()}))

    def tested(self, curve: MaskingCurve) -> bool:
        """Whether both curves that an area lies between were tested."""
        return curve.p_values is not None and self.random.p_values is not None


@dataclass(frozen=True, slots=True)
class MaskingResult:
    """The curves of each data set and training, or of each metric of one run.

    Args:
        missing: metrics without a random curve.
        by_metric: whether runs have several metrics: groups are then not data sets to compare or to average over.
    """

    groups: tuple[MaskingCurves, ...]
    missing: tuple[str, ...] = ()
    by_metric: bool = False

    @property
    def compared(self) -> bool:
        """Whether there are several data sets or trainings."""
        return len(self.groups) > 1 and not self.by_metric

    @property
    def trainings(self) -> tuple[Training, ...]:
        """The kinds of training, in order."""
        return tuple(dict.fromkeys(group.training for group in self.groups))

    def of_training(self, training: Training) -> list[MaskingCurves]:
        """The data sets of models of one kind of training."""
        return [group for group in self.groups if group.training == training]

    def title(self, group: MaskingCurves) -> str:
        """The name of a group, with its training where there are several."""
        return group.name if len(self.trainings) == 1 else f"{group.name}, {group.training}"


class AllData(NamedTuple):
    """Means over data sets, as one observation a seed.

    Args:
        seeds: seeds that converged on every data set, over which the means and their intervals are.
        excluded: what was left out: data set, seed and its unmasked performance, with the threshold there.
    """

    seeds: tuple[str, ...]
    excluded: tuple[tuple[str, str, float, float], ...]
    majority: float
    unmasked: Estimate | None
    fully_masked: Estimate | None
    areas: Mapping[str, tuple[Estimate, Estimate | None]]


def over_data(groups: list[MaskingCurves]) -> AllData:
    """Arithmetic means over the data sets of one training, by seed; measures are matched by their display names.

    A seed that did not converge on some data set is left out of all, or its mean would be over other data.
    """
    each = [{one.seed: one for one in group.random.seeds} for group in groups]
    shared = [seed for seed in each[0] if all(seed in others for others in each)]
    excluded = tuple(
        (group.name, one.seed, one.unmasked, group.threshold)
        for group in groups
        for one in group.random.seeds
        if one.seed not in group.converged
    )
    seeds = tuple(seed for seed in shared if all(seed in group.converged for group in groups))
    measures = [{group.shown(curve.method): curve for curve in group.curves} for group in groups]
    areas = {}
    for name in measures[0]:
        if seeds and all(name in others for others in measures):
            rows = [{one.seed: one for one in others[name].seeds} for others in measures]
            acu = [[row[seed].acu for row in rows] for seed in seeds]
            racu = [[row[seed].racu for row in rows] for seed in seeds]
            areas[name] = _mean_of(acu), None if any(None in one for one in racu) else _mean_of(racu)  # type: ignore[arg-type]
    unmasked, masked = (
        _mean_of([[getattr(by_seed[seed], name) for by_seed in each] for seed in seeds]) if seeds else None
        for name in ("unmasked", "fully_masked")
    )
    majority = sum(group.majority for group in groups) / len(groups)
    return AllData(seeds, excluded, majority, unmasked, masked, areas)


def _mean_of(by_seed: list[list[float]]) -> Estimate:
    """The mean over data sets of each seed, then over seeds, with the interval over seeds."""
    return mean_interval([sum(values) / len(values) for values in by_seed])
