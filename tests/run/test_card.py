"""Warnings of the run card."""

from __future__ import annotations

from pathlib import Path

from verax.api import evaluate
from verax.data.text import split_words
from verax.models.load import load_model
from verax.types import Dataset, Instance


def test_a_language_that_the_tokenizer_does_not_know_is_warned_of(tmp_path: Path) -> None:
    """The English model reads a Thai text as one unknown token."""
    data = Dataset(
        "two",
        (
            Instance("1", (split_words("The dog is red."), split_words("The dog is blue.")), "neutral", "en"),
            Instance("2", (split_words("สุนัขนอน"), split_words("สุนัขวิ่ง")), "neutral", "th"),
        ),
        ("entailment", "neutral", "contradiction"),
    )
    run = evaluate(load_model("world/nli"), data, [], ["comprehensiveness"], out=tmp_path, progress=False)
    told = [line for line in run.tables.card["warnings"] if "does not know" in line]
    assert len(told) == 1
    assert told[0].startswith("th: the model's tokenizer does not know 100% of the words")
