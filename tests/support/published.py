"""What the tests of published data formats share: writing files, and reading them or being refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from verax.data.load import load_dataset
from verax.types import Instance, UserError


def write_jsonl(path: Path, *rows: Any) -> Path:
    """A file with a JSON value on each line."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def refusal(name: str | Path, **options: Any) -> str:
    """The one line with which data is refused."""
    with pytest.raises(UserError) as caught:
        load_dataset(name, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message


def marked(instance: Instance) -> list[list[str]]:
    """The gold words of each part."""
    assert instance.human is not None
    assert instance.human.words is not None
    pairs = zip(instance.parts, instance.human.words, strict=True)
    return [[part.words[number] for number in numbers] for part, numbers in pairs]


def paired(instance: Instance) -> list[tuple[str, ...]]:
    """The texts of the gold span pairs."""
    assert instance.human is not None
    assert instance.human.span_pairs is not None
    return [
        tuple(" ".join(instance.parts[span.part].words[span.start : span.end]) for span in pair)
        for pair in instance.human.span_pairs
    ]
