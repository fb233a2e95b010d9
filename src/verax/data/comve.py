"""ComVE, SemEval-2020 Task 4: two sentences, which of them contradicts common sense, and up to three reasons."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from verax.data.columns import Columns
from verax.data.formats import Beside, Format, Reader, has, with_cells
from verax.data.rows import Record
from verax.data.table import lines, read_csv, read_jsonl
from verax.types import UserError

LABELS = ("first", "second")
_ID, _LABEL, _REASONS = "id", "label", "explanations"
_TABLE, _PUBLISHED = ("sentence1", "sentence2"), ("sent0", "sent1")
_MAX_REASONS = 3


def _is_table(cells: Mapping[str, Any]) -> bool:
    return has(_ID, _LABEL, _REASONS, *_TABLE)(cells) and cells[_LABEL] in LABELS


def _companion_files(path: Path) -> tuple[Path, ...]:
    """The existing files with the answers and reasons that belong to a file of sentences."""
    kind = "answers_all" if path.stem.endswith("data_all") else "gold_answers"
    files = (path.with_name(f"subtask{task}_{kind}.csv") for task in "AC")
    return tuple(file for file in files if file.is_file())


def _answered(files: tuple[Path, ...], rows: Iterator[Record]) -> Iterator[Record]:
    """Rows joined by id with the labels and reasons of the companion files."""
    by_subtask = {file.name[len("subtask")]: _by_id(file) for file in files}
    for row in rows:
        name = row.name(_ID) or ""
        label = _answer(row, name, by_subtask["A"]) if "A" in by_subtask else None
        reasons = _reasons(row, name, by_subtask["C"]) if "C" in by_subtask else None
        yield with_cells(row, **{_LABEL: label, _REASONS: reasons})


class _Lines(dict[str, tuple[int, list[str]]]):
    """Line number and fields of each line of a file, by the id in its first field."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path

    def of(self, row: Record, name: str) -> tuple[str, list[str]]:
        """Location and fields of the line with an id."""
        if name not in self:
            raise row.error(_ID, f"{self.path.name} has no line for {name!r}")
        number, fields = self[name]
        return f"{self.path}:{number}", fields


def _by_id(path: Path) -> _Lines:
    """The lines of a CSV file without header."""
    by_id = _Lines(path)
    reader = csv.reader((line for _, line in lines(path)), strict=True)
    try:
        for fields in reader:
            if fields and fields[0] in by_id:
                raise UserError(f"{path}:{reader.line_num}: duplicate id {fields[0]!r}")
            if fields:
                by_id[fields[0]] = (reader.line_num, fields[1:])
    except csv.Error as error:
        raise UserError(f"{path}:{reader.line_num}: not well-formed: {error}") from None
    return by_id


def _answer(row: Record, name: str, answers: _Lines) -> str:
    """Which of the two sentences contradicts common sense; the file counts from 0."""
    where, fields = answers.of(row, name)
    if len(fields) != 1 or fields[0].strip() not in ("0", "1"):
        raise UserError(f"{where}: expected an id and 0 or 1, got {', '.join(map(repr, fields)) or 'an id alone'}")
    return LABELS[int(fields[0])]


def _reasons(row: Record, name: str, reasons: _Lines) -> list[str]:
    where, fields = reasons.of(row, name)
    if not 1 <= len(fields) <= _MAX_REASONS:
        raise UserError(f"{where}: expected an id and 1 to {_MAX_REASONS} reasons, got {len(fields)}")
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


COMVE = _format(".csv", read_csv, _PUBLISHED, has(_ID, *_PUBLISHED), Beside(_companion_files, _answered))
COMVE_TABLE = _format(".jsonl", read_jsonl, _TABLE, _is_table)
