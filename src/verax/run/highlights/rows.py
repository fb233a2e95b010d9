"""The rows of a dataset with highlights: what is in a row, under which names, and how verax reads it again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from verax.data.rows import Row
from verax.data.segmenters import Splitter
from verax.run.highlights.scoring import Words
from verax.types import Dataset, Instance, Text

FACTS = ("id", "parallel_id", "lang", "label", "prediction")
"""Columns of an input as a whole."""
WORDS, OFFSETS, HIGHLIGHTS, CHARS = "_words", "_offsets", "_highlights", "_highlight_chars"
"""Columns of a part: its name, and its name with each of these endings."""


@dataclass(frozen=True)
class Highlighted:
    """An input, the class that the model predicts for it, whether that is right, and its highlighted words.

    `correct` is None where the input has no label, or one that the model does not know.
    """

    instance: Instance
    prediction: str
    correct: bool | None
    words: Words


def part_names(data: Dataset) -> tuple[str, ...]:
    """What the parts are called: as the columns that they were read from, or by their number."""
    count = len(data.instances[0].parts)
    known = tuple(json.loads(data.provenance.get("columns", "{}")).get("parts", ()))
    columns = {*FACTS, *(name + end for name in known for end in ("", WORDS, OFFSETS, HIGHLIGHTS, CHARS))}
    if len(known) == count and len(columns) == len(FACTS) + 5 * count:
        return known
    usual = {1: ("text",), 2: ("text_a", "text_b")}
    return usual.get(count) or tuple(f"part_{number}" for number in range(1, count + 1))


def record(row: Highlighted, names: Sequence[str]) -> dict[str, Any]:
    """A row of the dataset, in plain values."""
    instance = row.instance
    found: dict[str, Any] = {
        "id": instance.id,
        "parallel_id": instance.parallel_id,
        "lang": instance.lang,
        "label": instance.label,
        "prediction": row.prediction,
    }
    for name, text, words in zip(names, instance.parts, row.words, strict=True):
        found |= {
            name: text.raw,
            name + WORDS: list(text.words),
            name + OFFSETS: [list(offset) for offset in text.offsets],
            name + HIGHLIGHTS: list(words),
            name + CHARS: [list(text.offsets[word]) for word in words],
        }
    return found


def texts(row: Row, names: Sequence[str]) -> tuple[tuple[Text, ...], Words]:
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


def reading(rows: Sequence[Highlighted], names: Sequence[str]) -> dict[str, Any]:
    """What `load_dataset` is told to read the rows again, the highlighted words as gold.

    Texts are split again by the rules of their language. If that gives other words than those that were explained, gold
    are those that share a character with them. Where an input is not there in every language, it is to be left out.
    """
    split = Splitter()
    same = all(split(text.raw, text.lang) == text for row in rows for text in row.instance.parts)
    columns = {
        "parts": list(names),
        "label": "label",
        "id": "id",
        "lang": "lang",
        "parallel_id": "parallel_id",
        **({"gold_words": _each(names, HIGHLIGHTS)} if same else {"gold_chars": _each(names, CHARS)}),
    }
    counts = Counter(row.instance.parallel_id for row in rows)
    whole = set(counts.values()) == {len({row.instance.lang for row in rows})}
    return {"columns": columns} if whole else {"columns": columns, "missing": "skip"}


def _each(names: Sequence[str], ending: str) -> list[str]:
    return [name + ending for name in names]
