"""Planned instances with the stored rows that computing the rest takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from verax.run.plan import PlannedInstance
from verax.store.store import Store
from verax.store.tables import Row

MOST_READ = 20_000
"""Stored rows that are held at a time."""
MOST_PLANNED = 200_000
"""Planned rows that are held at a time."""


def with_stored(
    instances: Iterable[PlannedInstance], wanted: Callable[[PlannedInstance], Iterable[str]], store: Store
) -> Iterator[tuple[PlannedInstance, dict[str, Row]]]:
    """Planned instances, each with the rows that are wanted for it and stored.

    Reading a store means reading through all of it, so rows of many instances are read at a time.
    """
    held: list[tuple[PlannedInstance, set[str]]] = []
    planned_rows = 0
    keys: set[str] = set()
    for planned in instances:
        own = {key for key in wanted(planned) if key in store.keys}
        if not own and not held:
            yield planned, {}
            continue
        held.append((planned, own))
        keys |= own
        planned_rows += sum(1 + len(explanation.scores) for explanation in planned.explanations)
        if len(keys) >= MOST_READ or planned_rows >= MOST_PLANNED:
            yield from _read(held, keys, store)
            held, keys, planned_rows = [], set(), 0
    yield from _read(held, keys, store)


def _read(
    held: list[tuple[PlannedInstance, set[str]]], keys: set[str], store: Store
) -> Iterator[tuple[PlannedInstance, dict[str, Row]]]:
    rows = dict(store.rows(keys)) if keys else {}
    for planned, own in held:
        yield planned, {key: rows[key] for key in own}
