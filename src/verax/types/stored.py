"""How a field is stored, where its type does not determine it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StoredAs:
    """Storage of a field, given as `Annotated[type, StoredAs(...)]`; the columns are derived in `verax.store.codec`.

    Args:
        name: column name, if it differs from the field's name.
        json: store the value as one string of JSON.
        null_if_empty: with `json`, store an empty value as null.
        flat: store the members of a dataclass as columns of their own, each prefixed with the field's name.
        members: names of the members of a tuple of fixed length.
        upgrade: turns a value that an earlier version stored into the current form.
    """

    name: str = ""
    json: bool = False
    null_if_empty: bool = False
    flat: bool = False
    members: tuple[str, ...] = ()
    upgrade: Callable[[Any], Any] | None = None
