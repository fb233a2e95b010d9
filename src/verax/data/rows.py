"""Rows of user tables with their location, and validation of their cells."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import regex

from verax.registry import unknown
from verax.types import UserError

_SURROGATE = regex.compile(r"\p{Cs}")


@dataclass(frozen=True, slots=True)
class Record:
    """Cells of a row by column name, and its location for messages: `file.jsonl:17`, `line 17`."""

    where: str
    position: str
    cells: Mapping[str, Any]

    def with_cells(self, cells: Mapping[str, Any]) -> Record:
        """A copy with additional cells."""
        return Record(self.where, self.position, {**self.cells, **cells})

    def error(self, field: str, message: str) -> UserError:
        """The error for an invalid field of this row."""
        return UserError(f"{self.where}: field {field!r}: {message}")

    def require(self, field: str) -> None:
        """Reject a row that lacks a column; the message has the nearest column name."""
        if field not in self.cells:
            raise UserError(f"{self.where}: {unknown('column', field, self.cells)}")

    def text(self, field: str, value: Any, expected: str = "text") -> str:
        """The value as encodable text; lone surrogates from JSON escapes are rejected."""
        if not isinstance(value, str):
            raise self.error(field, f"expected {expected}, got {describe(value)}")
        if lone := _SURROGATE.search(value):
            raise self.error(field, f"character {lone.start()} is half a surrogate pair (U+{ord(lone[0]):04X})")
        return value

    def name(self, field: str) -> str | None:
        """A cell with a name or an integer, as text; None for null and empty."""
        value = self.cells.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is None or value == "":
            return None
        return self.text(field, value, "text or an integer")

    def whole_number(self, field: str, value: Any, what: str) -> int:
        """The value as an integer; booleans are rejected."""
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(field, f"expected {what}, got {describe(value)}")
        return value

    def items(self, field: str, value: Any, what: str) -> list[Any]:
        """The value as a list."""
        if not isinstance(value, list):
            raise self.error(field, f"expected {what}, got {describe(value)}")
        return value


@dataclass(frozen=True, slots=True)
class Source:
    """An opened table whose rows have not been read yet.

    Args:
        class_names: class names in index order, by column, for columns that declare them.
    """

    name: str
    rows: Generator[Record, None, None]
    provenance: Mapping[str, str]
    class_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def without_none(**entries: str | None) -> dict[str, str]:
    """The entries that have a value."""
    return {name: value for name, value in entries.items() if value is not None}


def describe(value: Any) -> str:
    """One-line description of an invalid value, in JSON terms."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"the text {value if len(value) <= 40 else value[:37] + '...'!r}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}"
