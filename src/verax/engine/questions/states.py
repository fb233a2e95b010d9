"""Hidden states of every token after one layer."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from verax.engine.questions.base import WholeQuestion, check_finite
from verax.models.classifier import StatesPass
from verax.models.subject import Subject


@dataclass(frozen=True, eq=False, slots=True)
class TokenStates(WholeQuestion):
    """Hidden states of all tokens of x after one layer.

    Args:
        x: the input.
        layer: 0 for the embeddings, after their norm; n for the output of the n-th layer.

    The answer is an array, shape [tokens, dimensions].
    """

    x: Subject
    layer: int

    answered_by: ClassVar[str] = "token_states"

    def requests(self) -> Sequence[StatesPass]:
        """One forward pass."""
        return [StatesPass(self.row, self.layer)]

    def together(self, request: StatesPass) -> Hashable:
        """The layer."""
        return request.layer

    def check(self, answer: Any) -> Any:
        """Reject states that are not finite."""
        check_finite("states", answer)
        return answer
