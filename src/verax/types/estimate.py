"""A number that people read, with its uncertainty."""

from __future__ import annotations

from typing import NamedTuple


class Estimate(NamedTuple):
    """A value with the ends of its 95 % interval, which are None where there is no interval.

    The number of observations stands in a column of its own: estimates of one row share it.
    """

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends of the interval, or None."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    def may_be(self, value: float) -> bool:
        """Whether the interval contains a value; True without an interval, which excludes nothing."""
        return self.low is None or self.high is None or self.low <= value <= self.high

    def negated(self) -> Estimate:
        """The estimate of the opposite number."""
        ends = (None, None) if self.interval is None else (-self.interval[1], -self.interval[0])
        return Estimate(-self.value + 0.0, *ends)
