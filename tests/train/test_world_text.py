"""The recipes of the shipped text generators: vocabulary, starting weights, what is learned, runs from end to end."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from verax.data.world import nli
from verax.data.world import splits as world_splits
from verax.models.checkpoint import load_checkpoint
from verax.models.editor_wording import EditorFacts, read_editor_facts
from verax.models.generator import GeneratePass, LikelihoodPass
from verax.models.self_explainer import SelfExplainer, load_self_explainer
from verax.models.shipped import world_nli_st_re
from verax.models.wording import Wording
from verax.train.loop import FineTuning, Trained
from verax.train.text_pairs import TrainingPair
from verax.train.text_training import fit_pairs
from verax.train.world import generators
from verax.train.world.__main__ import main
from verax.train.world.generators import (
    Generator,
    GeneratorRecipe,
    evaluate_editor,
    evaluate_self_explainer,
    keep_one_explanation,
)
from verax.train.world.start import BartShape, build_bart
from verax.train.world.tokenizers import build_text_tokenizer
from verax.types import Dataset, FloatArray, Generated, Instance, Undefined

SMALL = BartShape(hidden=32, encoder_layers=1, decoder_layers=1, heads=4, feed_forward=32)
QUICK = FineTuning(epochs=1, batch_size=16, learning_rate=1e-3)
SIZES = {"train": 48, "validation": 20, "test": 20}


@pytest.fixture(scope="module")
def data() -> Dataset:
    return nli.load("train", 300)


def texts_of(data: Dataset) -> list[str]:
    said = [part.raw for instance in data.instances for part in instance.parts]
    return said + [text for instance in data.instances if instance.human for text in instance.human.explanations]


def test_every_word_is_a_token_and_texts_come_back_as_they_were(data: Dataset) -> None:
    texts = texts_of(data)
    tokenizer = build_text_tokenizer(texts)
    for text in texts:
        ids = tokenizer(text)["input_ids"]
        assert tokenizer.decode(ids, skip_special_tokens=True) == text
        assert ids[-1] == tokenizer.eos_token_id
        assert not any(token.startswith("##") for token in tokenizer.convert_ids_to_tokens(ids))
    assert tokenizer.tokenize("The <mask> zebu.") == ["The", "<mask>", "z", "##e", "##b", "##u", "."]
    assert build_text_tokenizer(texts).get_vocab() == tokenizer.get_vocab()


def test_at_first_heads_look_at_like_words_at_neighbours_and_at_the_word_written_last(data: Dataset) -> None:
    tokenizer = build_text_tokenizer(texts_of(data))
    model = build_bart(tokenizer, replace(SMALL, hidden=128), 0).eval()
    model.set_attn_implementation("eager")
    read = tokenizer("we can see the dog in the kitchen and that a cat is red", return_tensors="pt")["input_ids"]
    written = tokenizer("cat red dog kitchen", add_special_tokens=False, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        answer = model(input_ids=read, decoder_input_ids=written, output_attentions=True)
    own, crossing = answer.encoder_attentions[0][0], answer.cross_attentions[0][0]
    places = range(4, read.shape[1] - 4)
    for head in (0, 1):
        assert [int(read[0, i]) for i in own[head].argmax(-1)] == read[0].tolist()
        assert [int(read[0, i]) for i in crossing[head].argmax(-1)] == written[0].tolist()
    steps = [[int(own[head][i].argmax()) - i for i in places] for head in (2, 3)]
    assert max(steps[0]) < 0
    assert np.mean(steps[1]) > 0.5


def test_one_explanation_is_kept_by_how_the_hypothesis_begins(data: Dataset) -> None:
    manners: dict[str, set[int]] = {}
    for instance, one in zip(data.instances, keep_one_explanation(data).instances, strict=True):
        kept = one.human
        assert kept is not None
        assert instance.human is not None
        (text,) = kept.explanations
        manners.setdefault(instance.parts[1].words[0], set()).add(instance.human.explanations.index(text))
        assert kept.words == instance.human.words
    assert manners == {"The": {0}, "We": {1}, "It": {2}, "In": {3}, "Right": {1}}
    with pytest.raises(ValueError, match="has no explanation"):
        keep_one_explanation(replace(data, instances=(replace(data.instances[0], human=None),)))


class Scripted:
    """A text generator that answers as it was told: texts for prompts, and the place of the likeliest continuation."""

    name, gives_likelihoods = "scripted", True

    def __init__(self, texts: dict[str, str], likeliest: dict[str, int]) -> None:
        self.texts, self.likeliest = texts, likeliest
        self.fingerprint: dict[str, str] = {}
        self.about: dict[str, str] = {}

    def length(self, asked: Any) -> int:
        return 1

    def generate(self, passes: Sequence[GeneratePass]) -> list[Generated | Undefined]:
        texts = [self.texts.get(one.prompt.user) for one in passes]
        return [Undefined("empty_answer") if text is None else Generated(text, "stop", 1) for text in texts]

    def likelihoods(self, passes: Sequence[LikelihoodPass]) -> list[FloatArray | Undefined]:
        return [
            np.eye(len(one.continuations))[self.likeliest[one.prompt.user]]
            if one.prompt.user in self.likeliest
            else Undefined("too_long")
            for one in passes
        ]


@pytest.mark.parametrize("setup", ["mt_ra", "st_re"])
def test_accuracy_and_explanations_as_given_are_counted(data: Dataset, setup: Any) -> None:
    four = replace(data, instances=data.instances[:4])
    golds = [data.labels.index(instance.label or "") for instance in four.instances]
    given = [instance.human.explanations[n] for n, instance in enumerate(four.instances) if instance.human]
    wording = Wording(
        "[answer]\na {2}\n[explain]\ne {2}\n[explain_label]\ne {2} {label}\n[answer_explanation]\na {2} {explanation}",
        "test",
    )
    texts, likeliest = {}, {}
    for n, (instance, gold, why) in enumerate(zip(four.instances, golds, given, strict=True)):
        answered = gold if n < 3 else (gold + 1) % 3
        told = why if n != 1 else "Because."
        hypothesis = instance.parts[1].raw
        texts[f"e {hypothesis}" if setup == "st_re" else f"e {hypothesis} {data.labels[answered]}"] = told
        likeliest[f"a {hypothesis} {told}" if setup == "st_re" else f"a {hypothesis}"] = answered
    by = Scripted(texts, likeliest)
    figures = evaluate_self_explainer(SelfExplainer("it", by, by, data.labels, wording, setup), four)
    assert list(figures.values()) == [0.75, 0.75]


def test_words_that_are_written_as_they_were_are_counted() -> None:
    pairs = [
        TrainingPair("a", "red"),
        TrainingPair("b", "in the park"),
        TrainingPair("c", "is"),
        TrainingPair("d", "big"),
    ]
    by = Scripted({"a": "red", "b": "in the garden", "d": "big"}, {})
    assert list(evaluate_editor(by, pairs).values()) == [0.5]


def test_the_command_makes_a_pair_of_generators_that_loads_and_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(world_splits, "SIZES", SIZES)
    one = Generator(SMALL, seeds=2, tuning=QUICK)
    monkeypatch.setattr(
        generators,
        "RECIPES",
        {"nli-st-re": GeneratorRecipe("st_re", {"explainer": one, "predictor": replace(one, seeds=1)})},
    )
    for name in ("made", "again"):
        main(["nli-st-re", "--out", str(tmp_path / name)])
    assert "accuracy on the test split: 0." in capsys.readouterr().out
    made = load_self_explainer(tmp_path / "made", labels=nli.LABELS, parts=2)
    assert (made.setup, made.labels) == ("st_re", nli.LABELS)
    assert made.explainer is not made.predictor
    assert made.fingerprint == load_self_explainer(tmp_path / "again", labels=nli.LABELS, parts=2).fingerprint
    card = (tmp_path / "made" / "README.md").read_text(encoding="utf-8")
    assert "python -m verax.train.world nli-st-re --out DIR" in card
    assert "| seeds | 2 |" in card


def test_a_generator_may_go_on_from_a_shipped_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_splits, "SIZES", SIZES)
    still = Generator(("world/nli-st-re", "explainer"), seeds=1, tuning=replace(QUICK, learning_rate=1e-9))
    monkeypatch.setattr(generators, "RECIPES", {"nli-mt-ra": GeneratorRecipe("mt_ra", {".": still})})
    generators.make("nli-mt-ra", tmp_path)
    facts = json.loads((tmp_path / "nle.json").read_text(encoding="utf-8"))
    assert (facts["explainer"], facts["predictor"]) == (".", ".")
    begun, made = (
        load_checkpoint(folder, "it", "float32", "cpu", "text generator")[0].state_dict()
        for folder in (world_nli_st_re() / "explainer", tmp_path)
    )
    assert all(torch.allclose(begun[name], made[name], atol=1e-6) for name in begun)


def test_an_editor_is_made_with_its_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_splits, "SIZES", SIZES)
    recipe = GeneratorRecipe(None, {".": Generator(SMALL, seeds=2, tuning=QUICK)})
    monkeypatch.setattr(generators, "RECIPES", {"nli-editor": recipe})
    learned: list[Sequence[TrainingPair]] = []
    fit = fit_pairs

    def watched(model: Any, tokenizer: Any, train: Sequence[TrainingPair], *others: Any) -> Trained:
        learned.append(train)
        return fit(model, tokenizer, train, *others)

    monkeypatch.setattr(generators, "fit_pairs", watched)
    generators.make("nli-editor", tmp_path)
    facts = read_editor_facts(tmp_path)
    assert (facts.mark, facts.labels) == ("<mask>", nli.LABELS)
    for seed in (0, 1):  # inputs of two draws have the same ids, and classes of their own
        instance = nli.load("train", 1, seed=seed).instances[0]
        (pair,) = (pair for pair in learned[0] if _undone(pair, facts, instance) == instance.label)
        assert pair.source.count("<mask>") == 1
    assert "inserts words that fit a class into an input" in (tmp_path / "README.md").read_text(encoding="utf-8")


def _undone(pair: TrainingPair, facts: EditorFacts, instance: Instance) -> str | None:
    """The class in a prompt that is about an input."""
    for label in facts.labels:
        texts = [part.raw for part in instance.parts]
        whole = facts.prompt.replace("{label}", label).replace("{1}", texts[0]).replace("{2}", texts[1])
        if pair.source.replace("<mask>", pair.target) == whole:
            return label
    return None
