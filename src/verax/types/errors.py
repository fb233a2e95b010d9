"""Exceptions that cross layers: invalid input, and a value that is not defined for one instance."""

from __future__ import annotations


class UserError(Exception):
    """A mistake of the user's: one clear line, exit code 2, no traceback."""


class Undefined(Exception):
    """A value that can't be had for one instance; it is recorded with its reason and counted.

    Args:
        reason: one word of the field, the same for every instance it befalls (`empty`, `no_gold`, `nonfinite`, ...).
        detail: what exactly was met, for the person who reads the run card.
    """

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail
