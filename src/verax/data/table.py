"""Reading JSONL, CSV, TSV and Parquet row by row; errors name the line."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

from verax.data.rows import Record, Source, describe
from verax.types import UserError

_BOM = b"\xef\xbb\xbf"


def open_file(path: Path) -> Source:
    """Open a file by its suffix."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UserError(f"{path}: unsupported file type {path.suffix!r}; valid: {', '.join(SUFFIXES)}")
    return Source(str(path), reader(path), {"path": str(path), "sha256": file_hash(path)})


def check_regular(path: Path) -> None:
    """Reject pipes and devices: reading one might never end."""
    if path.exists() and not path.is_file():
        raise UserError(f"{path} cannot be read: it is {'a folder' if path.is_dir() else 'a pipe or device'}")


def file_hash(path: Path) -> str:
    """The SHA-256 of a file; raises a UserError if it cannot be read."""
    check_regular(path)
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def read_jsonl(path: Path) -> Generator[Record, None, None]:
    """Read one object per line; blank lines are skipped but counted."""
    for number, line in lines(path):
        if not line.strip():
            continue
        cells = parse_json(line.strip(), f"{path}:{number}")
        if not isinstance(cells, dict):
            raise UserError(f"{path}:{number}: expected an object, got {describe(cells)}")
        yield Record(f"{path}:{number}", f"line {number}", cells)


def parse_json(text: str, where: str) -> Any:
    """Parse JSON; invalid text raises a UserError that begins with `where`."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{where}: not JSON: {error.msg} at column {error.colno}") from None
    except ValueError:  # Python refuses to parse integers of thousands of digits
        raise UserError(f"{where}: unreadable JSON: a number is too long") from None
    except RecursionError:
        raise UserError(f"{where}: unreadable JSON: nested too deeply") from None


def read_csv(path: Path) -> Generator[Record, None, None]:
    """Read comma-separated values with a header; a quoted field may span several lines."""
    content = (line for _, line in lines(path))
    return _delimited(path, _records(path, csv.reader(content, strict=True), 0))


def read_tsv(path: Path) -> Generator[Record, None, None]:
    """Read tab-separated values with a header, quoted as in CSV, one row per line.

    A lone quotation mark at the start of a field, common in unquoted data, is thus an error on its line and does not
    swallow the following rows.
    """
    return _delimited(path, _tsv_records(path))


def read_parquet(path: Path) -> Generator[Record, None, None]:
    """Read the rows of a Parquet file in batches, counted from 1."""
    # Imported here: the import is slow and rarely needed.
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1024):
                for cells in batch.to_pylist():
                    number += 1
                    yield Record(f"{path}: row {number}", f"row {number}", cells)
    except (pa.ArrowException, OSError) as error:
        message = " ".join(str(error).split())
        raise UserError(f"{path}: unreadable Parquet file after row {number}: {message}") from None


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Numbered lines of a UTF-8 file, with line ends; a byte-order mark is dropped."""
    check_regular(path)
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            content = line.removeprefix(_BOM) if number == 1 else line
            try:
                yield number, content.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = content[error.start]
                raise UserError(f"{path}:{number}: not UTF-8: byte 0x{byte:02x} at column {error.start + 1}") from None


def _records(path: Path, reader: Any, before: int) -> Iterator[tuple[int, list[str]]]:
    """The records of a csv.reader with the line number each begins on, given the number of lines before."""
    while True:
        number = before + reader.line_num + 1
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise UserError(f"{path}:{number}: not well-formed: {error}") from None
        if record is None:
            return
        if record:
            yield number, record


def _tsv_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    for number, line in lines(path):
        yield from _records(path, csv.reader([line], delimiter="\t", strict=True), number - 1)


def _delimited(path: Path, records: Iterator[tuple[int, list[str]]]) -> Generator[Record, None, None]:
    _, header = next(records, (0, []))
    if duplicates := [name for name in header if header.count(name) > 1]:
        raise UserError(f"{path}:1: duplicate column {duplicates[0]!r}")
    for number, record in records:
        if len(record) != len(header):
            raise UserError(f"{path}:{number}: expected {len(header)} fields, got {len(record)}")
        yield Record(f"{path}:{number}", f"line {number}", dict(zip(header, record, strict=True)))


_READERS: dict[str, Callable[[Path], Generator[Record, None, None]]] = {
    ".jsonl": read_jsonl,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".parquet": read_parquet,
}
SUFFIXES = tuple(_READERS)
