"""The language of a row where no column says it: its parts hold translations, or the name of its file says it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from verax.data.columns import Columns
from verax.data.rows import Row, describe

LANG, PARALLEL_ID = "lang", "parallel_id"


def holds_translations(row: Row, columns: Columns) -> bool:
    """Whether the parts of a row are not texts but their translations."""
    return all(isinstance(row.cells.get(part), Mapping) for part in columns.parts)


def by_language(rows: Iterable[Row], columns: Columns) -> tuple[Iterator[Row], Columns]:
    """Rows whose parts hold their translations, as a row for each language; and the columns that these have.

    A part holds `{"en": ..., "de": ...}` or `{"language": ["en", ...], "translation": [..., ...]}`. What the languages
    of a row share is its parallel id, or its id, or its number. A part that lacks a language that another part has is
    empty in it.
    """
    own = columns.parallel_id or columns.id
    turned = columns.model_copy(update={"lang": LANG, "parallel_id": own or PARALLEL_ID})

    def unfolded() -> Iterator[Row]:
        for number, row in enumerate(rows, start=1):
            parts = {part: _translations(row, part) for part in columns.parts}
            shared = {} if own else {PARALLEL_ID: str(number)}
            langs = dict.fromkeys(lang for texts in parts.values() for lang in texts)
            if not langs:
                raise row.error(columns.parts[0], "expected its translations by language, got none")
            for lang in langs:
                cells = {part: texts.get(lang, "") for part, texts in parts.items()}
                yield Row(row.where, row.position, {**row.cells, **shared, **cells, LANG: lang})

    return unfolded(), turned


def with_language(row: Row, lang: str | None) -> Row:
    """A row with the language that the name of its file says, unless it says one itself."""
    if lang is None or row.cells.get(LANG):
        return row
    own = row.cells.get("language")
    return Row(row.where, row.position, {**row.cells, LANG: lang if own is None or own == "" else own})


def _translations(row: Row, part: str) -> dict[str, Any]:
    cell = row.cells.get(part)
    if not isinstance(cell, Mapping):
        raise row.error(part, f"expected its translations by language, got {describe(cell)}")
    if set(cell) != {"language", "translation"}:
        return {str(lang): text for lang, text in cell.items() if text is not None}
    langs, texts = (row.items(part, cell[side], f"a list of {side}s") for side in ("language", "translation"))
    if len(langs) != len(texts):
        raise row.error(part, f"{len(langs)} languages but {len(texts)} translations")
    return {str(lang): text for lang, text in zip(langs, texts, strict=True) if text is not None}
