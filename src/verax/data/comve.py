"""ComVE, SemEval-2020 Task 4: two sentences, which of them contradicts common sense, and up to three reasons."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from verax.data.columns import Columns
from verax.data.formats import Companions, Format, Reader, has
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
    companions = {file.name[len("subtask")]: (file.name, _by_id(file)) for file in files}
    for row in rows:
        cells: dict[str, Any] = {_LABEL: None, _REASONS: None}
        for subtask, (file, by_id) in companions.items():
            name = row.name(_ID) or ""
            if name not in by_id:
                raise row.error(_ID, f"{file} has no line for {name!r}")
            if subtask == "A":
                cells[_LABEL] = _answer(*by_id[name])
            else:
                cells[_REASONS] = _reasons(*by_id[name])
        yield row.with_cells(cells)


def _by_id(path: Path) -> dict[str, tuple[str, list[str]]]:
    """Location and fields of each line of a CSV file without header, by the id in its first field."""
    by_id: dict[str, tuple[str, list[str]]] = {}
    reader = csv.reader((line for _, line in lines(path)), strict=True)
    try:
        for fields in reader:
            where = f"{path}:{reader.line_num}"
            if fields and fields[0] in by_id:
                raise UserError(f"{where}: duplicate id {fields[0]!r}")
            if fields:
                by_id[fields[0]] = (where, fields[1:])
    except csv.Error as error:
        raise UserError(f"{path}:{reader.line_num}: not well-formed: {error}") from None
    return by_id


def _answer(where: str, fields: list[str]) -> str:
    """Which of the two sentences contradicts common sense; the file counts from 0."""
    if len(fields) != 1 or fields[0].strip() not in ("0", "1"):
        raise UserError(f"{where}: expected an id and 0 or 1, got {', '.join(map(repr, fields)) or 'an id alone'}")
    return LABELS[int(fields[0])]


def _reasons(where: str, fields: list[str]) -> list[str]:
    if not 1 <= len(fields) <= _MAX_REASONS:
        raise UserError(f"{where}: expected an id and 1 to {_MAX_REASONS} reasons, got {len(fields)}")
    return fields


def _format(
    suffix: str,
    reader: Reader,
    parts: tuple[str, str],
    fits: Callable[[Mapping[str, Any]], bool],
    companions: Companions | None = None,
) -> Format:
    return Format(
        name="ComVE",
        readers={suffix: reader},
        fits=fits,
        convert=lambda rows: rows,
        columns=Columns(parts=parts, label=_LABEL, id=_ID, explanations=(_REASONS,)),
        labels=LABELS,
        companions=companions,
    )


COMVE = _format(".csv", read_csv, _PUBLISHED, has(_ID, *_PUBLISHED), Companions(_companion_files, _answered))
COMVE_TABLE = _format(".jsonl", read_jsonl, _TABLE, _is_table)
