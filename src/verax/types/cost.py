"""What a computation costs: passes that were requested and performed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Passes(NamedTuple):
    """How many passes something asks for at most, before anything is saved."""

    forward: int
    backward: int


@dataclass(frozen=True, slots=True)
class Cost:
    """Passes of one instance: how many were asked for and how many the model really computed; and seconds."""

    forward_asked: int = 0
    forward: int = 0
    backward_asked: int = 0
    backward: int = 0
    seconds: float = 0.0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.forward_asked + other.forward_asked,
            self.forward + other.forward,
            self.backward_asked + other.backward_asked,
            self.backward + other.backward,
            self.seconds + other.seconds,
        )
