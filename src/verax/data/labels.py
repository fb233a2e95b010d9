"""Gold classes from the cells of a table, which may hold names or numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from verax.data.rows import Row, describe
from verax.registry import unknown
from verax.types import UserError


def check_names(names: Sequence[object]) -> tuple[str, ...]:
    """Names of classes that somebody gave, each one used once."""
    if isinstance(names, str):
        raise UserError(f"labels: expected a list of names, got the text {names!r}")
    checked: list[str] = []
    for name in names:
        if not isinstance(name, str):
            hint = " (YAML reads yes and no so; quote them)" if isinstance(name, bool) else ""
            raise UserError(f"labels: expected names, got {describe(name)}{hint}")
        if name in checked:
            raise UserError(f"labels: {name!r} is there twice")
        checked.append(name)
    return tuple(checked)


def read_label(row: Row, field: str, names: Sequence[str] | None) -> str | None:
    """The name of a row's class; None for null, empty, NaN and -1.

    A whole number is the number of a class when `names` are given, unless those are numbers themselves; without
    names it is a name.
    """
    value = row.cells.get(field)
    if isinstance(value, float) and value.is_integer():  # how a table with gaps keeps whole numbers
        value = int(value)
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise row.error(field, f"expected the name or number of a class, got {describe(value)}")
    name = row.text(field, str(value))
    if names is not None and name in names:
        return name
    number = int(name) if _is_number(name) else None
    if number == -1:
        return None
    if names is None:
        return name
    if number is None or any(_is_number(other) for other in names):
        raise UserError(f"{row.where}: field {field!r}: {unknown('label', name, names)}")
    if not 0 <= number < len(names):
        raise row.error(field, f"class {number} is beyond the {len(names)} labels, counted from 0")
    return names[number]


def sorted_names(seen: Iterable[str]) -> tuple[str, ...]:
    """Classes in the order of their numbers when nobody gave one: sorted, by value where all are whole numbers."""
    names = set(seen)
    return tuple(sorted(names, key=int) if all(_is_number(name) for name in names) else sorted(names))


def _is_number(name: str) -> bool:
    return name.isascii() and name.removeprefix("-").isdigit()
