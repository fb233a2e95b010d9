"""How much of a run is read: which runs were opened, and how many of their rows became objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from verax.store.read import RunTables
from verax.store.tables import TableName


@dataclass
class Reading:
    """What was read so far."""

    opened: list[Path] = field(default_factory=list)
    decoded: Counter[str] = field(default_factory=Counter)

    def clear(self) -> None:
        """Count from here on."""
        self.opened.clear()
        self.decoded.clear()


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Reading:
    """Count the runs that are opened and the rows of each table that become objects."""
    made = Reading()
    init, rows = RunTables.__init__, RunTables.rows

    def counted_init(self: RunTables, folder: Path, *rest: Any) -> None:
        made.opened.append(folder)
        init(self, folder, *rest)

    def counted_rows(self: RunTables, name: TableName, indices: Iterable[int] | None = None) -> list[Any]:
        found = rows(self, name, indices)
        made.decoded[name] += len(found)
        return found

    monkeypatch.setattr(RunTables, "__init__", counted_init)
    monkeypatch.setattr(RunTables, "rows", counted_rows)
    return made
