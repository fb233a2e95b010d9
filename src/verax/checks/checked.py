"""What a check has found, in plain words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One property: whether it holds, and what was seen; where it does not hold, `detail` says what is wrong."""

    name: str
    ok: bool
    detail: str = ""

    def __str__(self) -> str:
        said = f"{'ok  ' if self.ok else 'FAIL'}  {self.name}"
        return f"{said}: {self.detail}" if self.detail else said


@dataclass(frozen=True)
class Checked:
    """What was found of one method or metric.

    Args:
        subject: its name, with the parameters that are not as they are by default.
        model: name of the model that it was tried on.
        inputs: how many inputs it was tried on.
        checks: every property, in the order in which they were looked at.
    """

    subject: str
    model: str
    inputs: int
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether every property holds."""
        return not self.failures

    @property
    def failures(self) -> tuple[Check, ...]:
        """The properties that do not hold."""
        return tuple(check for check in self.checks if not check.ok)

    def raise_if_failed(self) -> None:
        """Raise an AssertionError that lists everything that does not hold; for use in a test."""
        if self.failures:
            raise AssertionError("\n".join([self._title(), *(f"  {check}" for check in self.failures)]))

    def __str__(self) -> str:
        return "\n".join([self._title(), *(f"  {check}" for check in self.checks)])

    def _title(self) -> str:
        held = len(self.checks) - len(self.failures)
        where = f"{self.model}, {self.inputs} input{'s' * (self.inputs != 1)}"
        return f"{self.subject} on {where}: {held} of {len(self.checks)} properties hold"
