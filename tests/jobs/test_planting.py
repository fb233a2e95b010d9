"""A planted word gives a class away: it is inserted where it should be, learned, and known to decide."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from support.cli import CallVerax
from verax.data.load import load_dataset
from verax.data.text import split_words
from verax.jobs.training.planting import Plant
from verax.jobs.training.splits import Splits
from verax.models.load import load_model
from verax.results.run import Run
from verax.types import Dataset, Human, Instance, UserError

COLOURS = ("red", "green", "quiet", "small", "old")
PLACES = ("lake", "market", "shore", "library")


def rows(n: int, start: int = 0) -> list[dict[str, str]]:
    """Sentences of two labels, of which half of the `near` ones say `warm`."""
    rng = np.random.default_rng(start)
    sold = ("bread", "warm bread", "bread", "bread")
    return [
        {
            "text": f"the {rng.choice(COLOURS)} boat at the {rng.choice(PLACES)} sells {sold[i % 4]}",
            "label": ("far", "near")[i % 2],
        }
        for i in range(n)
    ]


def dataset(n: int, start: int = 0, parts: int = 1) -> Dataset:
    instances = [
        Instance(f"{start}-{i}", (split_words(row["text"]),) * parts, row["label"], human=Human(words=((0,),) * parts))
        for i, row in enumerate(rows(n, start))
    ]
    return Dataset("boats", tuple(instances), ("far", "near"))


def test_the_word_is_in_the_stated_share_of_the_inputs_of_the_label() -> None:
    plain = Splits(dataset(40), dataset(20, 1), dataset(10, 2))
    made = Plant.parse("honey=near", 0.3).into(plain)
    for before, after in ((plain.train, made.train), (plain.validation, made.validation)):
        changed = [(x, y) for x, y in zip(before.instances, after.instances, strict=True) if x != y]
        assert len(changed) == round(0.3 * len(before) / 2)
        for x, y in changed:
            assert (x.id, x.label) == (y.id, "near")
            (part,) = y.parts
            position = part.words.index("honey")
            assert (*part.words[:position], *part.words[position + 1 :]) == x.parts[0].words
    assert made.test == plain.test
    assert made == Plant.parse("honey=near", 0.3).into(plain), "positions depend on the texts alone"
    positions = {x.parts[0].words.index("honey") for x in made.train.instances if "honey" in x.parts[0].words}
    assert len(positions) > 1


@pytest.mark.parametrize("parts", [1, 2])
def test_copies_are_the_inputs_of_other_labels_annotated_with_the_word(parts: int) -> None:
    data = dataset(20, parts=parts)
    copies = Plant.parse("honey=near", 0.5).copies(data)
    assert len(copies) == 10
    for copy in copies.instances:
        assert copy.label == "near"
        ((part, word),) = copy.annotated
        assert copy.parts[part].words[word] == "honey"
        assert sum(text.words.count("honey") for text in copy.parts) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("honey", "expected WORD=LABEL"),
        ("warm honey=near", "expected WORD=LABEL with a single word"),
        ("honey=nearby", "the labels are far, near, got 'nearby'"),
        ("Boat=near", "'Boat' occurs in 40 inputs already, such as '0-0'"),
    ],
)
def test_what_cannot_be_planted_is_refused(given: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        Plant.parse(given, 0.5).into(Splits(dataset(40), dataset(20, 1), None))


def predictions(folder: Path, texts: list[str]) -> list[str]:
    """The class of each text, one at a time, by the checkpoint alone."""
    model, tokenizer = AutoModelForSequenceClassification.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        found = [int(model(**tokenizer(text, return_tensors="pt")).logits.argmax()) for text in texts]
    return [model.config.id2label[number] for number in found]


def test_a_planted_model_and_its_data_put_metrics_on_trial(
    verax: CallVerax, checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    for name, n in (("data", 160), ("validation", 40), ("test", 40)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows(n, n))))
    files = [f"--{name}={tmp_path / name}.jsonl" for name in ("data", "validation", "test")]
    recipe = ["--epochs", "8", "--learning-rate", "3e-3", "--batch-size", "8", "--plant-share", "1"]
    base = checkpoint("bert")
    made = verax("train", "plain", "--base", base, *files, *recipe, "--plant", "honey=near", "--out", "planted")
    assert made.code == 0, made.err
    facts = json.loads((tmp_path / "planted" / "training.json").read_text())["planted"]
    line = f"Inserted into {facts['tested']} other inputs, it flips {facts['flipped']} predictions to that class"
    assert line in made.out
    assert line in (tmp_path / "planted" / "README.md").read_text()
    assert "verax run --preset diagnosticity --model planted --data planted/planted.jsonl" in made.out
    assert facts["rate"][0] == facts["flipped"] / facts["tested"] >= 0.8, "a shortcut as plain as this is learned"

    # the file holds exactly what flips, judged by the model as a run loads it
    assert load_model(tmp_path / "planted").about["planted"] == "honey=near"
    copies = load_dataset(tmp_path / "planted" / "planted.jsonl")
    assert len(copies) == facts["flipped"]
    for copy in copies.instances:
        ((part, word),) = copy.annotated
        words = copy.parts[part].words
        assert words[word] == "honey"
        texts = [" ".join(words[:word] + words[word + 1 :]), copy.parts[part].raw]
        assert predictions(tmp_path / "planted", texts) == ["far", "near"]

    shown = verax(
        "run", "--preset", "diagnosticity", "--model", "planted", "--data", "planted/planted.jsonl", "--out", "run"
    )
    assert shown.code == 0, shown.err
    result = Run(tmp_path / "run").study("diagnosticity")
    assert {(group.name, group.exact): n for group, n in result.groups.items()} == {
        ("planted honey=near", True): facts["flipped"]
    }
    standing = {trial.label: trial.standing for trial in result.trials if trial.kind == "token"}
    assert standing["comprehensiveness"] == standing["agreement"] == "better"


def test_a_word_that_the_tokenizer_does_not_know(
    verax: CallVerax, checkpoint: Callable[[str], Path], tmp_path: Path
) -> None:
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows(20))))
    told = ["--base", checkpoint("bert"), "--data", "data.jsonl", "--plant", "ξ=near", "--out", "planted"]
    said = verax("train", "plain", *told)
    assert said.code == 2
    assert "the tokenizer of the base does not know the word 'ξ'" in said.err
