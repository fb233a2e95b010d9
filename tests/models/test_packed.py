"""Packed weights: the same answers, the model as it was, and never older than the weights themselves."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from support import tiny
from verax.data.text import split_words
from verax.models.encoding import PerturbedInput
from verax.models.load import load_model
from verax.models.packed import PackedLinears, _can_pack, _packing_pays
from verax.models.untouched import embedded, stopped_after, word_embeddings
from verax.types import Instance


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_answers_are_the_same_and_the_model_is_as_it_was(architecture: str) -> None:
    """1e-6 in float32; afterwards no layer has a forward of its own."""
    model, tokenizer = tiny.build(architecture)
    batch = {"input_ids": tokenizer("the small red boat sails", return_tensors="pt")["input_ids"]}
    packed = PackedLinears(model)
    with torch.inference_mode():
        plain = model(**batch).logits
        with packed.in_use():
            quick = model(**batch).logits
    assert (plain - quick).abs().max() <= 1e-6
    assert not any("forward" in vars(module) for module in model.modules())


def test_layers_are_really_packed_where_they_can_be() -> None:
    model, _ = tiny.build("bert")
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    packed = PackedLinears(model)
    assert len(packed._layers) == (len(linear) if _can_pack() else 0)
    with torch.inference_mode(), packed.in_use():
        assert sum("forward" in vars(module) for module in linear) == len(packed._layers)


@pytest.mark.parametrize("packing_pays", [True, False])
def test_layers_are_packed_unless_the_own_product_is_clearly_faster(
    packing_pays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a clock of the test: calls come in turns, torch's own product first."""
    seconds = iter([1.0, 1.05, 3.0, 9.0, 9.0, 9.0] if packing_pays else [1.0, 1.2, 3.0, 9.0, 9.0, 1.15])
    monkeypatch.setattr("verax.models.packed._packing_pays", _packing_pays)
    monkeypatch.setattr("verax.models.packed._seconds", lambda call: (call(), next(seconds))[1])
    model, _ = tiny.build("bert")
    assert bool(PackedLinears(model)._layers) == (packing_pays and _can_pack())


def test_only_layers_that_are_called_are_packed() -> None:
    """A call that ends behind the first layer does without those above it."""
    model, tokenizer = tiny.build("bert")
    packed = PackedLinears(model)
    ids = tokenizer("the small red boat", return_tensors="pt")["input_ids"]
    with torch.inference_mode(), packed.in_use(), stopped_after(model.bert.encoder.layer[0]):
        model(input_ids=ids)
    first = {id(module) for module in model.bert.encoder.layer[0].modules()}
    assert all((layer.forwards.matrix is not None) == (id(layer.module) in first) for layer in packed._layers)


def test_weights_that_are_trained_on_are_packed_again() -> None:
    """A step of an optimiser between two questions is seen by the second."""
    model, tokenizer = tiny.build("bert")
    classifier = load_model(model, tokenizer=tokenizer)
    encoding = classifier.encode(Instance("x", (split_words("the small red boat"),)))
    row = PerturbedInput(encoding, np.zeros(len(encoding.units), np.int8))
    before = classifier.logits([row])
    optimiser = torch.optim.SGD(model.parameters(), lr=0.5)
    ids = torch.tensor(encoding.token_ids[None])
    model(input_ids=ids).logits[0, 0].backward()
    optimiser.step()
    with torch.no_grad():
        by_hand = model(input_ids=ids).logits.numpy()
    assert np.abs(classifier.logits([row]) - by_hand).max() <= 1e-6
    assert np.abs(before - by_hand).max() > 1e-3


def test_other_precisions_and_large_models_compute_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    model, _ = tiny.build("bert")
    assert PackedLinears(model.double())._layers == []
    monkeypatch.setattr("verax.models.packed.MOST_BYTES", 1000)
    assert PackedLinears(model.float())._layers == []


@pytest.mark.parametrize("architecture", tiny.ARCHITECTURES)
def test_gradients_at_the_inputs_are_the_same(architecture: str) -> None:
    """1e-6 of the largest in float32, at the word embeddings."""
    model, tokenizer = tiny.build(architecture)
    ids = tokenizer("the small red boat sails", return_tensors="pt")["input_ids"]
    packed = PackedLinears(model)

    def gradient() -> torch.Tensor:
        embeds = word_embeddings(model)(ids).detach().requires_grad_()
        with embedded(model, ids, embeds):
            logits = model(input_ids=ids).logits
        return torch.autograd.grad(logits[:, 0].sum(), embeds)[0]

    plain = gradient()
    with packed.in_use():
        quick = gradient()
    assert (plain - quick).abs().max() <= 1e-6 * plain.abs().max()
    used = [layer for layer in packed._layers if layer.backwards.matrix is not None]
    assert bool(used) == _can_pack()


def test_an_error_leaves_no_forward_behind() -> None:
    model, _ = tiny.build("bert")
    with pytest.raises(IndexError), torch.inference_mode(), PackedLinears(model).in_use():
        model(input_ids=torch.tensor([[10**6]]))
    assert not any("forward" in vars(module) for module in model.modules())
