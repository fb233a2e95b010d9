"""An artifact: a folder that an expensive job fills, for one recipe and by one process at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from verax.store.files import TEMPORARY, replace_file
from verax.store.keys import hash_file
from verax.store.lock import Lock
from verax.types import UserError

FORMAT = 1
RECORD = "artifact.json"
LOCK = "lock"
_OWN = {RECORD, RECORD + TEMPORARY, LOCK}
_HASHED_UP_TO = 1_000_000
"""Larger files are compared by their size alone: hashing gigabytes of weights takes too long for a check."""
_NAMED = 3
"""Differences that a message names."""
_SHOWN = 80
"""Characters of a value that a message shows."""
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Content:
    """A file of a finished artifact: its size in bytes and its SHA-256."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Record:
    """What a folder says about the artifact in it.

    Args:
        kind: the kind of artifact, such as `checkpoint`.
        key: the hash of everything that determines the content.
        recipe: the same by name: what a person can compare with another recipe.
        finished: whether the job is done.
        files: the content of a finished artifact, by path inside the folder.
    """

    kind: str
    key: str
    recipe: Mapping[str, Any]
    finished: bool = False
    files: Mapping[str, Content] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Artifact:
    """A folder and the recipe for what belongs into it.

    A job asks `is_finished()`, then does its work inside `claim()`, where it may continue what an interrupted process
    left, and calls `finish(...)` last. A folder with anything else in it is rejected before it is touched.

    Args:
        folder: where the artifact is, or is going to be.
        kind: what it is, for messages and to tell artifacts apart: `checkpoint`, `editor`, ...
        key: the hash of everything that determines the content.
        recipe: the same by name, in plain values; a message names the fields in which two recipes differ.
        read_older: reads the record of a folder that was written before there was `artifact.json`.
        bound_by: files or folders that bind an unfinished artifact to its recipe: while none of them exists, another
            recipe may take the folder over. Any file does by default.
    """

    folder: Path
    kind: str
    key: str
    recipe: Mapping[str, Any]
    read_older: Callable[[Path], Record | None] = lambda _: None
    bound_by: tuple[str, ...] | None = None

    def is_finished(self) -> bool:
        """Whether the artifact is complete; a UserError if the folder holds something else or a file was damaged."""
        record = self._checked()
        if record is None or not record.finished or record.key != self.key:
            return False
        if not all((self.folder / name).is_file() for name in record.files):
            return False  # somebody removed a file: it is made again
        for name, content in record.files.items():
            path = self.folder / name
            size = path.stat().st_size
            if size != content.size or (size <= _HASHED_UP_TO and hash_file(path) != content.sha256):
                raise UserError(f"{path} is damaged: it was changed after it was written; remove it to make it again")
        return True

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Hold the folder: no other process works in it meanwhile. The lock of a killed process is free."""
        self._checked()  # before anything is written
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = Lock.take(self.folder / LOCK)
        except OSError as error:
            raise UserError(f"{self.folder} can't be written to: {error.strerror}; choose another folder") from None
        try:
            record = self._checked()  # until now another process may have written to it
            if record is None or record.key != self.key or not (self.folder / RECORD).exists():
                finished = record is not None and record.key == self.key and record.finished
                self._write(Record(self.kind, self.key, self.recipe, finished))
            yield
        finally:
            lock.release(remove=True)

    def finish(self, *names: str) -> None:
        """Record that the artifact is complete, and the content of these files; call it inside `claim()`."""
        paths = {name: self.folder / name for name in names}
        files = {name: Content(path.stat().st_size, hash_file(path)) for name, path in paths.items()}
        self._write(Record(self.kind, self.key, self.recipe, True, files))

    def has_leftovers(self, *names: str) -> bool:
        """Whether a process killed at its very end left its lock, which `claim` removes, or any of these."""
        return any((self.folder / name).exists() for name in (LOCK, *names))

    def _write(self, record: Record) -> None:
        write_json(self.folder / RECORD, {"format": FORMAT, **asdict(record)})

    def _checked(self) -> Record | None:
        """The record of the folder, None of a new one; refuse what belongs to something else."""
        if self.folder.exists() and not self.folder.is_dir():
            raise UserError(f"{self.folder} is a file; name a folder")
        record = read_record(self.folder) or self.read_older(self.folder)
        if record is None:
            stranger = next((path.name for path in self._files()), None)
            if stranger is not None:
                raise UserError(
                    f"{self.folder} is not empty and is no {self.kind} that verax recorded (it contains {stranger!r}); "
                    "choose a new or empty folder"
                )
        elif (record.kind, record.key) != (self.kind, self.key) and (record.finished or self._is_bound()):
            raise UserError(self._refusal(record))
        return record

    def _files(self) -> Iterator[Path]:
        """What is in the folder apart from the artifact's own bookkeeping and hidden files."""
        if self.folder.is_dir():
            yield from (p for p in sorted(self.folder.iterdir()) if p.name not in _OWN and not p.name.startswith("."))

    def _is_bound(self) -> bool:
        if self.bound_by is not None:
            return any((self.folder / name).exists() for name in self.bound_by)
        return any(path.is_file() or any(path.rglob("*")) for path in self._files())

    def _refusal(self, record: Record) -> str:
        advice = "choose another folder, or remove this one to start again"
        if record.kind != self.kind:
            return f"{self.folder} holds something else ({record.kind}, not {self.kind}); {advice}"
        held = f"{self.folder} holds {'' if record.finished else 'the beginning of '}another {record.kind}"
        found = differences(record.recipe, self.recipe)
        more = f", and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        named = ", ".join(found[:_NAMED]) or "the base, the data or the version of verax is not the same"
        return f"{held}: {named}{more}; {advice}"


def read_record(folder: Path) -> Record | None:
    """The record in a folder; None if there is none."""
    path = folder / RECORD
    content = read_json(path)
    if content is None:
        return None
    version = content.pop("format", None)
    if isinstance(version, int) and version > FORMAT:
        raise UserError(f"{path} has format {version}, and this verax reads formats up to {FORMAT}: use a newer verax")
    try:
        files = {name: Content(**one) for name, one in content.pop("files").items()}
        return Record(**content, files=files)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def differences(kept: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """In which fields two recipes differ, in words; fields that one of them does not have are left out."""
    before, now = _flat(kept), _flat(wanted)
    return [_difference(name, before[name], now[name]) for name in now if name in before and before[name] != now[name]]


def _difference(name: str, before: Any, now: Any) -> str:
    if any(isinstance(value, str) and _HASH.fullmatch(value) for value in (before, now)):
        return f"{name} is not the same"
    texts = [json.dumps(value, ensure_ascii=False) for value in (before, now)]
    return f"{name} was {texts[0]:.{_SHOWN}} and is now {texts[1]:.{_SHOWN}}"


def _flat(recipe: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values by dotted name, as JSON reads them back: a tuple is a list."""
    found: dict[str, Any] = {}
    for name, value in recipe.items():
        if isinstance(value, Mapping):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[prefix + name] = json.loads(json.dumps(value))
    return found


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file, None if there is no such file; a UserError if it is damaged."""
    try:
        content = json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise UserError(f"{path} is damaged: {error}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} is damaged: expected an object")
    return content


def write_json(path: Path, content: Mapping[str, Any], *, allow_nan: bool = False) -> None:
    """Write an object as a JSON file that is there as a whole or not at all."""
    replace_file(path, json.dumps(content, indent=1, allow_nan=allow_nan).encode())
