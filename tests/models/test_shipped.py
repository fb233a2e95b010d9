"""The shipped models load as any checkpoint does, are small, and know their task."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from verax.data.world import fact_checking, nli, opinion
from verax.models.shipped import world_facts, world_nli, world_opinion, world_opinion_masked
from verax.train.fine_tuning import accuracy

MADE = {world_nli(): nli.load, world_facts(): fact_checking.load, world_opinion(): opinion.load}
FOLDERS = pytest.mark.parametrize("folder", MADE, ids=[folder.name for folder in MADE])
TASKS = {**MADE, world_opinion_masked(): opinion.load}


@pytest.mark.parametrize(("folder", "load"), TASKS.items(), ids=[folder.name for folder in TASKS])
def test_it_is_right_on_at_least_95_in_100_of_the_test_split(folder: Path, load: type) -> None:
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    data = load("test")
    assert tuple(model.config.id2label.values()) == data.labels
    assert accuracy(model, tokenizer, data) >= 0.95
    assert accuracy(model, tokenizer, load("test", seed=1, limit=300)) >= 0.93


def test_they_are_at_most_six_megabytes_together_and_nothing_but_safetensors() -> None:
    files = [file for folder in TASKS for file in folder.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= 6_000_000
    assert {file.suffix for file in files} <= {".json", ".safetensors", ".md", ".svg"}


@FOLDERS
def test_the_tokenizer_splits_some_words_and_knows_all(folder: Path) -> None:
    tokenizer = AutoTokenizer.from_pretrained(folder)
    words = {word for i in MADE[folder]("test", 300).instances for part in i.parts for word in part.words}
    pieces = {word: tokenizer.tokenize(word) for word in words}
    assert any(len(split) > 1 for split in pieces.values())
    assert all(tokenizer.unk_token not in split for split in pieces.values())
    assert len(tokenizer) < 800
    assert tokenizer.mask_token_id is not None
    assert tokenizer.pad_token_id == 0


@FOLDERS
def test_the_card_tells_the_recipe_and_the_measured_accuracy(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    assert f"python -m verax.train.world {folder.name.removeprefix('world-')} --out DIR" in card
    assert f"| hidden | {config['hidden_size']} |" in card
    assert re.search(r"accuracy on the test split: (0\.9[5-9]|1\.0)", card)


def test_finding_them_imports_no_torch() -> None:
    code = "import sys, verax.models.shipped as s; s.world_nli(); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
