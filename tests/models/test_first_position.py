"""The last layer at one position only: who may, and that the answer is the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from transformers import BertForSequenceClassification

from support import tiny
from verax.models.first_position import last_layer, only_first_position

SHORTENED = ("bert", "roberta", "distilbert", "xlm-roberta", "deberta-v2")


@pytest.mark.parametrize("architecture", SHORTENED)
@pytest.mark.parametrize("whole_attention", [False, True])
@pytest.mark.parametrize("implementation", ["sdpa", "eager"])
def test_logits_and_gradients_are_the_same(architecture: str, whole_attention: bool, implementation: str) -> None:
    """1e-6 in float32; padding and attention masks included, in both forms that transformers gives them."""
    if architecture == "deberta-v2":  # has no other
        implementation = "eager"
    model, tokenizer = tiny.build(architecture, attn_implementation=implementation)
    batch = tokenizer(["the small red boat sails", "a lake"], padding=True, return_tensors="pt")
    last = last_layer(model)
    assert last is not None
    seen = []
    hook = last.after.register_forward_hook(lambda _, __, output: seen.append(output.shape[1]))

    def answers() -> tuple[np.ndarray, np.ndarray]:
        model.zero_grad()
        logits = model(**batch).logits
        logits[:, 1].sum().backward()
        return logits.detach().numpy(), model.get_input_embeddings().weight.grad.numpy().copy()

    whole, slope = answers()
    with only_first_position(last, whole_attention=whole_attention):
        short, short_slope = answers()
    again, _ = answers()
    hook.remove()
    assert np.abs(short - whole).max() <= 1e-6
    assert np.abs(short_slope - slope).max() <= 1e-6
    assert (again == whole).all(), "the hook is gone"
    assert seen == [batch["input_ids"].shape[1], 1, batch["input_ids"].shape[1]]


@pytest.mark.parametrize("architecture", ["bart", "gpt2", "llama"])
def test_others_run_whole(architecture: str) -> None:
    model, _ = tiny.build(architecture)
    assert last_layer(model) is None


class ReadsAll(BertForSequenceClassification):
    """Somebody's own classifier, which may read any position."""


def test_a_class_of_ones_own_runs_whole() -> None:
    model, _ = tiny.build("bert")
    assert last_layer(ReadsAll(model.config)) is None


@pytest.mark.parametrize("option", [{"num_hidden_layers": 1}, {"chunk_size_feed_forward": 2}])
def test_layers_that_count_on_all_positions_run_whole(option: dict[str, Any]) -> None:
    model, _ = tiny.build("bert")
    config = model.config
    for name, value in option.items():
        setattr(config, name, value)
    assert last_layer(BertForSequenceClassification(config)) is None


def test_an_error_leaves_no_hook_behind() -> None:
    model, _ = tiny.build("bert")
    last = last_layer(model)
    with pytest.raises(IndexError), only_first_position(last):
        model(input_ids=torch.tensor([[10**6]]))
    assert last is not None
    assert last.attention is not None
    assert not last.after._forward_pre_hooks
    assert "forward" not in vars(last.attention)
