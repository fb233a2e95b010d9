"""XNLI as it was published: pairs of sentences in fifteen languages, tab-separated text or JSONL."""

from __future__ import annotations

from verax.data.columns import Columns
from verax.data.formats import Format, has
from verax.data.snli import LABELS, read_text
from verax.data.table import read_jsonl

XNLI = Format(
    name="XNLI",
    readers={".tsv": read_text, ".jsonl": read_jsonl},
    fits=has("language", "gold_label", "sentence1", "sentence2", "pairID"),
    convert=lambda rows: rows,
    columns=Columns(
        parts=("sentence1", "sentence2"), label="gold_label", id="pairID", lang="language", parallel_id="pairID"
    ),
    labels=LABELS,
)
