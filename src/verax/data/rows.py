"""Rows of somebody's table that know where they stand, and the checks that turn their cells into values."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import regex

from verax.registry import unknown
from verax.types import UserError

_SURROGATE = regex.compile(r"\p{Cs}")


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of a row by column name, and its place as people count: `file.jsonl:17`, `line 17`."""

    where: str
    position: str
    cells: Mapping[str, Any]

    def error(self, field: str, message: str) -> UserError:
        """A mistake in one field of this row."""
        return UserError(f"{self.where}: field {field!r}: {message}")

    def require(self, field: str) -> None:
        """Refuse a row that lacks a column, with the nearest one that it has."""
        if field not in self.cells:
            raise UserError(f"{self.where}: {unknown('column', field, self.cells)}")

    def text(self, field: str, value: Any, expected: str = "text") -> str:
        """The value as a text that can be encoded; what a JSON escape can smuggle in beside is refused."""
        if not isinstance(value, str):
            raise self.error(field, f"expected {expected}, got {describe(value)}")
        if lone := _SURROGATE.search(value):
            raise self.error(field, f"character {lone.start()} is half a surrogate pair (U+{ord(lone[0]):04X})")
        return value

    def name(self, field: str) -> str | None:
        """A cell that holds a name or a whole number, as text; None for null and empty."""
        value = self.cells.get(field)
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        if value is None or value == "":
            return None
        return self.text(field, value, "text or a whole number")

    def whole_number(self, field: str, value: Any, what: str) -> int:
        """The value as an integer; true and false are none."""
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
    """Where rows come from, before they are read.

    Args:
        name: what messages call it.
        rows: in order, read as they are asked for.
        provenance: what is written down of it.
        class_names: columns that are known to hold class names, with these in the order of their numbers.
    """

    name: str
    rows: Generator[Row, None, None]
    provenance: Mapping[str, str]
    class_names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def describe(value: Any) -> str:
    """What a wrong value is, in the words of JSON and on one line."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return f"the text {value if len(value) <= 40 else value[:37] + '...'!r}"
    if isinstance(value, (int, float)):
        return f"the number {value}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}"
