"""How well a model does on encoded rows, by the metric of their dataset."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from verax.models.first_position import last_layer, only_first_position
from verax.stats.performance import counted, performance
from verax.train.rows import Rows, collate, encode
from verax.types import Dataset, FloatArray, IntArray, Performance

_BATCH = 128


@torch.no_grad()
def predicted(model: Any, tokenizer: Any, rows: Rows) -> IntArray:
    """The class that the model, in evaluation mode, ranks first for each row; shape [rows]."""
    model.eval()
    found = np.empty(len(rows), np.int64)
    by_length = sorted(range(len(rows)), key=lambda i: len(rows.columns[i]["input_ids"]))
    with only_first_position(last_layer(model)):
        for start in range(0, len(rows), _BATCH):
            chosen = by_length[start : start + _BATCH]
            logits = model(**collate(tokenizer, [rows.columns[i] for i in chosen], model.device)).logits
            found[chosen] = logits.argmax(-1).cpu().numpy()
    return found


def counts_by_row(model: Any, tokenizer: Any, rows: Rows) -> FloatArray:
    """What any metric is made of, to be summed over rows: shape [rows, 3, classes] (see `counted`)."""
    guessed = predicted(model, tokenizer, rows)[:, None]
    return counted(rows.golds.numpy(), guessed, model.config.num_labels)[:, 0]


def counts(model: Any, tokenizer: Any, rows: Rows) -> FloatArray:
    """The same, summed over the rows: shape [3, classes]."""
    return np.asarray(counts_by_row(model, tokenizer, rows).sum(0))


def measured(model: Any, tokenizer: Any, rows: Rows, metric: Performance) -> float:
    """The performance on the rows."""
    return float(performance(counts(model, tokenizer, rows), metric))


def accuracy(model: Any, tokenizer: Any, dataset: Dataset) -> float:
    """The share of instances whose gold class the model ranks first."""
    return measured(model, tokenizer, encode(model, tokenizer, dataset), "accuracy")
