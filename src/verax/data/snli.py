"""SNLI as published (JSONL or tab-separated text, also used by MultiNLI), and XNLI in fifteen languages."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

from verax.data.columns import Columns
from verax.data.formats import Format, has
from verax.data.rows import Record
from verax.data.table import lines, read_jsonl
from verax.types import UserError

LABELS = ("entailment", "neutral", "contradiction")
_ID, _LABEL = "pairID", "gold_label"
_NO_LABEL = "-"


def read_text(path: Path) -> Generator[Record, None, None]:
    """Read tab-separated text with a header line.

    Fields are never quoted: a quotation mark belongs to the sentence. The last columns, which hold the labels of single
    annotators, may be missing.
    """
    names: list[str] = []
    for number, line in lines(path):
        if not line.strip():
            continue
        fields = line.rstrip("\r\n").split("\t")
        if not names:
            names = fields
            continue
        needed = names.index(_ID) + 1 if _ID in names else len(names)
        if not needed <= len(fields) <= len(names):
            raise UserError(f"{path}:{number}: expected {len(names)} tab-separated fields, got {len(fields)}")
        yield Record(f"{path}:{number}", f"line {number}", dict(zip(names, fields, strict=False)))


def _labelled(rows: Iterator[Record]) -> Iterator[Record]:
    """Rows without the pairs on which the annotators disagreed."""
    return (row for row in rows if row.cells.get(_LABEL) != _NO_LABEL)


SNLI = Format(
    name="SNLI",
    readers={".jsonl": read_jsonl, ".txt": read_text},
    fits=has(_LABEL, "sentence1", "sentence2", _ID),
    convert=_labelled,
    columns=Columns(
        parts=("sentence1", "sentence2"), label=_LABEL, id=_ID, maskable_part=("sentence1",), metric="macro_f1"
    ),
    labels=LABELS,
)
# XNLI rows have all the columns of SNLI, and a language.
XNLI = Format(
    name="XNLI",
    readers={".tsv": read_text, ".jsonl": read_jsonl},
    fits=has("language", _LABEL, "sentence1", "sentence2", _ID),
    convert=lambda rows: rows,
    columns=Columns(parts=("sentence1", "sentence2"), label=_LABEL, id=_ID, lang="language", parallel_id=_ID),
    labels=LABELS,
)
