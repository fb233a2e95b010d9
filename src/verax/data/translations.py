"""Languages of rows without a language column: from parts that hold translations, or from file names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from verax.data.columns import Columns
from verax.data.rows import Record, describe

LANG, PARALLEL_ID = "lang", "parallel_id"


def holds_translations(row: Record, columns: Columns) -> bool:
    """Whether the parts of a row are mappings from language to text."""
    return all(isinstance(row.cells.get(part), Mapping) for part in columns.parts)


def by_language(rows: Iterable[Record], columns: Columns) -> tuple[Iterator[Record], Columns]:
    """Expand rows whose parts hold translations into one row per language; and the resulting columns.

    A part holds `{"en": ..., "de": ...}` or `{"language": ["en", ...], "translation": [..., ...]}`. The parallel id is
    the one of the row, or its id, or its number. A part that lacks a language of another part is empty in it.
    """
    id_column = columns.parallel_id or columns.id
    expanded = columns.model_copy(update={"lang": LANG, "parallel_id": id_column or PARALLEL_ID})

    def expanded_rows() -> Iterator[Record]:
        for number, row in enumerate(rows, start=1):
            parts = {part: _translations(row, part) for part in columns.parts}
            shared = {} if id_column else {PARALLEL_ID: str(number)}
            langs = dict.fromkeys(lang for texts in parts.values() for lang in texts)
            if not langs:
                raise row.error(columns.parts[0], "expected translations by language, got none")
            for lang in langs:
                cells = {part: texts.get(lang, "") for part, texts in parts.items()}
                yield Record(row.where, row.position, {**row.cells, **shared, **cells, LANG: lang})

    return expanded_rows(), expanded


def with_language(row: Record, lang: str | None) -> Record:
    """A row with the language from its file name, unless it declares one."""
    if lang is None or row.cells.get(LANG):
        return row
    own = row.cells.get("language")
    return Record(row.where, row.position, {**row.cells, LANG: lang if own is None or own == "" else own})


def _translations(row: Record, part: str) -> dict[str, Any]:
    cell = row.cells.get(part)
    if not isinstance(cell, Mapping):
        raise row.error(part, f"expected translations by language, got {describe(cell)}")
    if set(cell) != {"language", "translation"}:
        return {str(lang): text for lang, text in cell.items() if text is not None}
    langs, texts = (row.items(part, cell[side], f"a list of {side}s") for side in ("language", "translation"))
    if len(langs) != len(texts):
        raise row.error(part, f"{len(langs)} languages but {len(texts)} translations")
    return {str(lang): text for lang, text in zip(langs, texts, strict=True) if text is not None}
