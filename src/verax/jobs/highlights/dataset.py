"""The dataset: its rows, the files that hold them, and how verax reads them again."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from verax.data.rows import Record
from verax.data.segmenters import Splitter
from verax.store.files import replace_by, replace_file
from verax.types import Dataset, Instance, Text

JSONL = "highlights.jsonl"
FOLDER = "dataset"
CARD = "README.md"
FACTS = ("id", "parallel_id", "lang", "label", "prediction")
"""Columns of an input as a whole."""
WORDS, OFFSETS, HIGHLIGHTS, CHARS = "_words", "_offsets", "_highlights", "_highlight_chars"
_NUMBERS = pa.list_(pa.int64())
PART_COLUMNS = {
    "": pa.string(),
    WORDS: pa.list_(pa.string()),
    OFFSETS: pa.list_(_NUMBERS),
    HIGHLIGHTS: _NUMBERS,
    CHARS: pa.list_(_NUMBERS),
}
"""Columns of a part: the endings that follow its name, and their types."""
WordIndices = tuple[tuple[int, ...], ...]
"""Words of an input: their indices, for each part."""
_SPLIT = re.compile(r"\w+")


@dataclass(frozen=True)
class Highlighted:
    """An input, the class that the model predicts for it, whether that is right, and its highlighted words.

    `correct` is None if the input has no label, or one that the model does not know.
    """

    instance: Instance
    prediction: str
    correct: bool | None
    words: WordIndices


def part_names(data: Dataset) -> tuple[str, ...]:
    """The names of the parts: the columns that they were read from, or their numbers."""
    count = len(data.instances[0].parts)
    known = tuple(json.loads(data.provenance.get("columns", "{}")).get("parts", ()))
    columns = {*FACTS, *(name + end for name in known for end in PART_COLUMNS)}
    if len(known) == count and len(columns) == len(FACTS) + len(PART_COLUMNS) * count:
        return known
    usual = {1: ("text",), 2: ("text_a", "text_b")}
    return usual.get(count) or tuple(f"part_{number}" for number in range(1, count + 1))


def split_name(data: Dataset) -> str:
    """The split that the inputs come from; `test` if it is not known."""
    split = data.provenance.get("split") or "test"
    return split if _SPLIT.fullmatch(split) else "test"


def record(row: Highlighted, names: Sequence[str]) -> dict[str, Any]:
    """A row of the dataset, in plain values."""
    instance = row.instance
    cells: dict[str, Any] = {
        "id": instance.id,
        "parallel_id": instance.parallel_id,
        "lang": instance.lang,
        "label": instance.label,
        "prediction": row.prediction,
    }
    for name, text, words in zip(names, instance.parts, row.words, strict=True):
        cells |= {
            name: text.raw,
            name + WORDS: list(text.words),
            name + OFFSETS: [list(offset) for offset in text.offsets],
            name + HIGHLIGHTS: list(words),
            name + CHARS: [list(text.offsets[word]) for word in words],
        }
    return cells


def texts(row: Record, names: Sequence[str]) -> tuple[tuple[Text, ...], WordIndices]:
    """The parts of a row and their highlighted words, from what `record` wrote."""
    cells = row.cells
    try:
        parts = tuple(
            Text(cells[name], tuple(cells[name + WORDS]), tuple(map(tuple, cells[name + OFFSETS])), cells["lang"])
            for name in names
        )
        return parts, tuple(tuple(cells[name + HIGHLIGHTS]) for name in names)
    except (KeyError, TypeError, ValueError) as error:
        raise row.error(names[0], f"the row is not as it was written: {error}") from None


def reading_options(rows: Sequence[Highlighted], names: Sequence[str]) -> dict[str, Any]:
    """The options of `load_dataset` that read the rows again, the highlighted words as gold.

    Texts are split again by the rules of their language. If that gives other words than those that were explained, gold
    are those that share a character with them. An input that is missing in a language is left out.
    """
    split = Splitter()
    same = all(split(text.raw, text.lang) == text for row in rows for text in row.instance.parts)
    gold, ending = ("gold_words", HIGHLIGHTS) if same else ("gold_chars", CHARS)
    columns = {
        "parts": list(names),
        "label": "label",
        "id": "id",
        "lang": "lang",
        "parallel_id": "parallel_id",
        gold: [name + ending for name in names],
    }
    counts = Counter(row.instance.parallel_id for row in rows)
    complete = set(counts.values()) == {len({row.instance.lang for row in rows})}
    return {"columns": columns} if complete else {"columns": columns, "missing": "skip"}


def write_jsonl(path: Path, rows: Sequence[Highlighted], names: Sequence[str]) -> None:
    """All rows, an object per line."""
    lines = (json.dumps(record(row, names), ensure_ascii=False) + "\n" for row in rows)
    replace_file(path, "".join(lines).encode())


def write_parquet(folder: Path, rows: Sequence[Highlighted], names: Sequence[str], split: str) -> None:
    """A folder for each language, with its rows in a Parquet file."""
    # types are given, not inferred: a column of empty lists would have none
    fields = [(name, pa.string()) for name in FACTS]
    fields += [(name + end, kind) for name in names for end, kind in PART_COLUMNS.items()]
    by_language: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_language.setdefault(row.instance.lang, []).append(record(row, names))
    for lang, records in by_language.items():
        table = pa.Table.from_pylist(records, pa.schema(fields))
        (folder / lang).mkdir(parents=True, exist_ok=True)
        replace_by(folder / lang / f"{split}.parquet", partial(pq.write_table, table))


def configurations(languages: Sequence[str], split: str) -> list[Mapping[str, Any]]:
    """The configurations of the `datasets` library: one per language, and one with all of them."""

    def configuration(name: str, folder: str) -> dict[str, Any]:
        return {"config_name": name, "data_files": [{"split": split, "path": f"{folder}/{split}.parquet"}]}

    return [{**configuration("all", "*"), "default": True}, *(configuration(lang, lang) for lang in languages)]
