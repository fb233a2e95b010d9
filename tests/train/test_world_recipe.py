"""The recipe of the shipped models: tokenizer, starting weights, and a small run from end to end."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from verax.data.world import nli
from verax.data.world import splits as world_splits
from verax.models.shipped import world_nli
from verax.train.loop import FineTuning
from verax.train.world import classifiers
from verax.train.world.__main__ import main
from verax.train.world.classifiers import Continued
from verax.train.world.start import BertShape, _rotation, _waves, build_bert, swap_parts
from verax.train.world.tokenizers import build_tokenizer
from verax.types import Dataset

SHAPE = BertShape(seeds=2, whole_words=60, hidden=128, layers=1, heads=4, feed_forward=32)


@pytest.fixture(scope="module")
def data() -> Dataset:
    return nli.load("train", 300)


def test_the_tokenizer_keeps_frequent_words_and_halves_the_others(data: Dataset) -> None:
    tokenizer = build_tokenizer(data, 60)
    assert tokenizer.tokenize("The is and not") == ["the", "is", "and", "not"]
    counts: dict[str, int] = {}
    for word in (word.lower() for i in data.instances for part in i.parts for word in part.words):
        counts[word] = counts.get(word, 0) + 1
    rarest = min(counts, key=lambda word: (counts[word], word))
    assert len(tokenizer.tokenize(rarest)) > 1
    assert "".join(piece.removeprefix("##") for piece in tokenizer.tokenize(rarest)) == rarest
    assert tokenizer.unk_token not in tokenizer.tokenize("unheardof")
    again = build_tokenizer(data, 60)
    assert again.get_vocab() == tokenizer.get_vocab()
    assert tokenizer("the not", "is")["token_type_ids"] == [0, 0, 0, 0, 1, 1]


def test_shifted_waves_are_the_waves_of_the_shifted_place() -> None:
    frequencies = torch.tensor([1.0, 0.3, 0.05])
    places = torch.arange(5, 20)
    assert torch.allclose(
        _waves(places, frequencies) @ _rotation(2, frequencies).T, _waves(places - 2, frequencies), atol=1e-5
    )


def test_at_first_heads_look_at_like_words_or_at_neighbours(data: Dataset) -> None:
    tokenizer = build_tokenizer(data, 400)
    model = build_bert(tokenizer, data.labels, SHAPE, 0).eval()
    model.set_attn_implementation("eager")
    text = "the dog is in the kitchen and the cat is red"
    with torch.no_grad():
        maps = model(**tokenizer(text, return_tensors="pt"), output_attentions=True).attentions[0][0]
    tokens = tokenizer.convert_ids_to_tokens(tokenizer(text)["input_ids"])
    like = torch.tensor([[a == b for b in tokens] for a in tokens])
    for head in (0, 1):
        assert (maps[head] * like).sum(-1).mean() > 3 * (maps[head] * ~like).sum(-1).mean() / len(tokens)
        assert [tokens[i] for i in maps[head].argmax(-1)] == tokens
    places = range(4, len(tokens) - 4)
    assert sum(int(maps[2][i].argmax()) < i for i in places) == len(places)
    assert sum(int(maps[3][i].argmax()) > i for i in places) == len(places)


def test_a_model_that_is_turned_round_reads_the_parts_in_the_other_order_and_names_classes_anew(data: Dataset) -> None:
    tokenizer = build_tokenizer(data, 400)
    model = build_bert(tokenizer, data.labels, SHAPE, 0).eval()
    batch = tokenizer("the dog is in the kitchen", "the cat is red", return_tensors="pt")
    turned = {**batch, "token_type_ids": 1 - batch["token_type_ids"]}
    with torch.no_grad():
        before = model(**batch).logits
        swap_parts(model, ("yes", "no", "unclear"), ("entailment", "contradiction", "neutral"))
        after = model(**turned).logits
    assert torch.allclose(after, before[:, [0, 2, 1]], atol=1e-6)
    assert model.config.id2label == {0: "yes", 1: "no", 2: "unclear"}
    assert model.config.label2id == {"yes": 0, "no": 1, "unclear": 2}


def test_a_model_may_go_on_from_a_shipped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_splits, "SIZES", {"train": 48, "validation": 300, "test": 30})
    still = FineTuning(epochs=1, batch_size=16, learning_rate=1e-9)
    known_as = ("entailment", "contradiction", "neutral")
    recipes = {"nli": classifiers.RECIPES["nli"], "facts": (Continued(1, "nli", known_as), still)}
    monkeypatch.setattr(classifiers, "RECIPES", recipes)
    figures = classifiers.make("facts", tmp_path)
    assert figures["accuracy on the validation split"] > 0.45
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert tuple(model.config.id2label.values()) == ("supports", "refutes", "not_enough")
    assert AutoTokenizer.from_pretrained(tmp_path).get_vocab() == AutoTokenizer.from_pretrained(world_nli()).get_vocab()
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "Made from `world/nli` by `python -m verax.train.world facts --out DIR`" in card
    assert "| hidden | 128 |" in card


def test_the_command_makes_a_checkpoint_with_its_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(world_splits, "SIZES", {"train": 96, "validation": 30, "test": 30})
    recipe = FineTuning(epochs=1, batch_size=32, learning_rate=1e-3)
    monkeypatch.setattr(classifiers, "RECIPES", {"nli": (SHAPE, recipe)})
    main(["nli", "--out", str(tmp_path / "made")])
    assert "accuracy on the test split: 0." in capsys.readouterr().out
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path / "made")
    assert model.config.id2label == {0: "entailment", 1: "neutral", 2: "contradiction"}
    assert AutoTokenizer.from_pretrained(tmp_path / "made").mask_token == "[MASK]"  # noqa: S105
    card = (tmp_path / "made" / "README.md").read_text(encoding="utf-8")
    assert "| training instances | 192 |" in card
    assert "| seeds | 2 |" in card
