"""The folder of a build: whose it is, and what was found."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeGuard

from verax.run.highlights.annotations import FOLDER as SAMPLES
from verax.run.highlights.writing import JSONL
from verax.store.files import replace_file
from verax.store.lock import Lock
from verax.types import UserError

RECORD = "build.json"
_LOCK = "lock"


@contextmanager
def claimed(out: Path, identity: Mapping[str, Any]) -> Iterator[None]:
    """Hold the folder for one build; one that holds another build, or anything else, is refused.

    A build that has written nothing yet may become another one: what its runs hold is used as far as it fits.

    Args:
        identity: everything that decides what the build gives, by name, in plain values.
    """
    try:
        lock = _take(out)
    except OSError as error:
        raise UserError(f"--out: {out} can't be written to: {error.strerror}") from None
    try:
        if (out / JSONL).exists() or (out / SAMPLES).exists():
            _check_same(out, identity)
        else:
            write_record(out, {"identity": identity})
        yield
    finally:
        lock.release()


def _take(out: Path) -> Lock:
    if out.exists() and not out.is_dir():
        raise UserError(f"--out: {out} is a file; name a folder")
    out.mkdir(parents=True, exist_ok=True)
    if not (out / RECORD).exists() and any(path.name != _LOCK for path in out.iterdir()):
        raise UserError(f"--out: {out} is not empty, and holds no build of highlights; choose another")
    return Lock.take(out / _LOCK)


def _check_same(out: Path, identity: Mapping[str, Any]) -> None:
    kept = read_record(out).get("identity", {})
    asked = json.loads(json.dumps(identity))
    other = [name for name in asked if kept.get(name) != asked[name]]
    if other:
        raise UserError(f"--out: {out} holds another build of highlights ({other[0]} is not the same); choose another")


def write_record(out: Path, record: Mapping[str, Any]) -> None:
    """Keep what is known of a build."""
    replace_file(out / RECORD, json.dumps(record, indent=1, allow_nan=False).encode())


def read_record(out: Path) -> dict[str, Any]:
    """What is known of a build."""
    try:
        record = json.loads((out / RECORD).read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        raise UserError(f"{out} holds no build of highlights: there is no {RECORD} in it") from None
    except ValueError as error:
        raise UserError(f"{out / RECORD} is damaged: {error}") from None
    if not isinstance(record, dict):
        raise UserError(f"{out / RECORD} is damaged: expected an object")
    if not isinstance(record.get("identity", {}), dict):
        raise UserError(f"{out / RECORD} is damaged: identity: expected an object")
    return record


def read_sample(out: Path) -> tuple[dict[str, list[str]], list[str]]:
    """The ids, by language, of the rows that people are to check, and the names of the parts of an input."""
    record = read_record(out)
    if "sample" not in record:
        raise UserError(f"{out}: the build is not finished; the command that began it goes on")
    sample, parts = record["sample"], record.get("parts")
    if not isinstance(sample, dict) or not all(map(_is_strings, sample.values())):
        raise UserError(f"{out / RECORD} is damaged: sample: expected a list of ids for each language")
    if not _is_strings(parts):
        raise UserError(f"{out / RECORD} is damaged: parts: expected a list of names")
    return sample, parts


def _is_strings(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)
