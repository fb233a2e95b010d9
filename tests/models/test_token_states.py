"""Hidden states of tokens behind a layer: transformers' own, without computing what lies above."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from support import tiny
from verax.data.text import split_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.questions import TokenStates
from verax.models.black_box import BlackBox
from verax.models.classifier import StatesPass
from verax.models.encoding import PerturbedInput
from verax.models.load import load_encoder, load_model
from verax.models.subject import Subject
from verax.types import FloatArray, Instance, UserError

ARCHITECTURES = ("bert", "roberta", "distilbert", "xlm-roberta", "deberta-v2", "bart", "gpt2", "llama")


def _row(asked: Any, instance: Instance) -> PerturbedInput:
    return PerturbedInput(asked.encode(instance), np.zeros(len(instance.units), np.int8))


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_they_are_those_of_transformers(architecture: str, instances: list[Instance]) -> None:
    """Every layer, in batches of inputs that may share one, against one input at a time; 1e-12 in float64."""
    model, tokenizer = tiny.build(architecture)
    model.double().eval()
    asked = load_model(model, tokenizer=tokenizer)
    padded = architecture not in {"bart", "gpt2", "llama"}
    for instance in instances:
        batch = tokenizer(*(part.raw for part in instance.parts), return_tensors="pt")
        with torch.no_grad():
            answer = model(**batch, output_hidden_states=True)
        states = answer.encoder_hidden_states if architecture == "bart" else answer.hidden_states
        beside = instances if padded else [instance]
        for layer in range(asked.layers + 1):
            found = asked.token_states([StatesPass(_row(asked, one), layer) for one in beside])
            np.testing.assert_allclose(found[beside.index(instance)], states[layer][0].numpy(), atol=1e-12)


def test_layers_above_are_not_run_and_the_model_is_left_alone() -> None:
    model, tokenizer = tiny.build("bert")
    model.train()
    asked = load_model(model, tokenizer=tokenizer)
    hooks = {name: len(module._forward_hooks) for name, module in model.named_modules()}
    ran: list[int] = []
    for number, layer in enumerate(model.bert.encoder.layer):
        forward = layer.forward
        layer.forward = lambda *a, number=number, forward=forward, **k: (ran.append(number), forward(*a, **k))[1]
    asked.token_states([StatesPass(_row(asked, Instance("1", (split_words("the small boat"),))), 1)])
    assert ran == [0]
    assert model.training
    assert {name: len(module._forward_hooks) for name, module in model.named_modules()} == hooks


def test_a_layer_that_is_not_there_is_the_users_mistake() -> None:
    model, tokenizer = tiny.build("bert")
    asked = load_model(model, tokenizer=tokenizer)
    row = _row(asked, Instance("1", (split_words("the small boat"),)))
    with pytest.raises(UserError, match=f"layer: got 9; the model .* has {asked.layers}"):
        asked.token_states([StatesPass(row, 9)])


def test_an_encoder_is_what_lies_below_the_head(checkpoint: Callable[[str], Path]) -> None:
    folder = checkpoint("bert")
    with_head, without = load_model(folder), load_encoder(folder)
    instance = Instance("1", (split_words("the small red boat"), split_words("it sails")))
    for layer in range(without.layers + 1):
        a, b = (one.token_states([StatesPass(_row(one, instance), layer)])[0] for one in (with_head, without))
        np.testing.assert_allclose(a, b, atol=1e-6)
    assert without.labels == ()


def test_the_engine_asks_once_for_what_two_want(checkpoint: Callable[[str], Path]) -> None:
    encoder = load_encoder(checkpoint("bert"))
    x = Subject(Instance("1", (split_words("the small red boat"),)), encoder)
    ended: list[TaskResult[FloatArray]] = []

    def asks(layer: int) -> Any:
        return (yield TokenStates(x, layer))

    engine = Engine()
    engine.run([Task(asks(layer), lambda outcome: ended.append(outcome) or ()) for layer in (1, 1, 2)])  # type: ignore[func-returns-value]
    assert (engine.cost.forward_asked, engine.cost.forward) == (3, 2)
    first, second, third = (outcome.value for outcome in ended)
    assert first is not None
    assert second is not None
    assert third is not None
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, third)


def test_a_callable_has_no_states() -> None:
    model = BlackBox(lambda texts: np.full((len(texts), 2), 0.5), labels=("a", "b"), name="half", version="1")
    x = Subject(Instance("1", (split_words("a boat"),)), model)

    def asks() -> Any:
        return (yield TokenStates(x, 0))

    with pytest.raises(UserError, match="the model 'half' cannot answer TokenStates"):
        Engine().run([Task(asks(), lambda _: ())])
