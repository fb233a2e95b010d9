"""Arrays, estimates and costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.floating]
BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.integer]
FEWEST = 6
"""Inputs below which an estimate has no interval: the bootstrap of so few says nothing about the inputs not seen."""


class _Numbers(NamedTuple):
    value: float
    low: float | None
    high: float | None


class Estimate(_Numbers):
    """A value with the ends of its 95 % interval, None without an interval.

    It unpacks and compares as these three numbers; `n`, the number of inputs that it is made from, is only known of
    some.
    """

    n: int | None

    def __new__(
        cls, value: float, low: float | None = None, high: float | None = None, n: int | None = None
    ) -> Estimate:
        """See the class."""
        estimate = super().__new__(cls, value, low, high)
        estimate.n = n
        return estimate

    @classmethod
    def of(cls, value: float, interval: tuple[float, float] | None, n: int | None = None) -> Estimate:
        """An estimate with or without an interval."""
        low, high = interval or (None, None)
        return cls(value, low, high, n)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval, or None."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def negated(self) -> Estimate:
        """The estimate of the opposite number."""
        ends = None if self.interval is None else (-self.interval[1], -self.interval[0])
        return Estimate.of(-self.value + 0.0, ends, self.n)


class Passes(NamedTuple):
    """Largest number of passes that a method or metric requests, before any is saved."""

    forward: int
    backward: int


class NoPasses:
    """Base of methods and metrics that request no pass; those of text generators are not counted in advance."""

    def passes(self, n: int) -> Passes:
        """None, however long the input is."""
        return Passes(0, 0)


@dataclass(frozen=True, slots=True)
class Cost:
    """Passes that were requested for one instance (`_asked`), passes that the model computed, and seconds."""

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
