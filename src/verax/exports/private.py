"""What must not leave this machine: the places of its folders, and keys."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from verax.types import UserError

_PIECE = r"""[^\s/\\"'`(),;:=|{}\[\]<>]+"""
_PATH = re.compile(rf"(?:file://|(?<![\w.:/\\~-])(?:~|[A-Za-z]:)?)[/\\]+(?:{_PIECE}[/\\]+)+({_PIECE})")
_KEY = re.compile(r"(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_SHORTEST = 8
"""Shorter values of variables are no keys, and would be found everywhere."""


def without_folders(text: str) -> str:
    """A text with the last part of each absolute path only."""
    return _PATH.sub(r"\1", text)


def find_secrets(files: Sequence[Path]) -> None:
    """Reject files that contain the value of an environment variable for a key, by the name of the variable."""
    keys = {name: value for name, value in os.environ.items() if _KEY.search(name) and len(value) >= _SHORTEST}
    for file in files:
        for name, value in keys.items():
            if any(_contains(strings, value) for strings in _strings(file)):
                raise UserError(f"{file.name} contains the value of {name}; remove it from the data, or unset {name}")


def _strings(file: Path) -> Iterator[pa.Array]:
    """All strings of a file, in columns."""
    if file.suffix != ".parquet":
        yield pa.array([file.read_text("utf-8")])
        return
    with pq.ParquetFile(file) as opened:
        for batch in opened.iter_batches():
            for column in batch.columns:
                yield from _flat(column)


def _flat(column: pa.Array) -> Iterator[pa.Array]:
    """The strings in a column of strings, lists and structs."""
    if pa.types.is_list(column.type):
        yield from _flat(column.flatten())
    elif pa.types.is_struct(column.type):
        for inner in column.flatten():
            yield from _flat(inner)
    elif pa.types.is_string(column.type):
        yield column


def _contains(strings: pa.Array, text: str) -> bool:
    return bool(pc.any(pc.match_substring(strings, text)).as_py())
