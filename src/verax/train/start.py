"""Starting weights for a small BERT or BART that has two texts to relate."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import BartForConditionalGeneration, BertForSequenceClassification

_SLOWEST_WAVE = 20.0
_SHIFTS = (-2, 1)


@torch.no_grad()
def start_with_likeness(model: BertForSequenceClassification) -> None:
    """Let half of the heads attend, at first, to like words, and half to words a little before or after.

    So relating two texts, and a word to its noun, need not be found by luck. A quarter of the dimensions is kept for
    positions, as waves. Half of the heads begin by comparing the other dimensions: their queries and keys are the same
    map. The rest begin by comparing positions; their keys are shifted waves.
    """
    embeddings, hidden = model.bert.embeddings, model.config.hidden_size
    width, size = hidden // 4, hidden // model.config.num_attention_heads
    embeddings.word_embeddings.weight[:, -width:] = 0
    _write_places(embeddings.position_embeddings.weight, width)
    embeddings.token_type_embeddings.weight.mul_(0.3)
    for layer in model.bert.encoder.layer:
        _look_at_like_and_near(layer.attention.self.query.weight, layer.attention.self.key.weight, width, size)


@torch.no_grad()
def start_generator_with_likeness(model: BartForConditionalGeneration) -> None:
    """The same for a BART, in its encoder and its decoder.

    Where the decoder looks at what was read, half of the heads begin by looking for the word that was written last, so
    that a phrase can be copied from there on.
    """
    hidden, heads = model.config.d_model, model.config.encoder_attention_heads
    width, half, size = hidden // 4, hidden // 2, hidden // heads
    encoder, decoder = model.model.encoder, model.model.decoder
    model.model.shared.weight[:, -width:] = 0
    for side in (encoder, decoder):
        _write_places(side.embed_positions.weight, width)
    for layer in (*encoder.layers, *decoder.layers):
        _look_at_like_and_near(layer.self_attn.q_proj.weight, layer.self_attn.k_proj.weight, width, size)
    for layer in decoder.layers:
        query = layer.encoder_attn.q_proj.weight
        query[:half, -width:] = 0
        layer.encoder_attn.k_proj.weight[:half] = query[:half]


@torch.no_grad()
def start_turned_round(model: BertForSequenceClassification, labels: Sequence[str], known_as: Sequence[str]) -> None:
    """Let a model for pairs begin a task that has the parts in the other order and other names for the classes.

    Args:
        labels: the classes of the new task.
        known_as: for each of them the class by which the model knows it.
    """
    segments = model.bert.embeddings.token_type_embeddings.weight
    segments.copy_(segments.flip(0))
    rows = [model.config.label2id[label] for label in known_as]
    for weight in model.classifier.parameters():
        weight.copy_(weight[rows])
    model.config.id2label = dict(enumerate(labels))
    model.config.label2id = {label: number for number, label in enumerate(labels)}


def _write_places(weight: Tensor, width: int) -> None:
    """Embeddings of places, [places, hidden], become waves in the last `room` dimensions and nothing in the others."""
    places, hidden = weight.shape
    weight.zero_()
    weight[:, -width:] = _waves(torch.arange(places), _frequencies(width)) * (2 / hidden) ** 0.5


def _look_at_like_and_near(query: Tensor, key: Tensor, width: int, size: int) -> None:
    """Half of the heads compare words, half places; queries and keys are [hidden, hidden], a head has `size` rows."""
    hidden, frequencies = len(query), _frequencies(width)
    half = hidden // 2
    query[:half, -width:] = 0
    query[half:, :-width] = 0
    query[half:] *= 2
    key.copy_(query)
    for number, start in enumerate(range(half, hidden, size)):
        shift = _SHIFTS[number % len(_SHIFTS)]
        key[start : start + size, -width:] = query[start : start + size, -width:] @ _turn(shift, frequencies)


def _frequencies(width: int) -> Tensor:
    return _SLOWEST_WAVE ** (-torch.arange(0, width, 2) / width)


def _waves(places: Tensor, frequencies: Tensor) -> Tensor:
    """Sines, then cosines, of each place at each frequency: [places] -> [places, 2 * frequencies]."""
    angles = places[:, None] * frequencies
    return torch.cat((angles.sin(), angles.cos()), 1)


def _turn(shift: int, frequencies: Tensor) -> Tensor:
    """The matrix that takes the waves of a place to those of the place `shift` before it."""
    sines, cosines = torch.diag((shift * frequencies).sin()), torch.diag((shift * frequencies).cos())
    return torch.cat((torch.cat((cosines, -sines), 1), torch.cat((sines, cosines), 1)), 0)
