"""The shipped text generators load by their names, are small, know their task, and say why in words of the corpus."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from verax import evaluate
from verax.data.world import nli
from verax.models.editor_wording import read_editor_facts
from verax.models.load import load_generator
from verax.models.self_explainer import load_self_explainer
from verax.models.shipped import world_nli_editor, world_nli_mt_ra, world_nli_st_re
from verax.models.wording import shipped_wording
from verax.train.text_pairs import editor_pairs
from verax.train.world.generators import evaluate_editor, evaluate_self_explainer

EXPLAINING = ("world/nli-mt-ra", "world/nli-st-re")
FOLDERS = (world_nli_mt_ra(), world_nli_st_re(), world_nli_editor())


@pytest.mark.parametrize("name", EXPLAINING)
def test_it_is_right_and_explains_as_people_do(name: str) -> None:
    by = load_self_explainer(name, labels=nli.LABELS, parts=2)
    accuracy, as_given = evaluate_self_explainer(by, nli.load("test", 200)).values()
    assert accuracy >= 0.9
    assert as_given >= 0.8


@pytest.mark.parametrize("name", EXPLAINING)
def test_it_was_trained_on_the_prompts_that_are_shipped(name: str) -> None:
    by = load_self_explainer(name, labels=nli.LABELS, parts=2)
    assert by.wording.hash == shipped_wording("trained", nli.LABELS, 2).hash


def test_the_editor_fills_in_what_stood_there() -> None:
    data = nli.load("test", 150)
    facts, generator = read_editor_facts(world_nli_editor()), load_generator("world/nli-editor")
    golds = {instance.id: str(instance.label) for instance in data.instances}
    (same,) = evaluate_editor(generator, editor_pairs(facts, data, golds)).values()
    assert same >= 0.45


def test_the_editor_changes_predictions(tmp_path: Path) -> None:
    edits = {"counterfactual_test": {"editor": {"infill": {"path": "world/nli-editor", "positions": 2}}, "noise": 0}}
    run = evaluate(
        "world/nli-mt-ra", {"name": "world/nli", "limit": 10}, [], [edits], out=tmp_path / "run", progress=False
    )
    assert sum(score.value is not None for score in run.score_rows()) >= 8


def test_they_are_at_most_six_megabytes_together_and_nothing_but_safetensors() -> None:
    files = [file for folder in FOLDERS for file in folder.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) <= 6_000_000
    assert {file.suffix for file in files} == {".json", ".safetensors", ".md", ".txt"}


@pytest.mark.parametrize("folder", FOLDERS, ids=[folder.name for folder in FOLDERS])
def test_the_card_tells_the_recipe_and_what_was_measured(folder: Path) -> None:
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert f"python -m verax.train.world {folder.name.removeprefix('world-')} --out DIR" in card
    assert re.search(r"^- [a-z ]+: 0\.\d{4}$", card, re.MULTILINE)
    config = json.loads(next(iter(sorted(folder.rglob("config.json")))).read_text(encoding="utf-8"))
    assert config["dtype"] == "float32"
