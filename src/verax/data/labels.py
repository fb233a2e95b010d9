"""Gold labels from the cells of a table, which may hold names or indices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from verax.data.rows import Record, describe
from verax.registry import unknown
from verax.types import UserError


def check_names(names: Sequence[object]) -> tuple[str, ...]:
    """Validate a list of unique class names."""
    if isinstance(names, str):
        raise UserError(f"labels: expected a list of names, got the text {names!r}")
    checked: list[str] = []
    for name in names:
        if not isinstance(name, str):
            hint = " (YAML reads yes and no as booleans; quote them)" if isinstance(name, bool) else ""
            raise UserError(f"labels: expected names, got {describe(name)}{hint}")
        if name in checked:
            raise UserError(f"labels: duplicate name {name!r}")
        checked.append(name)
    return tuple(checked)


def read_label(row: Record, field: str, names: Sequence[str] | None) -> str | None:
    """The label of a row; None for null, empty, NaN and -1.

    With `names`, an integer is a class index, unless the names are numbers themselves; without names it is a name.
    """
    value = row.cells.get(field)
    if isinstance(value, float) and value.is_integer():  # tables with missing values store integers as floats
        value = int(value)
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise row.error(field, f"expected the name or index of a class, got {describe(value)}")
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
        raise row.error(field, f"class index {number} is out of range for {len(names)} labels (from 0)")
    return names[number]


def sorted_names(seen: Iterable[str]) -> tuple[str, ...]:
    """Default order of classes: sorted, by value if all are integers."""
    names = set(seen)
    return tuple(sorted(names, key=int) if all(_is_number(name) for name in names) else sorted(names))


def _is_number(name: str) -> bool:
    return name.isascii() and name.removeprefix("-").isdigit()
