"""Plain training: it learns, it repeats itself bit for bit, it keeps the best epoch, its schedule is the stated one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertForSequenceClassification

from verax.data.text import split_words
from verax.train import fine_tuning
from verax.train.fine_tuning import accuracy, fit
from verax.train.loop import FineTuning, parameter_groups, rate
from verax.train.rows import batches, gold_classes
from verax.train.world.start import BertShape, build_bert
from verax.train.world.tokenizers import build_tokenizer
from verax.types import Dataset, Instance, UserError

SHAPE = BertShape(seeds=1, whole_words=12, hidden=16, layers=1, heads=2, feed_forward=16)
ANIMALS, COLOURS = ("dog", "cat", "owl", "hen"), ("red", "blue", "pink", "grey")


def _data(labels: tuple[str, ...] = ("even", "odd")) -> Dataset:
    """Odd if the first text names a bird."""
    instances = [
        Instance(
            f"{colour} {a} {b}",
            (split_words(f"a {colour} {a} sits here"), split_words(f"here is a {b}")),
            labels[a in {"owl", "hen"}],
        )
        for colour in COLOURS
        for a in ANIMALS
        for b in ANIMALS
    ]
    return Dataset("toy", tuple(instances), labels)


def _model(data: Dataset, seed: int = 0) -> tuple[BertForSequenceClassification, Any]:
    tokenizer = build_tokenizer(data, SHAPE.whole_words)
    return build_bert(tokenizer, data.labels, SHAPE, seed), tokenizer


RECIPE = FineTuning(epochs=12, batch_size=4, learning_rate=5e-3, warmup=0.1)


def test_a_tiny_model_learns_a_tiny_task_and_the_same_seed_gives_the_same_bits() -> None:
    data = _data()
    weights = []
    before = torch.random.get_rng_state()
    for _ in range(2):
        model, tokenizer = _model(data)
        assert accuracy(model, tokenizer, data) < 0.9
        trained, _ = fit(model, tokenizer, data, data, RECIPE)
        assert accuracy(model, tokenizer, data) == max(trained.curves["none"]) > 0.95
        assert trained.losses[-1] < trained.losses[0]
        assert not model.training
        weights.append(model.state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert torch.equal(before, torch.random.get_rng_state())


def test_another_seed_gives_other_weights() -> None:
    data = _data()
    found = []
    for seed in (0, 1):
        model, tokenizer = _model(data)
        fit(model, tokenizer, data, data, FineTuning(epochs=1, batch_size=8, learning_rate=1e-3, seed=seed))
        found.append(model.classifier.weight)
    assert not torch.equal(*found)


def test_the_best_epoch_is_kept_not_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _data()
    model, tokenizer = _model(data)
    seen: list[torch.Tensor] = []
    scores = iter((0.5, 0.8, 0.8, 0.6))

    def validate(_: Any) -> dict[str, float]:
        seen.append(model.classifier.weight.detach().clone())
        return {"none": next(scores)}

    monkeypatch.setattr(fine_tuning._ClassifierTraining, "_validate", validate)
    trained, _ = fit(model, tokenizer, data, data, FineTuning(epochs=4, batch_size=8, learning_rate=1e-3))
    assert trained.best == {"none": 1}
    assert trained.curves == {"none": [0.5, 0.8, 0.8, 0.6]}
    assert torch.equal(model.classifier.weight, seen[1])
    assert not torch.equal(seen[1], seen[3])


def test_the_learning_rate_rises_then_falls_to_zero_by_the_step() -> None:
    rates = [rate(step, 100, 0.1) for step in range(101)]
    assert rates[10] == max(rates) == 1.0
    assert np.allclose(np.diff(rates[:11]), 1 / 11)
    assert np.allclose(np.diff(rates[10:]), -1 / 90)
    assert rates[100] == 0.0
    assert rate(0, 10, 0.0) == 1.0


def test_biases_and_norms_do_not_decay() -> None:
    model, _ = _model(_data())
    decayed, spared = parameter_groups(model, 0.01)
    names = {id(weight): name for name, weight in model.named_parameters()}
    assert (decayed["weight_decay"], spared["weight_decay"]) == (0.01, 0.0)
    assert all("LayerNorm" in names[id(w)] or names[id(w)].endswith("bias") for w in spared["params"])
    assert not any("LayerNorm" in names[id(w)] or names[id(w)].endswith("bias") for w in decayed["params"])
    assert len(decayed["params"]) + len(spared["params"]) == len(names)


def test_batches_hold_every_instance_once_and_like_lengths_together() -> None:
    lengths = [int(n) for n in np.random.default_rng(0).integers(5, 60, 1000)]
    cut = batches(lengths, 16, np.random.default_rng(0))
    assert sorted(i for batch in cut for i in batch) == list(range(1000))
    spreads = [max(lengths[i] for i in batch) - min(lengths[i] for i in batch) for batch in cut]
    assert np.mean(spreads) < 6
    assert cut != batches(lengths, 16, np.random.default_rng(1))


def test_gold_classes_are_the_models_own_numbers() -> None:
    data = _data()
    model, _ = _model(Dataset("toy", data.instances, data.labels[::-1]))
    expected = [["odd", "even"].index(i.label or "") for i in data.instances]
    assert gold_classes(model, data).tolist() == expected


def test_a_users_mistakes_are_told_in_one_line() -> None:
    data = _data()
    model, tokenizer = _model(data)
    with pytest.raises(UserError, match="has the label 'strange'; training needs one of even, odd"):
        fit(model, tokenizer, _data(("even", "strange")), data, RECIPE)
    with pytest.raises(UserError, match="validation: the dataset is empty"):
        fit(model, tokenizer, data, Dataset("none", (), data.labels), RECIPE)
    three = Instance("x", (split_words("a"), split_words("b"), split_words("c")), "even")
    with pytest.raises(UserError, match=r"has 3 part\(s\)"):
        accuracy(model, tokenizer, Dataset("three", (three,), data.labels))
