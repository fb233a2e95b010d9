"""Reading JSONL, CSV, TSV and Parquet row by row; every mistake is named by its line."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import Any

from verax.data.rows import Row, Source, describe
from verax.types import UserError

_BOM = b"\xef\xbb\xbf"


def open_file(path: Path) -> Source:
    """A file whose suffix says what it is."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UserError(f"{path}: can't read a file that ends in {path.suffix!r}; valid: {', '.join(SUFFIXES)}")
    return Source(str(path), reader(path), {"path": str(path), "sha256": fingerprint(path)})


def fingerprint(path: Path) -> str:
    """The SHA-256 of a file; one that can't be read is refused here."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise UserError(f"{path}: can't be read: {error.strerror}") from None


def read_jsonl(path: Path) -> Generator[Row, None, None]:
    """An object on each line; blank lines are passed over but counted."""
    for number, line in lines(path):
        if not line.strip():
            continue
        cells = parse_json(line.strip(), f"{path}:{number}")
        if not isinstance(cells, dict):
            raise UserError(f"{path}:{number}: expected an object, got {describe(cells)}")
        yield Row(f"{path}:{number}", f"line {number}", cells)


def parse_json(text: str, where: str) -> Any:
    """A JSON value; a mistake in it is a UserError that begins with `where`."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise UserError(f"{where}: not JSON: {error.msg} at column {error.colno}") from None
    except ValueError:  # Python refuses to parse integers of thousands of digits
        raise UserError(f"{where}: not JSON that can be read: a number is too long") from None
    except RecursionError:
        raise UserError(f"{where}: not JSON that can be read: nested too deep") from None


def read_csv(path: Path) -> Generator[Row, None, None]:
    """Comma-separated values with a header; a quoted field may run over several lines."""
    content = (line for _, line in lines(path))
    return _delimited(path, _records(path, csv.reader(content, strict=True), 0))


def read_tsv(path: Path) -> Generator[Row, None, None]:
    """Tab-separated values with a header, quoted as in CSV, but each row is one line.

    So a lone quotation mark at the start of a field, which is common where nobody quoted anything, is an error on its
    line instead of swallowing the rows that follow.
    """
    return _delimited(path, _tsv_records(path))


def read_parquet(path: Path) -> Generator[Row, None, None]:
    """The rows of a Parquet file, read in batches and counted from 1."""
    # pyarrow takes a third of a second to import, and most users of this module never need it.
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=1024):
                for cells in batch.to_pylist():
                    number += 1
                    yield Row(f"{path}: row {number}", f"row {number}", cells)
    except (pa.ArrowException, OSError) as error:
        message = " ".join(str(error).split())
        raise UserError(f"{path}: not a Parquet file that can be read after row {number}: {message}") from None


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a UTF-8 file with their numbers, line ends kept; a byte-order mark is dropped."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            content = line.removeprefix(_BOM) if number == 1 else line
            try:
                yield number, content.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = content[error.start]
                raise UserError(f"{path}:{number}: not UTF-8: byte 0x{byte:02x} at column {error.start + 1}") from None


def _records(path: Path, reader: Any, before: int) -> Iterator[tuple[int, list[str]]]:
    """The records of a csv.reader with the number of the line each begins on, given how many lines came before."""
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


def _delimited(path: Path, records: Iterator[tuple[int, list[str]]]) -> Generator[Row, None, None]:
    _, header = next(records, (0, []))
    if twice := [name for name in header if header.count(name) > 1]:
        raise UserError(f"{path}:1: the column {twice[0]!r} is there twice")
    for number, record in records:
        if len(record) != len(header):
            raise UserError(f"{path}:{number}: expected {len(header)} fields, got {len(record)}")
        yield Row(f"{path}:{number}", f"line {number}", dict(zip(header, record, strict=True)))


_READERS: dict[str, Callable[[Path], Generator[Row, None, None]]] = {
    ".jsonl": read_jsonl,
    ".csv": read_csv,
    ".tsv": read_tsv,
    ".parquet": read_parquet,
}
SUFFIXES = tuple(_READERS)
