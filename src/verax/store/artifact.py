"""An artifact: a folder that an expensive job fills, for one recipe and by one process at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from verax.store.files import check_links, original_name, read_regular, remove_temporary, replace_file
from verax.store.keys import hash_bytes, hash_file
from verax.store.lock import Lock
from verax.types import UserError

FORMAT = 1
RECORD = "artifact.json"
LOCK = "lock"
_OWN = {RECORD, LOCK}
_NAMED = 3
"""Differences that a message names."""
_SHOWN = 80
"""Characters of a value that a message shows."""
_HASH = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FileDigest:
    """A file of a finished artifact: its size in bytes and its SHA-256."""

    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ArtifactRecord:
    """The record of an artifact in its folder.

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
    files: Mapping[str, FileDigest] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Artifact:
    """A folder and the recipe for what belongs into it.

    A job calls `is_finished()`, works inside `claim()`, where it may continue the work of an interrupted process, and
    calls `finish(...)` last. A folder with anything else in it is rejected before it is touched.

    Args:
        kind: what it is, such as `checkpoint` or `editor`.
        key: the hash of everything that determines the content.
        recipe: the same by name, in plain values; a message names the fields in which two recipes differ.
        read_older: reads the record of a folder of an earlier version, without `artifact.json`.
        bound_by: files or folders that bind an unfinished artifact to its recipe: while none of them exists, another
            recipe may take the folder over. Any file does by default.
    """

    folder: Path
    kind: str
    key: str
    recipe: Mapping[str, Any]
    read_older: Callable[[Path], ArtifactRecord | None] = lambda _: None
    bound_by: tuple[str, ...] | None = None

    def is_finished(self) -> bool:
        """Whether the artifact is complete; a UserError if the folder holds something else or a file was damaged."""
        record = self._checked()
        if record is None or not record.finished or record.key != self.key:
            return False
        if not all((self.folder / name).is_file() for name in record.files):
            return False  # a file was removed: it is made again
        for path in changed_files(self.folder, record):
            raise UserError(f"{path} is damaged: it was changed after it was written; remove it to make it again")
        return True

    @contextmanager
    def claim(self) -> Iterator[None]:
        """Lock the folder for this process; the lock of a killed process is free."""
        self._checked()  # before anything is written
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = Lock.take(self.folder / LOCK)
        except OSError as error:
            raise UserError(f"{self.folder} cannot be written to: {error.strerror}; choose another folder") from None
        try:
            record = self._checked()  # until now another process may have written to it
            check_links(self.folder)
            remove_temporary(self.folder)
            if record is None or record.key != self.key or not (self.folder / RECORD).exists():
                finished = record is not None and record.key == self.key and record.finished
                self._write(ArtifactRecord(self.kind, self.key, self.recipe, finished))
            yield
        finally:
            lock.release(remove=True)

    def finish(self, *names: str) -> None:
        """Record that the artifact is complete, and the content of these files; call it inside `claim()`."""
        paths = {name: self.folder / name for name in names}
        files = {name: FileDigest(path.stat().st_size, hash_file(path)) for name, path in paths.items()}
        self._write(ArtifactRecord(self.kind, self.key, self.recipe, True, files))

    def has_leftovers(self, *names: str) -> bool:
        """Whether a killed process left its lock, which `claim` removes, or any of these files."""
        return any((self.folder / name).exists() for name in (LOCK, *names))

    def _write(self, record: ArtifactRecord) -> None:
        write_json(self.folder / RECORD, {"format": FORMAT, **asdict(record)})

    def _checked(self) -> ArtifactRecord | None:
        """The record of the folder, None of a new one; a folder with other content is rejected."""
        if self.folder.exists() and not self.folder.is_dir():
            raise UserError(f"{self.folder} is a file; name a folder")
        record = read_record(self.folder) or self.read_older(self.folder)
        if record is None:
            stranger = next((path.name for path in self._files()), None)
            if stranger is not None:
                problem = f"{self.folder} contains other files ({stranger!r}) and no {self.kind}"
                raise UserError(f"{problem}; choose a new or empty folder")
        elif (record.kind, record.key) != (self.kind, self.key) and (record.finished or self._is_bound()):
            raise UserError(self._refusal(record))
        return record

    def _files(self) -> Iterator[Path]:
        """Files in the folder, without the artifact's record and lock and hidden files."""
        if self.folder.is_dir():
            for path in sorted(self.folder.iterdir()):
                if (original_name(path.name) or path.name) not in _OWN and not path.name.startswith("."):
                    yield path

    def _is_bound(self) -> bool:
        if self.bound_by is not None:
            return any((self.folder / name).exists() for name in self.bound_by)
        return any(path.is_file() or any(path.rglob("*")) for path in self._files())

    def _refusal(self, record: ArtifactRecord) -> str:
        advice = "choose another folder, or remove this one to start again"
        if record.kind != self.kind:
            return f"{self.folder} holds something else ({record.kind}, not {self.kind}); {advice}"
        held = f"{self.folder} holds {'' if record.finished else 'the beginning of '}another {record.kind}"
        found = differences(record.recipe, self.recipe)
        more = f", and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
        named = ", ".join(found[:_NAMED]) or "the base, the data or the version of verax is not the same"
        return f"{held}: {named}{more}; {advice}"


def changed_files(folder: Path, record: ArtifactRecord) -> Iterator[Path]:
    """Files of an artifact that are missing or differ from what was written."""
    for name, content in record.files.items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != content.size or hash_file(path) != content.sha256:
            yield path


def check_artifact(folder: Path) -> None:
    """Raise UserError if a file of a trained model is damaged; a folder that is no artifact is accepted."""
    record = read_record(folder)
    for path in () if record is None else changed_files(folder, record):
        advice = f"restore it, or remove {folder / RECORD} if the change is intended"
        raise UserError(f"{path} is missing or damaged: it is not what was written after the training; {advice}")


def read_record(folder: Path) -> ArtifactRecord | None:
    """The record in a folder; None if there is none."""
    path = folder / RECORD
    content = read_json(path)
    if content is None:
        return None
    version = content.pop("format", None)
    if isinstance(version, int) and version > FORMAT:
        raise UserError(f"{path} has format {version}, and this version of verax reads formats up to {FORMAT}: upgrade")
    try:
        files = {name: FileDigest(**fields) for name, fields in content.pop("files").items()}
        return ArtifactRecord(**content, files=files)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is damaged: {error}") from None


def differences(kept: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """Differences between two recipes as text; fields that only one of them has are left out."""
    before, now = _flat(kept), _flat(wanted)
    return [_difference(name, before[name], now[name]) for name in now if name in before and before[name] != now[name]]


def _difference(name: str, before: Any, now: Any) -> str:
    if any(isinstance(value, str) and _HASH.fullmatch(value) for value in (before, now)):
        return f"{name} is not the same"
    texts = [json.dumps(value, ensure_ascii=False) for value in (before, now)]
    return f"{name} was {texts[0]:.{_SHOWN}} and is now {texts[1]:.{_SHOWN}}"


def _flat(recipe: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Values by dotted name, as JSON reads them back: a tuple is a list."""
    flat: dict[str, Any] = {}
    for name, value in recipe.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = json.loads(json.dumps(value))
    return flat


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file, None if there is no such file; a UserError if it is damaged."""
    try:
        content = json.loads(read_regular(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged: {error}") from None
    if not isinstance(content, dict):
        raise UserError(f"{path} is damaged: expected an object")
    checksum = content.pop("checksum", None)  # files of earlier versions have none
    if checksum is not None and checksum != _checksum(content):
        raise UserError(f"{path} is damaged: its content does not match its checksum; remove it to make it again")
    return content


def write_json(path: Path, content: Mapping[str, Any], *, allow_nan: bool = False) -> None:
    """Write an object as a JSON file that carries the SHA-256 of its content, atomically."""
    text = json.dumps(content, indent=1, allow_nan=allow_nan)
    signed = {**content, "checksum": _checksum(json.loads(text))}
    replace_file(path, json.dumps(signed, indent=1, allow_nan=allow_nan).encode())


def _checksum(content: Mapping[str, Any]) -> str:
    """SHA-256 of an object as JSON reads it."""
    return hash_bytes(json.dumps(content, sort_keys=True).encode())
