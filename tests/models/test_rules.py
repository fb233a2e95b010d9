"""Models with weights set by hand compute their rule: checked on enumerated inputs and under every removal."""

from __future__ import annotations

from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from support.rules import label_of
from verax.data.load import load_dataset
from verax.data.rules import CLAUSES, LABELS, RULES, RuleName, features, fired, rule_of, vocabulary
from verax.data.text import split_words
from verax.models.classifier import Classifier
from verax.models.encoding import PerturbedInput
from verax.models.load import load_model
from verax.models.removal import CODES
from verax.models.shipped.rules import rules_mixed, rules_word
from verax.models.subject import Subject
from verax.types import Instance

FILLER = (("the", "round", "window", "waits"), ("by", "the", "forest"))
MODELS = (*RULES, "mixed")


@cache
def loaded(model: str) -> Classifier:
    return load_model(f"rules/{model}")


def predicted(model: str, rows: list[PerturbedInput]) -> tuple[list[str], float]:
    """The classes of inputs, and the smallest lead of a class over the next one."""
    logits = loaded(model).logits(rows)
    ordered = np.sort(logits, axis=1)
    return [LABELS[number] for number in logits.argmax(1)], float((ordered[:, -1] - ordered[:, -2]).min())


def encoded(model: str, parts: list[list[str]]) -> PerturbedInput:
    instance = Instance("x", tuple(split_words(" ".join(words)) for words in parts))
    x = Subject(instance, loaded(model))
    return PerturbedInput(x.encoding, x.state)


def enumerated(rule: RuleName) -> list[list[list[str]]]:
    """Every word of the vocabulary in either part, and for each clause its features in part 0, part 1 or neither."""
    inputs = [[[*FILLER[0], word], [*FILLER[1]]] for word in vocabulary()]
    inputs += [[[*FILLER[0]], [word, *FILLER[1]]] for word in vocabulary()]
    for clause in CLAUSES[rule]:
        chosen = [*clause.present, *clause.absent]
        for turn, places in enumerate(product((0, 1, None), repeat=len(chosen))):
            parts = [[*FILLER[0]], [*FILLER[1]]]
            for feature, place in zip(chosen, places, strict=True):
                if place is not None:
                    parts[place].insert(turn % 3, feature.words[turn % len(feature.words)])
            inputs.append(parts)
    return inputs


@pytest.mark.parametrize("model", MODELS)
def test_the_model_computes_its_rule_on_every_enumerated_input(model: str) -> None:
    rules = RULES if model == "mixed" else (model,)
    inputs = [parts for rule in rules for parts in enumerated(rule)]  # type: ignore[arg-type]
    labels, lead = predicted(model, [encoded(model, parts) for parts in inputs])
    assert labels == [label_of(parts, rules) for parts in inputs]  # type: ignore[arg-type]
    assert {*labels} == {*LABELS}
    assert lead > 2.0  # logits: no answer is close


@pytest.mark.parametrize("removal", sorted(CODES))
def test_the_rule_holds_for_whatever_words_are_left(removal: str) -> None:
    """Every subset of the annotated words of an input is removed, each with a random half of the others."""
    rng = np.random.default_rng(0)
    rows, expected = [], []
    for instance in load_dataset("rules/mixed", limit=16).instances:
        x = Subject(instance, loaded("mixed"))
        reasons = [i for i, word in enumerate(x.words) if word in instance.annotated]
        for kept in product((True, False), repeat=len(reasons)):
            keep = rng.random(x.n_units) < 0.5
            keep[reasons] = kept
            rows.append(PerturbedInput(x.encoding, x.states(keep[None], removal)[0]))  # type: ignore[arg-type]
            left = [word for word, stays in zip(x.words, keep, strict=True) if stays]
            parts = [{instance.parts[p].words[w] for p, w in left if p == part} for part in (0, 1)]
            expected.append(label_of(parts))
    assert predicted("mixed", rows)[0] == expected
    assert len(rows) > 80


@pytest.mark.parametrize("name", MODELS)
def test_annotated_words_decide_and_no_others(name: str) -> None:
    data = load_dataset(f"rules/{name}", limit=80)
    for instance in data.instances:
        words = [[*part.words] for part in instance.parts]
        assert label_of(words) == instance.label
        without = [
            [word for w, word in enumerate(part) if (p, w) not in instance.annotated] for p, part in enumerate(words)
        ]
        only = [[word for w, word in enumerate(part) if (p, w) in instance.annotated] for p, part in enumerate(words)]
        assert not fired(without)
        assert label_of(only) == instance.label
        assert rule_of(instance) == (name if name != "mixed" else rule_of(instance))
    rules = [rule_of(instance) for instance in data.instances]
    assert {rules.count(rule) for rule in set(rules)} == {80 // len(set(rules))}
    assert set(rules) == ({*RULES} if name == "mixed" else {name})


def test_rules_share_no_word() -> None:
    words = [word for rule in RULES for feature in features([rule]) for word in feature.words]
    assert len(set(words)) == len(words)


def test_it_is_built_once_and_is_a_checkpoint_like_any_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = rules_mixed()
    built = (folder / "model.safetensors").stat().st_mtime_ns
    assert rules_mixed() == folder
    assert (folder / "model.safetensors").stat().st_mtime_ns == built
    assert folder.is_relative_to(tmp_path)
    assert folder != rules_word()
    assert [path.name for path in folder.parent.iterdir()].count(folder.name) == 1
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    logits = model(**tokenizer("the copper window", "the bell rests", return_tensors="pt")).logits
    assert model.config.id2label[int(logits.argmax())] == "positive"
