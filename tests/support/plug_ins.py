"""Distributions with entry points, as an installer leaves them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from verax.registry import rescan

InstallPlugIn = Callable[[str, Mapping[str, Mapping[str, str]]], None]


@pytest.fixture
def install_plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InstallPlugIn]:
    """Install a distribution whose modules are in the temporary folder: its name, and its entry points by group."""

    def install(name: str, points: Mapping[str, Mapping[str, str]]) -> None:
        info = tmp_path / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        lines = [line for group, named in points.items() for line in (f"[{group}]", *map(" = ".join, named.items()))]
        (info / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(tmp_path)
        rescan()

    yield install
    monkeypatch.undo()
    rescan()
