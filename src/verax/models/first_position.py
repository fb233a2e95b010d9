"""Classifiers that read only their first position need the last layer only at that position.

After the attention of the last layer, positions no longer interact, and a BERT-like encoder discards everything but the
first; in that attention itself only one query counts. So the last layer is computed for the first position only: the
answer is the same, and a model of six layers does about a sixth less work, forward and backward.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from operator import attrgetter
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

_LAYERS = {
    "BertForSequenceClassification": ("bert.encoder.layer", "attention.output", "attention.self"),
    "RobertaForSequenceClassification": ("roberta.encoder.layer", "attention.output", "attention.self"),
    "XLMRobertaForSequenceClassification": ("roberta.encoder.layer", "attention.output", "attention.self"),
    "DebertaV2ForSequenceClassification": ("deberta.encoder.layer", "attention.output", None),
    "DistilBertForSequenceClassification": ("distilbert.transformer.layer", "sa_layer_norm", None),
}
"""For each class that reads its first position: its layers; in a layer, the module after the attention; and the
attention itself if it is the usual one, whose queries, keys and values do not depend on positions."""


class LastLayer(NamedTuple):
    """The last layer of a classifier that reads its first position.

    Args:
        after: the module after the attention, from which on positions do not interact.
        attention: the attention, if it can be computed for one position; None computes it as usual.
    """

    after: nn.Module
    attention: nn.Module | None


def last_layer(model: Any) -> LastLayer | None:
    """The last layer of a model, if it can be reduced to the first position; None if that is not known to be safe.

    A custom class may read other positions, a single layer may be followed by a convolution (DeBERTa), and a
    feed-forward layer cut into chunks depends on the length of the sequence: all these are computed as usual.
    """
    kind = type(model)
    if not kind.__module__.startswith("transformers.models.") or kind.__name__ not in _LAYERS:
        return None
    layers, after, attention = _LAYERS[kind.__name__]
    stack, config = attrgetter(layers)(model), model.config
    if len(stack) < 2 or getattr(config, "chunk_size_feed_forward", None) or getattr(config, "is_decoder", None):
        return None
    return LastLayer(attrgetter(after)(stack[-1]), attrgetter(attention)(stack[-1]) if attention else None)


@contextmanager
def only_first_position(last: LastLayer | None, *, whole_attention: bool = False) -> Iterator[None]:
    """Compute a last layer for the first position only, during one call; None computes all positions.

    `whole_attention` leaves the attention as it is, so that its map can be read.
    """
    if last is None:
        yield
        return

    def cut(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(tensor[:, :1] for tensor in args)

    with ExitStack() as undo:
        undo.callback(last.after.register_forward_pre_hook(cut).remove)
        attention = last.attention
        if attention is not None and not whole_attention:

            def ask_once(hidden: Tensor, attention_mask: Tensor | None = None, **_: Any) -> tuple[Tensor, None]:
                return _first_query(attention, hidden, attention_mask), None

            attention.forward = ask_once
            undo.callback(delattr, attention, "forward")
        yield


def _first_query(attention: Any, hidden: Tensor, mask: Tensor | None) -> Tensor:
    """Output of the attention at the first position: [rows, tokens, dimensions] -> [rows, 1, dimensions].

    With one query q the weights follow from q K h = (q K) h, and the output is V (sum of weights times h): keys and
    values of all tokens are never computed. The bias of the keys adds a constant to every weight, and cancels out.
    """
    rows, heads = len(hidden), attention.num_attention_heads
    query = attention.query(hidden[:, 0]).view(rows, heads, -1).transpose(0, 1)  # [heads, rows, size]
    keys = attention.key.weight.view(heads, -1, hidden.shape[-1])  # [heads, size, dimensions]
    scores = (query @ keys).transpose(0, 1) @ hidden.transpose(1, 2) * attention.scaling  # [rows, heads, tokens]
    if mask is not None:
        seen = mask[:, 0, :1]  # of the first position, the same for every head: [rows, 1, tokens]
        scores = scores.masked_fill(~seen, -torch.inf) if seen.dtype == torch.bool else scores + seen
    gathered = (scores.softmax(-1) @ hidden).transpose(0, 1)  # [heads, rows, dimensions]
    values = attention.value.weight.view(heads, -1, hidden.shape[-1])
    context = (gathered @ values.transpose(1, 2)).transpose(0, 1).reshape(rows, 1, -1)
    output: Tensor = context + attention.value.bias
    return output
