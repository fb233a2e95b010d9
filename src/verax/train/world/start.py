"""Untrained small BERTs and BARTs whose attention heads start with useful patterns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from transformers import BartConfig, BartForConditionalGeneration, BertConfig, BertForSequenceClassification

from verax.train.world.tokenizers import MAX_TOKENS

_SLOWEST_WAVE = 20.0
_SHIFTS = (-2, 1)


@dataclass(frozen=True, slots=True)
class BertShape:
    """Size of a classifier, its number of whole words, and how many draws of the training split it sees."""

    seeds: int
    whole_words: int
    hidden: int
    layers: int
    heads: int
    feed_forward: int


@dataclass(frozen=True, slots=True)
class BartShape:
    """Size of a text generator."""

    hidden: int
    encoder_layers: int
    decoder_layers: int
    heads: int
    feed_forward: int


def build_bert(tokenizer: Any, labels: Sequence[str], shape: BertShape, seed: int) -> BertForSequenceClassification:
    """An untrained BERT; the same seed gives the same weights."""
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.feed_forward,
        max_position_embeddings=MAX_TOKENS,
        initializer_range=shape.hidden**-0.5,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=tokenizer.pad_token_id,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BertForSequenceClassification(config)
    start_bert(model)
    return model


def build_bart(tokenizer: Any, shape: BartShape, seed: int) -> BartForConditionalGeneration:
    """An untrained BART; the same seed gives the same weights."""
    config = BartConfig(
        vocab_size=len(tokenizer),
        d_model=shape.hidden,
        encoder_layers=shape.encoder_layers,
        decoder_layers=shape.decoder_layers,
        encoder_attention_heads=shape.heads,
        decoder_attention_heads=shape.heads,
        encoder_ffn_dim=shape.feed_forward,
        decoder_ffn_dim=shape.feed_forward,
        max_position_embeddings=MAX_TOKENS,
        init_std=shape.hidden**-0.5,
        dropout=0.0,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        decoder_start_token_id=tokenizer.bos_token_id,
        forced_eos_token_id=None,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = BartForConditionalGeneration(config)
    start_bart(model)
    return model


@torch.no_grad()
def start_bert(model: BertForSequenceClassification) -> None:
    """Let half of the heads attend to similar words at first, and half to words at a small distance.

    Otherwise relating two texts, or an adjective to its noun, would be learned only by luck. A quarter of the
    dimensions holds positions, as waves. Half of the heads compare the other dimensions: their queries and keys are the
    same map. The rest compare positions: their keys are shifted waves.
    """
    embeddings, hidden = model.bert.embeddings, model.config.hidden_size
    width, size = hidden // 4, hidden // model.config.num_attention_heads
    embeddings.word_embeddings.weight[:, -width:] = 0
    _write_positions(embeddings.position_embeddings.weight, width)
    embeddings.token_type_embeddings.weight.mul_(0.3)
    for layer in model.bert.encoder.layer:
        _attend_to_similar_and_near(layer.attention.self.query.weight, layer.attention.self.key.weight, width, size)


@torch.no_grad()
def start_bart(model: BartForConditionalGeneration) -> None:
    """Start the self-attention of encoder and decoder like that of `start_bert`.

    Half of the cross-attention heads look for the word that was written last, so that a phrase can be copied.
    """
    hidden, heads = model.config.d_model, model.config.encoder_attention_heads
    width, half, size = hidden // 4, hidden // 2, hidden // heads
    encoder, decoder = model.model.encoder, model.model.decoder
    model.model.shared.weight[:, -width:] = 0
    for side in (encoder, decoder):
        _write_positions(side.embed_positions.weight, width)
    for layer in (*encoder.layers, *decoder.layers):
        _attend_to_similar_and_near(layer.self_attn.q_proj.weight, layer.self_attn.k_proj.weight, width, size)
    for layer in decoder.layers:
        query = layer.encoder_attn.q_proj.weight
        query[:half, -width:] = 0
        layer.encoder_attn.k_proj.weight[:half] = query[:half]


@torch.no_grad()
def swap_parts(model: BertForSequenceClassification, labels: Sequence[str], known_as: Sequence[str]) -> None:
    """Adapt a model for pairs of texts to a task with the parts in the other order and other names of the classes.

    Args:
        known_as: the class of the model that each of them starts as.
    """
    segments = model.bert.embeddings.token_type_embeddings.weight
    segments.copy_(segments.flip(0))
    rows = [model.config.label2id[label] for label in known_as]
    for weight in model.classifier.parameters():
        weight.copy_(weight[rows])
    model.config.id2label = dict(enumerate(labels))
    model.config.label2id = {label: number for number, label in enumerate(labels)}


def _write_positions(weight: Tensor, width: int) -> None:
    """Set position embeddings, [positions, hidden], to waves in the last `width` dimensions and zero elsewhere."""
    positions, hidden = weight.shape
    weight.zero_()
    weight[:, -width:] = _waves(torch.arange(positions), _frequencies(width)) * (2 / hidden) ** 0.5


def _attend_to_similar_and_near(query: Tensor, key: Tensor, width: int, size: int) -> None:
    """Let half of the heads compare words and half positions.

    Args:
        query, key: shape [hidden, hidden].
        width: number of dimensions that hold positions.
    """
    hidden, frequencies = len(query), _frequencies(width)
    half = hidden // 2
    query[:half, -width:] = 0
    query[half:, :-width] = 0
    query[half:] *= 2
    key.copy_(query)
    for number, start in enumerate(range(half, hidden, size)):
        shift = _SHIFTS[number % len(_SHIFTS)]
        key[start : start + size, -width:] = query[start : start + size, -width:] @ _rotation(shift, frequencies)


def _frequencies(width: int) -> Tensor:
    return _SLOWEST_WAVE ** (-torch.arange(0, width, 2) / width)


def _waves(positions: Tensor, frequencies: Tensor) -> Tensor:
    """Sines, then cosines, of each position at each frequency: [positions] -> [positions, 2 * frequencies]."""
    angles = positions[:, None] * frequencies
    return torch.cat((angles.sin(), angles.cos()), 1)


def _rotation(shift: int, frequencies: Tensor) -> Tensor:
    """The matrix that maps the waves of a position to those of the position `shift` before it."""
    sines, cosines = torch.diag((shift * frequencies).sin()), torch.diag((shift * frequencies).cos())
    return torch.cat((torch.cat((cosines, -sines), 1), torch.cat((sines, cosines), 1)), 0)
