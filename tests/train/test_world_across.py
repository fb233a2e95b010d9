"""The recipe for several languages: its vocabulary, the start by alignments, and a small run from end to end."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, BertForSequenceClassification

from verax.data.world import splits as world_splits
from verax.data.world import xnli
from verax.data.world.languages.realisation import LANGUAGES
from verax.models.shipped import world_nli, world_xnli
from verax.train.loop import FineTuning
from verax.train.world import classifiers
from verax.train.world.classifiers import Multilingual, widen_embeddings
from verax.train.world.tokenizers import widen_tokenizer
from verax.types import Dataset

TINY = Multilingual("nli", inputs=30, mixed=40, whole_words=40, aligned=120, held_back=("bg", "zh"), few=6)
STILL = FineTuning(epochs=1, batch_size=16, learning_rate=1e-9)


@pytest.fixture(scope="module")
def parallel() -> Dataset:
    return xnli.load("train", 300)


def base_tokens() -> list[str]:
    numbers = AutoTokenizer.from_pretrained(world_nli()).get_vocab()
    return sorted(numbers, key=numbers.__getitem__)


def test_the_vocabulary_goes_on_from_another_one_and_can_read_every_language(parallel: Dataset) -> None:
    base = base_tokens()
    tokenizer = widen_tokenizer(base, parallel, 60)
    assert tokenizer.convert_ids_to_tokens(list(range(len(base)))) == base
    cut: Counter[str] = Counter()
    for instance in parallel.instances:
        for part in instance.parts:
            pieces = tokenizer.tokenize(part.raw)
            assert tokenizer.unk_token not in pieces
            assert "".join(piece.removeprefix("##") for piece in pieces) == part.raw.lower().replace(" ", "")
            cut[instance.lang] += sum(piece.startswith("##") for piece in pieces)
            if instance.lang == "zh":
                assert all(len(piece) == 1 for piece in pieces)
    assert min(cut[lang] for lang in LANGUAGES if lang != "zh") > 20
    assert not cut["zh"]


def test_words_are_cut_before_their_ending(parallel: Dataset) -> None:
    tokenizer = widen_tokenizer(base_tokens(), parallel, 60)
    assert tokenizer.tokenize("Küche") != tokenizer.tokenize("Kuche")
    cut = widen_tokenizer(base_tokens(), parallel, 0)
    assert cut.tokenize("pequeño petites скъпа") == ["pequeñ", "##o", "petit", "##es", "скъп", "##а"]
    assert cut.tokenize("Schneeweiß") == ["schneeweiß"]  # the stem of schneeweiße and schneeweißer


def test_new_tokens_begin_where_the_words_are_that_they_translate(parallel: Dataset) -> None:
    model = BertForSequenceClassification.from_pretrained(world_nli())
    known = AutoTokenizer.from_pretrained(world_nli())
    tokenizer = widen_tokenizer(base_tokens(), parallel, 1000)
    old = model.get_input_embeddings().weight.detach().clone()
    without_chinese = replace(parallel, instances=tuple(i for i in parallel.instances if i.lang != "zh"))
    widen_embeddings(model, known, tokenizer, without_chinese, 0)
    new = model.get_input_embeddings().weight.detach()
    assert new.shape[0] == len(tokenizer)
    assert torch.equal(new[: len(old)], old)

    def nearest(word: str) -> str:
        row = new[tokenizer.convert_tokens_to_ids(word)]
        alike = torch.cosine_similarity(old, row[None], dim=1)
        return str(known.convert_ids_to_tokens(int(alike.argmax())))

    for word, english in (("nicht", "not"), ("pas", "not"), ("katze", "cat"), ("oveja", "sheep"), ("не", "not")):
        assert nearest(word) == english
    chinese = new[tokenizer.convert_tokens_to_ids("猫")]
    assert torch.cosine_similarity(old, chinese[None], dim=1).max() < 0.5


def test_languages_that_are_held_back_have_few_inputs_and_no_mixed_ones() -> None:
    data = classifiers.training_data("xnli-uneven", TINY)
    plain = Counter(i.lang for i in data.instances if i.parallel_id is not None)
    assert plain == {"en": 30, "de": 30, "es": 30, "fr": 30, "bg": 6, "zh": 6}
    mixed = [i for i in data.instances if i.parallel_id is None]
    assert len(mixed) == 40
    assert {part.lang for i in mixed for part in i.parts} == {"en", "de", "es", "fr"}
    assert TINY.favoured == ("en", "de", "es", "fr")


def test_the_start_alone_knows_the_aligned_languages_and_not_those_held_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world_splits, "SIZES", {"train": 1000, "validation": 10, "test": 120})
    monkeypatch.setattr(classifiers, "RECIPES", {"nli": classifiers.RECIPES["nli"], "xnli-uneven": (TINY, STILL)})
    figures = classifiers.make("xnli-uneven", tmp_path)
    by_lang = {lang: figures[f"accuracy on the test split, {lang}"] for lang in LANGUAGES}
    assert by_lang["en"] > 0.85
    assert min(by_lang["de"], by_lang["es"]) > 0.6
    assert max(by_lang["bg"], by_lang["zh"]) < 0.55
    model = AutoModelForSequenceClassification.from_pretrained(tmp_path)
    assert model.config.id2label == {0: "entailment", 1: "neutral", 2: "contradiction"}
    card = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "built-in corpus `world/xnli`" in card
    assert "Made from `world/nli` by `python -m verax.train.world xnli-uneven --out DIR`" in card
    assert f"- accuracy on the test split, de: {by_lang['de']:.4f}\n" in card
    assert "| held_back | ('bg', 'zh') |" in card
    assert "| seeds |" not in card


def test_the_shipped_model_is_good_in_every_language_and_small() -> None:
    folder = world_xnli()
    assert sum(file.stat().st_size for file in folder.iterdir()) <= 4_000_000
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    figures = classifiers.split_accuracies(model, AutoTokenizer.from_pretrained(folder), xnli.load("test", 200))
    for lang in LANGUAGES:
        assert figures[f"accuracy on the test split, {lang}"] >= 0.9, figures
