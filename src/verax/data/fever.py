"""FEVER with gold evidence: JSONL with a claim and Wikipedia sentences that support or refute it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from verax.data.columns import Columns
from verax.data.formats import Format, has
from verax.data.rows import Record, describe
from verax.data.table import read_jsonl

LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")
_CLAIM, _EVIDENCE, _LABEL, _ID = "claim", "evidence", "label", "id"


def _is_fever(cells: Mapping[str, Any]) -> bool:
    has_fields = has(_CLAIM, _EVIDENCE, _LABEL, _ID)(cells) and cells[_LABEL] in LABELS
    return (
        has_fields and isinstance(cells[_EVIDENCE], list) and all(isinstance(item, list) for item in cells[_EVIDENCE])
    )


def _joined(rows: Iterator[Record]) -> Iterator[Record]:
    """Rows with the evidence sentences joined into one text; repeated ids get a running number."""
    seen: Counter[str | None] = Counter()
    for row in rows:
        items = row.items(_EVIDENCE, row.cells.get(_EVIDENCE), "a list of [page, number, sentence]")
        text = " ".join(_sentence(row, number, item) for number, item in enumerate(items))
        name = row.name(_ID)
        seen[name] += 1
        unique_id = f"{name}/{seen[name]}" if name is not None and seen[name] > 1 else name
        yield row.with_cells({_EVIDENCE: text, _ID: unique_id})


def _sentence(row: Record, number: int, item: Any) -> str:
    field = f"{_EVIDENCE}[{number}]"
    triple = row.items(field, item, "[page, number, sentence]")
    if len(triple) != 3:
        raise row.error(field, f"expected [page, number, sentence], got {describe(triple)}")
    return row.text(field, triple[2], "a sentence as the third item").strip()


FEVER = Format(
    name="FEVER with gold evidence",
    readers={".jsonl": read_jsonl},
    fits=_is_fever,
    convert=_joined,
    columns=Columns(parts=(_CLAIM, _EVIDENCE), label=_LABEL, id=_ID, maskable_part=(_EVIDENCE,), metric="macro_f1"),
    labels=LABELS,
)
