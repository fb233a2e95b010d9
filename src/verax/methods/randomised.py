"""Randomised weights: a method applied to a model that has learned nothing, as a control."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from verax.engine.protocols import Method, requirements
from verax.engine.questions import QuestionGenerator
from verax.methods.gradients import Saliency
from verax.models.subject import Subject
from verax.types import Attribution, Kind, Passes, Target, UserError


@dataclass(frozen=True)
class Randomised:
    """The explanation that a method gives of the same architecture with newly initialised weights.

    What it has in common with the explanation of the trained model is not due to what the model has learned. The class
    that is explained is that predicted by the randomised model.

    Args:
        over: the method, which scores words.
    """

    over: Method = Saliency()  # noqa: RUF009 - frozen, so it can be shared
    seed: int = 0

    name: ClassVar[str] = "randomised"
    display: ClassVar[str] = "Randomised: {over}"
    summary: ClassVar[str] = "Another method applied to the model with randomised weights: a control."
    cost: ClassVar[str] = "as its method"
    kind: ClassVar[Kind] = "token"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Adebayo et al. 2018, Sanity checks for saliency maps"

    def __post_init__(self) -> None:
        if getattr(self.over, "kind", None) != "token" or isinstance(self.over, Randomised):
            raise UserError(f"randomised: over: needs a method that scores words, got {type(self.over).__name__}")

    @property
    def target(self) -> Target:
        """Target of the method."""
        target: Target = getattr(self.over, "target", Target())
        return target

    @property
    def requires(self) -> frozenset[str]:
        """What the method asks of a model."""
        return requirements(self.over)

    def check(self, run: Any) -> None:
        """Reject a model without weights."""
        if not hasattr(run.model, "randomised"):
            raise UserError(f"randomised: the model {run.model.name!r} has no weights that could be randomised")

    def passes(self, n: int) -> Passes:
        """Passes of the method."""
        return self.over.passes(n)

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """The questions of the method, to the other model."""
        attribution: Attribution = yield from self.over(x.posed_to(x.model.randomised(self.seed)))
        return attribution
