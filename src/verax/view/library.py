"""The runs in the given folders, by names that contain no path."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from verax.results.run import Run
from verax.results.selection import InstanceIndex
from verax.store.shards import INDEX
from verax.types import UserError

DEPTH = 3
"""Levels of folders below a given one in which runs are looked for."""

Stamp = tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class OpenRun:
    """A run as of one state of its folder."""

    name: str
    folder: Path
    shown: str
    stamp: Stamp
    analysing: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def run(self) -> Run:
        """The run, opened at first use."""
        return Run(self.folder)

    @cached_property
    def index(self) -> InstanceIndex:
        """Its instances, for search."""
        return InstanceIndex(self.run)

    @cached_property
    def version(self) -> str:
        """A name for the state of the folder."""
        return hashlib.sha256(repr(self.stamp).encode()).hexdigest()[:12]


class Library:
    """Runs by name. A run is opened once, and again after its folder changed."""

    def __init__(self, folders: Sequence[Path]) -> None:
        for folder in folders:
            if not folder.is_dir():
                raise UserError(f"{folder} is not a folder")
        self._roots = [folder.resolve() for folder in folders]
        self._lock = threading.Lock()
        self._known: dict[str, OpenRun] = {}

    def runs(self) -> list[OpenRun]:
        """All runs that are in the folders now, the ones that changed last first."""
        with self._lock:
            found = {folder: root for root in self._roots for folder in _runs_in(root, root, DEPTH)}
            self._known = {_name(folder): self._current(folder, root) for folder, root in found.items()}
            return sorted(self._known.values(), key=lambda entry: -max((mtime for _, _, mtime in entry.stamp)))

    def get(self, name: str) -> OpenRun | None:
        """The run of a name, as it is now."""
        with self._lock:
            known = self._known.get(name)
            if known is not None and (known.folder / INDEX).is_file():
                self._known[name] = known if known.stamp == (stamp := _stamp(known.folder)) else _changed(known, stamp)
                return self._known[name]
        return next((entry for entry in self.runs() if entry.name == name), None)

    def _current(self, folder: Path, root: Path) -> OpenRun:
        name, stamp = _name(folder), _stamp(folder)
        known = self._known.get(name)
        if known is not None and known.stamp == stamp:
            return known
        shown = root.name if folder == root else f"{root.name}/{folder.relative_to(root)}"
        return OpenRun(name, folder, shown, stamp)


def _changed(entry: OpenRun, stamp: Stamp) -> OpenRun:
    return OpenRun(entry.name, entry.folder, entry.shown, stamp)


def _name(folder: Path) -> str:
    return hashlib.sha256(str(folder).encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _stamp(folder: Path) -> Stamp:
    """Names, sizes and times of the files of a run; each row that is written changes one."""
    files = [(path.name, path.stat()) for path in sorted(folder.iterdir()) if path.is_file()]
    return tuple((name, status.st_size, status.st_mtime_ns) for name, status in files)


def _runs_in(folder: Path, root: Path, depth: int) -> Iterator[Path]:
    """Folders of runs in a folder; links that lead out of the given folder are not followed."""
    if (folder / INDEX).is_file():
        yield folder
        return
    for child in sorted(folder.iterdir()) if depth else ():
        if child.is_dir() and not child.name.startswith(".") and (real := child.resolve()).is_relative_to(root):
            yield from _runs_in(real, root, depth - 1)
