"""ComVE, SemEval-2020 Task 4: two sentences, which of them is against common sense, and up to three reasons why."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from verax.data.columns import Columns
from verax.data.formats import Beside, Format, Reader, has, with_cells
from verax.data.rows import Row
from verax.data.table import lines, read_csv, read_jsonl
from verax.types import UserError

LABELS = ("first", "second")
_ID, _LABEL, _REASONS = "id", "label", "explanations"
_TABLE, _PUBLISHED = ("sentence1", "sentence2"), ("sent0", "sent1")
_MOST_REASONS = 3


def _is_table(cells: Mapping[str, Any]) -> bool:
    return has(_ID, _LABEL, _REASONS, *_TABLE)(cells) and cells[_LABEL] in LABELS


def _beside(path: Path) -> tuple[Path, ...]:
    """The files with the answers and with the reasons that belong to a file of sentences, as far as they are there."""
    kind = "answers_all" if path.stem.endswith("data_all") else "gold_answers"
    files = (path.with_name(f"subtask{task}_{kind}.csv") for task in "AC")
    return tuple(file for file in files if file.is_file())


def _answered(files: tuple[Path, ...], rows: Iterator[Row]) -> Iterator[Row]:
    """Rows with what the files beside them say of the same id."""
    found = {file.name[len("subtask")]: _by_id(file) for file in files}
    for row in rows:
        name = row.name(_ID) or ""
        label = _answer(row, name, found["A"]) if "A" in found else None
        why = _reasons(row, name, found["C"]) if "C" in found else None
        yield with_cells(row, **{_LABEL: label, _REASONS: why})


class _Lines(dict[str, tuple[int, list[str]]]):
    """The number and the fields of each line of a file, by the id that it begins with."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def of(self, row: Row, name: str) -> tuple[str, list[str]]:
        """Where the line of an id is, and its fields."""
        if name not in self:
            raise row.error(_ID, f"{self.path.name} has no line for {name!r}")
        number, fields = self[name]
        return f"{self.path}:{number}", fields


def _by_id(path: Path) -> _Lines:
    """The lines of a file of comma-separated values that has no header."""
    found = _Lines(path)
    reader = csv.reader((line for _, line in lines(path)), strict=True)
    try:
        for fields in reader:
            if fields and fields[0] in found:
                raise UserError(f"{path}:{reader.line_num}: the id {fields[0]!r} is there twice")
            if fields:
                found[fields[0]] = (reader.line_num, fields[1:])
    except csv.Error as error:
        raise UserError(f"{path}:{reader.line_num}: not well-formed: {error}") from None
    return found


def _answer(row: Row, name: str, answers: _Lines) -> str:
    """Which of the two sentences is against common sense; the file counts them from 0."""
    where, fields = answers.of(row, name)
    if len(fields) != 1 or fields[0].strip() not in ("0", "1"):
        raise UserError(f"{where}: expected an id and 0 or 1, got {', '.join(map(repr, fields)) or 'an id alone'}")
    return LABELS[int(fields[0])]


def _reasons(row: Row, name: str, reasons: _Lines) -> list[str]:
    where, fields = reasons.of(row, name)
    if not 1 <= len(fields) <= _MOST_REASONS:
        raise UserError(f"{where}: expected an id and 1 to {_MOST_REASONS} reasons, got {len(fields)}")
    return fields


def _format(
    suffix: str,
    reader: Reader,
    parts: tuple[str, str],
    fits: Callable[[Mapping[str, Any]], bool],
    beside: Beside | None = None,
) -> Format:
    return Format(
        name="ComVE",
        readers={suffix: reader},
        fits=fits,
        convert=lambda rows: rows,
        columns=Columns(parts=parts, label=_LABEL, id=_ID, explanations=(_REASONS,)),
        labels=LABELS,
        beside=beside,
    )


COMVE = _format(".csv", read_csv, _PUBLISHED, has(_ID, *_PUBLISHED), Beside(_beside, _answered))
COMVE_TABLE = _format(".jsonl", read_jsonl, _TABLE, _is_table)
