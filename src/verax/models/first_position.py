"""Classifiers that read their first position alone need the last layer at that position alone.

From the point in the last layer where positions stop to meet (behind the attention), everything else that a BERT-like
encoder computes for other positions is thrown away. A hook cuts them off there: the answer is the same, and a model of
six layers has about an eighth less to do, forward and backward.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

from torch import Tensor, nn

_AFTER_ATTENTION = {
    "BertForSequenceClassification": ("bert.encoder.layer", "attention.output"),
    "RobertaForSequenceClassification": ("roberta.encoder.layer", "attention.output"),
    "XLMRobertaForSequenceClassification": ("roberta.encoder.layer", "attention.output"),
    "DebertaV2ForSequenceClassification": ("deberta.encoder.layer", "attention.output"),
    "DistilBertForSequenceClassification": ("distilbert.transformer.layer", "sa_layer_norm"),
}
"""For each class that is known to read its first position: its layers, and what comes behind a layer's attention."""


def behind_last_attention(model: Any) -> nn.Module | None:
    """Where the last layer of a model can be cut down to its first position; None where that is not known to be safe.

    A class of somebody's own may read other positions, a single layer may be followed by a convolution (DeBERTa), and a
    feed-forward cut into chunks counts on the length of the sequence: all these run whole.
    """
    kind = type(model)
    if not kind.__module__.startswith("transformers.models.") or kind.__name__ not in _AFTER_ATTENTION:
        return None
    layers, behind = _AFTER_ATTENTION[kind.__name__]
    found = attrgetter(layers)(model)
    if len(found) < 2 or getattr(model.config, "chunk_size_feed_forward", None):
        return None
    module: nn.Module = attrgetter(behind)(found[-1])
    return module


@contextmanager
def only_first_position(module: nn.Module | None) -> Iterator[None]:
    """Hand a module the first position of whatever it is handed, for the time of one call; None hands on everything."""
    if module is None:
        yield
        return

    def cut(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(tensor[:, :1] for tensor in args)

    hook = module.register_forward_pre_hook(cut)
    try:
        yield
    finally:
        hook.remove()
