"""Exceptions that cross layers: invalid input, and a value that is not defined for one instance."""

from __future__ import annotations

import traceback

FAILED = "failed"
"""The reason of an unexpected error."""
PREDICTION = "prediction"
"""The method of a skip that concerns the instance as a whole: the model cannot read it."""
NOT_APPLICABLE = frozenset(
    {
        "needs_interactions",
        "needs_token_scores",
        "needs_two_parts",
        "no_gold",
        "no_label",
        "no_reference",
        "not_a_pair",
        "not_held_out",
        "nothing_maskable",
    }
)
"""Reasons for which an input or a kind of explanation has no value by design; every other reason is a skip."""


class UserError(Exception):
    """Invalid input: the command line prints the message in one line, without a traceback, and exits with code 2."""


class Undefined(Exception):
    """A value that is not defined for one instance; it is recorded with its reason and counted.

    Args:
        reason: a short name, the same for all such instances (`empty`, `no_gold`, `nonfinite`, ...).
        detail: the specific cause, for readers of the run card.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail

    def __reduce__(self) -> tuple[type[Undefined], tuple[str, str]]:
        return type(self), (self.reason, self.detail)


def require_at_least(component: str, least: int, **parameters: int | None) -> None:
    """Reject parameters of a method or metric below a minimum; None is accepted."""
    for name, value in parameters.items():
        if value is not None and value < least:
            raise UserError(f"{component}: {name}: got {value}, it must be at least {least}")


def first_line(error: BaseException) -> str:
    """First line of an error's message."""
    return str(error).strip().partition("\n")[0]


def located(error: BaseException | None) -> str:
    """An error with its type, and the file and line that raised it."""
    where = traceback.extract_tb(error.__traceback__)[-1] if error is not None and error.__traceback__ else None
    place = f" ({where.filename.rpartition('/')[2]}:{where.lineno})" if where else ""
    return f"{type(error).__name__}: {error}{place}"
