"""The dataset on disk: one JSONL file, and a folder that the `datasets` library reads, a configuration a language."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from verax.run.highlights.rows import CHARS, FACTS, HIGHLIGHTS, OFFSETS, WORDS, Highlighted, record
from verax.store.files import replace_by, replace_file
from verax.types import Dataset

JSONL = "highlights.jsonl"
FOLDER = "dataset"
CARD = "README.md"
_SPLIT = re.compile(r"\w+")
_NUMBERS = pa.list_(pa.int64())


def split_name(data: Dataset) -> str:
    """The split that the inputs came from; `test` if nobody says so."""
    split = data.provenance.get("split") or "test"
    return split if _SPLIT.fullmatch(split) else "test"


def write_jsonl(path: Path, rows: Sequence[Highlighted], names: Sequence[str]) -> None:
    """All rows, an object a line."""
    lines = (json.dumps(record(row, names), ensure_ascii=False) + "\n" for row in rows)
    replace_file(path, "".join(lines).encode())


def write_parquet(folder: Path, rows: Sequence[Highlighted], names: Sequence[str], split: str) -> None:
    """A folder for each language, with its rows in a Parquet file."""
    by_language: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_language.setdefault(row.instance.lang, []).append(record(row, names))
    for lang, records in by_language.items():
        table = pa.Table.from_pylist(records, _schema(names))
        (folder / lang).mkdir(parents=True, exist_ok=True)
        replace_by(folder / lang / f"{split}.parquet", partial(pq.write_table, table))


def configurations(languages: Sequence[str], split: str) -> list[Mapping[str, Any]]:
    """What the header of the card says of the files: one configuration a language, and one with all of them."""

    def one(name: str, folder: str) -> dict[str, Any]:
        return {"config_name": name, "data_files": [{"split": split, "path": f"{folder}/{split}.parquet"}]}

    return [{**one("all", "*"), "default": True}, *(one(lang, lang) for lang in languages)]


def _schema(names: Sequence[str]) -> pa.Schema:
    """Types are said, not guessed: a column of empty lists would have none."""
    fields = [(name, pa.string()) for name in FACTS]
    for name in names:
        fields += [
            (name, pa.string()),
            (name + WORDS, pa.list_(pa.string())),
            (name + OFFSETS, pa.list_(_NUMBERS)),
            (name + HIGHLIGHTS, _NUMBERS),
            (name + CHARS, pa.list_(_NUMBERS)),
        ]
    return pa.schema(fields)
