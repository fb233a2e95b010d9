"""Starting weights for a small BERT: attend to like words and to near ones, and know what company words keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers import BertForSequenceClassification

from verax.types import Dataset, FloatArray

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
    longest = model.config.max_position_embeddings
    room, half, size = hidden // 4, hidden // 2, hidden // model.config.num_attention_heads
    frequencies = _SLOWEST_WAVE ** (-torch.arange(0, room, 2) / room)
    embeddings.word_embeddings.weight[:, -room:] = 0
    embeddings.position_embeddings.weight.zero_()
    embeddings.position_embeddings.weight[:, -room:] = _waves(torch.arange(longest), frequencies) * (2 / hidden) ** 0.5
    embeddings.token_type_embeddings.weight.mul_(0.3)
    for layer in model.bert.encoder.layer:
        query, key = layer.attention.self.query.weight, layer.attention.self.key.weight
        query[:half, -room:] = 0
        query[half:, :-room] = 0
        query[half:] *= 2
        key.copy_(query)
        for number, start in enumerate(range(half, hidden, size)):
            shift = _SHIFTS[number % len(_SHIFTS)]
            key[start : start + size, -room:] = query[start : start + size, -room:] @ _turn(shift, frequencies)


def _waves(places: Tensor, frequencies: Tensor) -> Tensor:
    """Sines, then cosines, of each place at each frequency: [places] -> [places, 2 * frequencies]."""
    angles = places[:, None] * frequencies
    return torch.cat((angles.sin(), angles.cos()), 1)


def _turn(shift: int, frequencies: Tensor) -> Tensor:
    """The matrix that takes the waves of a place to those of the place `shift` before it."""
    sines, cosines = torch.diag((shift * frequencies).sin()), torch.diag((shift * frequencies).cos())
    return torch.cat((torch.cat((cosines, -sines), 1), torch.cat((sines, cosines), 1)), 0)


@torch.no_grad()
def start_with_company(model: BertForSequenceClassification, tokenizer: Any, train: Dataset) -> None:
    """Let word embeddings begin with the company that words keep: who meets whom, across the parts, under which label.

    Words that meet in entailments and not in contradictions begin alike (the leading eigenvectors of the symmetric log
    ratio), and what is said of the narrower begins apart from what is said of the wider (the leading singular vectors
    of the ratio of entailment to neutral, which has a direction). So training need not find the vocabulary's relations
    pair by pair. The dimensions kept for positions stay as they are.
    """
    met = _meetings(tokenizer, train)
    order = [train.labels.index(label) for label in ("entailment", "neutral", "contradiction")]
    entailed, open_, contradicted = met[order] + 2.0
    table = model.bert.embeddings.word_embeddings.weight
    room = table.shape[1] - model.config.hidden_size // 4
    likeness = np.log(entailed / contradicted)
    weights, vectors = np.linalg.eigh((likeness + likeness.T) / 2)
    strongest = np.argsort(-np.abs(weights))[: room // 2]
    left, sizes, right = np.linalg.svd(np.log(entailed / open_))
    some = room // 4
    company = np.concatenate(
        (
            vectors[:, strongest] * np.sqrt(np.abs(weights[strongest])),
            left[:, :some] * np.sqrt(sizes[:some]),
            right[:some].T * np.sqrt(sizes[:some]),
        ),
        axis=1,
    )
    company /= np.linalg.norm(company, axis=1, keepdims=True) + 1e-6
    length = table[:, :room].norm(dim=1).mean()
    table[:, :room] = 0.3 * table[:, :room] + length * torch.from_numpy(company).to(table.dtype)
    table[tokenizer.pad_token_id] = 0


def _meetings(tokenizer: Any, train: Dataset) -> FloatArray:
    """How often a token of the first part meets one of the second: shape [labels, vocabulary, vocabulary]."""
    counts = np.zeros((len(train.labels), len(tokenizer), len(tokenizer)))
    parts = [
        tokenizer([instance.parts[n].raw for instance in train.instances], add_special_tokens=False)["input_ids"]
        for n in (0, 1)
    ]
    for instance, above, below in zip(train.instances, *parts, strict=True):
        where = train.labels.index(str(instance.label))
        counts[where][np.ix_(list(set(above)), list(set(below)))] += 1
    return counts
