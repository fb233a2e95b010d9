"""The largest value of each neuron: as transformers' own hidden states say, padding left out, nothing left behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from support import tiny
from verax.data.text import split_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.questions import Hidden, Outputs
from verax.models.black_box import BlackBox
from verax.models.encoding import PerturbedInput
from verax.models.hf_classifier import HFClassifier
from verax.models.load import load_model
from verax.models.subject import Subject
from verax.types import FloatArray, Instance, UserError

ENCODERS = ("bert", "roberta", "distilbert", "xlm-roberta", "deberta-v2")


def _states(architecture: str, model: Any, batch: Any) -> tuple[torch.Tensor, ...]:
    answer = model(**batch, output_hidden_states=True)
    return answer.encoder_hidden_states if architecture == "bart" else answer.hidden_states  # type: ignore[no-any-return]


@pytest.mark.parametrize("architecture", [*ENCODERS, "bart", "gpt2"])
def test_it_is_the_maximum_of_the_hidden_states(architecture: str, instances: list[Instance]) -> None:
    """One instance at a time by transformers itself, against one padded batch; 1e-12 in float64."""
    model, tokenizer = tiny.build(architecture)
    model.double().eval()
    asked = load_model(model, tokenizer=tokenizer)
    rows = [PerturbedInput(asked.encode(i), np.zeros(len(i.units), np.int8)) for i in instances]
    expected = []
    for instance in instances:
        batch = tokenizer(*(part.raw for part in instance.parts), return_tensors="pt")
        with torch.no_grad():
            expected.append(torch.stack([state[0].amax(0) for state in _states(architecture, model, batch)]).numpy())
    together = asked.hidden(rows) if architecture in ENCODERS else np.stack([asked.hidden([row])[0] for row in rows])
    np.testing.assert_allclose(together, np.stack(expected), atol=1e-12)


def test_embeddings_come_first_behind_their_norm() -> None:
    model, tokenizer = tiny.build("bert")
    model.double().eval()
    asked = load_model(model, tokenizer=tokenizer)
    instance = Instance("1", (split_words("the small red boat"),))
    found = asked.hidden([PerturbedInput(asked.encode(instance), np.zeros(4, np.int8))])
    assert found.shape == (1, model.config.num_hidden_layers + 1, model.config.hidden_size)
    with torch.no_grad():
        embedded = model.bert.embeddings(tokenizer("the small red boat", return_tensors="pt")["input_ids"])
    np.testing.assert_allclose(found[0, 0], embedded[0].amax(0), atol=1e-12)


def test_masked_words_are_masked_and_the_model_is_left_alone() -> None:
    model, tokenizer = tiny.build("bert")
    model.double().train()
    hooks = {name: len(module._forward_hooks) for name, module in model.named_modules()}
    asked = load_model(model, tokenizer=tokenizer)
    encoding = asked.encode(Instance("1", (split_words("the small red boat"),)))
    masked = asked.hidden([PerturbedInput(encoding, np.array([0, 0, 1, 0], np.int8))])
    assert model.training
    assert {name: len(module._forward_hooks) for name, module in model.named_modules()} == hooks
    model.eval()
    batch = tokenizer("the small red boat", return_tensors="pt")
    batch["input_ids"][0, encoding.token_unit == 2] = tokenizer.mask_token_id
    with torch.no_grad():
        expected = torch.stack([state[0].amax(0) for state in model.bert(**batch, output_hidden_states=True)[2]])
    np.testing.assert_allclose(masked[0], expected, atol=1e-12)


def test_the_engine_asks_each_input_once_and_charges_it(classifier: Callable[..., HFClassifier]) -> None:
    model = classifier("bert", "float64")
    x = Subject(Instance("1", (split_words("the small red boat sails"),)), model)
    keep = np.tril(np.ones((5, 5), bool))
    ended: list[TaskResult[FloatArray]] = []

    def peek(keep: Any) -> Any:
        return (yield Hidden(x, keep))

    def kept(outcome: TaskResult[FloatArray]) -> tuple[()]:
        ended.append(outcome)
        return ()

    engine = Engine()
    engine.run([Task(peek(keep), kept), Task(peek(keep[1:3]), kept)])
    assert engine.cost.forward_asked == 7
    assert engine.cost.forward == 5
    first, second = (outcome.value for outcome in ended)
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first[1:3], second)
    alone = model.hidden([PerturbedInput(x.encoding, x.states(keep[:1], "mask")[0])])
    np.testing.assert_allclose(first[:1], alone, atol=1e-12)

    def both() -> Any:
        hidden = yield Hidden(x, keep[:1])
        logits = yield Outputs(x, keep[:1])
        return hidden, logits

    engine.run([Task(both(), kept)])
    assert engine.cost.forward == 6  # the hidden states are known; the logits are another question
    assert ended[-1].value[1].shape == (1, 3)  # type: ignore[index]


def test_a_callable_has_none() -> None:
    model = BlackBox(lambda texts: [[0.5, 0.5]] * len(texts), labels=("a", "b"), name="f", version="1")
    assert model.capabilities == {"outputs"}
    x = Subject(Instance("1", (split_words("a boat"),)), model)
    with pytest.raises(UserError, match=r"the model 'f' cannot answer Hidden: it has no hidden\(\)"):
        Engine().run([Task(_peek(x), lambda _: ())])


def _peek(x: Subject) -> Any:
    return (yield Hidden(x, np.ones((1, x.n_units), bool)))
