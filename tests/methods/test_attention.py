"""Attention weights against the maps that transformers gives, and the choice of head against hooks on the heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from support import tiny
from verax.api import explain
from verax.data.text import split_words
from verax.methods.attention import AttentionWeights
from verax.models.classifier import Classifier
from verax.models.load import load_model
from verax.types import Instance, Target, UserError

PAIR = ("The small red boat sails across the quiet lake.", "nobody is watching the boat")
TOLERANCE = 1e-12


@pytest.fixture(scope="module", params=tiny.ARCHITECTURES)
def subject(request: pytest.FixtureRequest) -> tuple[str, Any, Any, Classifier]:
    model, tokenizer = tiny.build(request.param)
    model = model.double()
    return request.param, model, tokenizer, load_model(model, tokenizer=tokenizer)


def map_by_hand(architecture: str, checkpoint: Any, encoding: Any, layer: int) -> np.ndarray:
    """From the reading position to every token, shape [heads, tokens], of a copy with open attention."""
    inputs = {"input_ids": torch.tensor(encoding.token_ids[None])}
    if architecture == "bert":
        inputs["token_type_ids"] = torch.tensor(encoding.type_ids[None])
    with torch.no_grad():
        answer = checkpoint(**inputs, output_attentions=True)
    if architecture == "bart":
        marks = np.flatnonzero(encoding.token_ids == checkpoint.config.eos_token_id)
        return answer.cross_attentions[layer][0, :, marks[-1]].numpy()
    position = -1 if architecture in {"gpt2", "llama"} else 0
    return answer.attentions[layer][0, :, position].numpy()


@pytest.mark.parametrize("layer", [-1, 0])
def test_weights_are_those_of_the_model(subject: tuple[str, Any, Any, Classifier], layer: int) -> None:
    architecture, model, _, classifier = subject
    opened, _ = tiny.build(architecture, attn_implementation="eager")
    opened = opened.double()
    encoding = classifier.encode(Instance("x", tuple(map(split_words, PAIR))))
    heads = map_by_hand(architecture, opened, encoding, layer)
    before = model.config._attn_implementation, [len(module._forward_hooks) for module in model.modules()]

    def words_of(tokens: np.ndarray) -> np.ndarray:
        return np.array([tokens[encoding.token_unit == unit].sum() for unit in range(len(encoding.units))])

    for head in (0, 1, "mean"):
        made = explain(classifier, *PAIR, method=AttentionWeights(head=head, layer=layer)).highlight  # type: ignore[arg-type]
        tokens = heads.mean(0) if head == "mean" else heads[head]  # type: ignore[call-overload]
        assert np.abs(np.array(made.scores) - words_of(tokens)).max() <= TOLERANCE
    assert before == (model.config._attn_implementation, [len(module._forward_hooks) for module in model.modules()])
    assert not any(hasattr(module, "_output_capturing_hooks_installed") for module in model.modules())


HEADS_END = {
    "bert": "bert.encoder.layer.1.attention.output.dense",
    "distilbert": "distilbert.transformer.layer.1.attention.out_lin",
    "gpt2": "transformer.h.1.attn.c_proj",
    "llama": "model.layers.1.self_attn.o_proj",
    "bart": "model.decoder.layers.1.encoder_attn.out_proj",
}
"""Where the heads' outputs, side by side, leave the attention of the last layer."""


@pytest.mark.parametrize("architecture", HEADS_END)
@pytest.mark.parametrize("target", ["yes", "maybe", "no"])
def test_the_most_important_head_contributes_most(architecture: str, target: str) -> None:
    """Gradient times activation of each head's output at the reading position, by a hook where the heads end."""
    model, tokenizer = tiny.build(architecture, seed=3)
    model = model.double()
    classifier = load_model(model, tokenizer=tokenizer)
    encoding = classifier.encode(Instance("x", tuple(map(split_words, PAIR))))
    caught: list[torch.Tensor] = []

    def catch(_: Any, args: tuple[torch.Tensor, ...]) -> None:
        args[0].retain_grad()
        caught.append(args[0])

    module = dict(model.named_modules())[HEADS_END[architecture]]
    hook = module.register_forward_pre_hook(catch)
    inputs = {"input_ids": torch.tensor(encoding.token_ids[None])}
    if architecture == "bert":
        inputs["token_type_ids"] = torch.tensor(encoding.type_ids[None])
    if architecture == "gpt2":
        model.config.pad_token_id = 0
    model(**inputs).logits[0, tiny.LABELS.index(target)].backward()
    hook.remove()
    if architecture == "gpt2":
        model.config.pad_token_id = None
    contributions = (caught[0] * caught[0].grad)[0].detach()
    position = 0 if architecture in {"bert", "distilbert"} else -1
    by_head = contributions[position].reshape(2, -1).sum(-1)
    made = explain(classifier, *PAIR, method=AttentionWeights(Target(target))).highlight
    assert made.notes["head"] == int(by_head.argmax())
    assert made.scores == explain(classifier, *PAIR, method=AttentionWeights(head=made.notes["head"])).highlight.scores  # type: ignore[arg-type]


def test_both_heads_are_chosen_by_somebody() -> None:
    """Of four models: what a tokenizer learns, and so what a model makes of a text, differs from process to process."""
    chosen = set()
    for seed in range(4):
        model, tokenizer = tiny.build("bert", seed=seed)
        classifier = load_model(model, tokenizer=tokenizer)
        for label in tiny.LABELS:
            chosen.add(explain(classifier, *PAIR, method=AttentionWeights(Target(label))).highlight.notes["head"])
    assert chosen == {0, 1}


def test_words_and_special_tokens_share_all_attention(classifier: Callable[..., Classifier]) -> None:
    scores = np.array(explain(classifier("bert"), *PAIR, method="attention").highlight.scores)
    assert (scores > 0).all()
    assert scores.sum() < 1


def test_bad_parameters(classifier: Callable[..., Classifier]) -> None:
    with pytest.raises(UserError, match=r"head: got 2; the model has 2, counted from 0"):
        explain(classifier("bert"), *PAIR, method=AttentionWeights(head=2))
    with pytest.raises(UserError, match=r"layer: got 5; the model has 2"):
        explain(classifier("bert"), *PAIR, method=AttentionWeights(layer=5))
    blind = load_model(lambda texts: [[0.5, 0.5]] * len(texts), labels=["a", "b"])
    needed = {"attention": "attention maps", "activation": "word embeddings", "guided_backprop": "gradients"}
    for method, capability in needed.items():
        with pytest.raises(UserError, match=f"{method} needs {capability}; the model .* provides only class outputs"):
            explain(blind, *PAIR, method=method)
