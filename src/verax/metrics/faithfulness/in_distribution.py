"""In-distribution test: are inputs masked by an explanation still in the distribution of the model?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from verax.engine.protocols import Explain, RandomDraws, RunFacts
from verax.engine.questions import HiddenStatistic, QuestionGenerator
from verax.metrics.faithfulness.recursive_masking import explained_again, masked_by
from verax.models.classifier import Capability
from verax.models.subject import Subject
from verax.stats.masf import InDistributionTest, Variant, simes
from verax.types import FloatArray, Highlight, Measured, MeasuredProperty, Passes, Removal, UserError, require_at_least


@dataclass(frozen=True)
class InDistribution:
    """p-values of MaSF for the inputs of recursive masking: below 0.05, measurements there are not valid.

    The value of one input is Simes's combination of its p-values over the steps. The p-value of the data set at a step
    is Simes's combination of those of all inputs. Of a random explanation the first random masking is tested.

    Args:
        variant: `conformal` keeps its level: an input masked at some ratio is ranked among validation inputs masked at
            random at the same ratio. `paper` is as published (see `InDistributionTest`).
        steps: as in recursive_masking.
        masking: how the model was trained: `none`, `masking` (every input is masked), `half` (every other one), or
            `auto`, as the model says (none if it does not). So are the validation inputs that the test is fitted on;
            for `none` it is not masked inputs that new ones are ranked among either.
        validation: largest number of validation inputs, sampled by the seed.
        alpha: the level at which it must be able to reject; a smaller validation set is rejected.
        seed: of the validation inputs, of their masks and of the halves of the conformal variant.
    """

    variant: Variant = "conformal"
    steps: int = 10
    masking: Literal["auto", "none", "masking", "half"] = "auto"
    validation: int = 4000
    alpha: float = 0.05
    seed: int = 0

    name: ClassVar[str] = "in_distribution"
    display: ClassVar[str] = "In-distribution p"
    summary: ClassVar[str] = (
        "Whether inputs masked by an explanation are still in-distribution for the model (MaSF); p-values."
    )
    cost: ClassVar[str] = "steps + 1 forward, and steps - 1 explanations"
    measures: ClassVar[MeasuredProperty] = "faithfulness"
    removal: ClassVar[Removal] = "mask"
    needs: ClassVar[frozenset[str]] = frozenset({"explain", "reference"})
    requires: ClassVar[frozenset[Capability]] = frozenset({"hidden"})
    ranked: ClassVar[bool] = False
    version: ClassVar[int] = 2
    reference: ClassVar[str] = "Matan et al. 2022 (MaSF); Madsen, Reddy and Chandar 2024, Algorithm 2"
    higher_is_better: ClassVar[bool] = True
    range: ClassVar[tuple[float | None, float | None]] = (0.0, 1.0)

    def __post_init__(self) -> None:
        require_at_least("in_distribution", 1, steps=self.steps)
        if not 0 < self.alpha < 1:
            raise UserError(f"in_distribution: alpha: got {self.alpha:g}, it must be between 0 and 1")

    def passes(self, n: int) -> Passes:
        """One for each step, and the full input; passes of the explanations are added."""
        return Passes(min(self.steps, n) + 1, 0)

    def explained_again(self, n: int) -> list[int]:
        """Number of words that are left each time the input is explained again."""
        return explained_again(n, self.steps)

    def check(self, run: RunFacts) -> None:
        """Reject a test at other masking ratios than those that are measured."""
        steps = {
            name: {metric.component.steps for metric in run.metrics if metric.name == name}
            for name in ("recursive_masking", "in_distribution")
        }
        measured, tested = steps.values()
        if measured and not measured & tested:
            raise UserError(
                f"in_distribution: steps: got {min(tested)}, and recursive_masking has {min(measured)}: give both the "
                "same"
            )

    def check_size(self, n: int) -> None:
        """Reject a validation set that cannot give a p-value as small as alpha."""
        inverse = int(1 / self.alpha + 1e-9)  # the least p, 1 / n or 1 / (n / 2 + 1), must be below alpha
        needed = 2 * inverse if self.variant == "conformal" else inverse + 1
        if n < needed:
            raise UserError(
                f"in_distribution: {n} validation instances can't give a p-value as small as alpha = {self.alpha:g}; "
                f"the {self.variant} variant needs at least {needed}"
            )

    def __call__(
        self, x: Subject, highlight: Highlight, *, explain: Explain | RandomDraws | None, reference: InDistributionTest
    ) -> QuestionGenerator[Measured]:
        """Simes over the steps, and the p-value of each step."""
        keep = yield from masked_by(x, highlight, explain, self.steps)
        statistics: FloatArray = yield HiddenStatistic(x, keep, self.removal, statistic=reference.statistics)
        (p,) = reference.p_values(statistics[None])
        return Measured(simes(p), tuple(p.tolist()))
