"""Reading some rows of a store: those that are wanted and no other, whatever their keys look like."""

from __future__ import annotations

from pathlib import Path

import pytest

from verax.store.store import Store
from verax.types import Skip

KEYS = ("plain", 'quo"ted', "back\\slash", "é", "\0", '","row":{"key":"plain"', "")


@pytest.mark.parametrize("sealed", [False, True])
def test_those_that_are_wanted(tmp_path: Path, sealed: bool) -> None:
    rows = {key: Skip(f"instance {number}", "m", key or "none") for number, key in enumerate(KEYS)}
    with Store.open(tmp_path) as store:
        for key, row in rows.items():
            store.append(key, row)
        if sealed:
            store.seal()
        assert dict(store.rows()) == rows
        for key, row in rows.items():
            assert dict(store.rows({key})) == {key: row}
        assert dict(store.rows(set())) == {}
