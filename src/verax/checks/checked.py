"""Results of checks."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One property: whether it holds, and a detail, which says what is wrong if it does not."""

    name: str
    ok: bool
    detail: str = ""

    @classmethod
    def of(cls, name: str, problem: str | None) -> Check:
        """A property that holds unless there is a problem."""
        return cls(name, not problem, problem or "")

    def __str__(self) -> str:
        state = f"{'ok  ' if self.ok else 'FAIL'}  {self.name}"
        return f"{state}: {self.detail}" if self.detail else state


@dataclass(frozen=True)
class Checked:
    """The checks of one method or metric (`subject`: its name, with the parameters that differ from their defaults)."""

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
        """Raise an AssertionError that lists all failures; for use in a test."""
        if self.failures:
            raise AssertionError("\n".join([self._title(), *(f"  {check}" for check in self.failures)]))

    def __str__(self) -> str:
        return "\n".join([self._title(), *(f"  {check}" for check in self.checks)])

    def _title(self) -> str:
        held = len(self.checks) - len(self.failures)
        where = f"{self.model}, {self.inputs} input{'s' * (self.inputs != 1)}"
        return f"{self.subject} on {where}: {held} of {len(self.checks)} properties hold"
