"""Ask a model without changing it: whatever is switched for one call is switched back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn


def word_embeddings(model: Any) -> nn.Embedding:
    """The layer that gives token ids their word embeddings (for an encoder-decoder, that of the encoder)."""
    reader = model.get_encoder() if model.config.is_encoder_decoder else model
    layer: nn.Embedding = reader.get_input_embeddings()
    return layer


@contextmanager
def untouched(model: Any, ids: Tensor, embeds: Tensor | None) -> Iterator[None]:
    """Evaluation mode, and `embeds` in place of the word embeddings of `ids`, for the time of one call.

    The embeddings are put in place by a hook and not handed over as `inputs_embeds`, so that every architecture works
    (BART takes none) and positions, end marks and the reading position are still found from the true ids. In an
    encoder-decoder the decoder reads the same words one place to the right, and so does the hook.

    Args:
        model: a transformers model.
        ids: token ids of the batch, shape [rows, tokens].
        embeds: shape [rows, tokens, dimensions], or None to leave the word embeddings as they are.
    """

    def replace(_: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor:
        assert embeds is not None  # noqa: S101 - the hook is only registered with embeddings to put in place
        if torch.equal(args[0], ids):
            return embeds
        return torch.cat([output[:, :1], embeds[:, :-1]], dim=1)

    with ExitStack() as undo:
        switched = [module for module in model.modules() if module.training]
        for module in switched:
            module.training = False
            undo.callback(setattr, module, "training", True)
        config = model.config.get_text_config()
        if config.pad_token_id is None:
            # decoders refuse a batch without a padding token, though rows of equal length need none; no id is -1
            config.pad_token_id = -1
            undo.callback(setattr, config, "pad_token_id", None)
        if embeds is not None:
            table = word_embeddings(model).weight
            for module in model.modules():
                if isinstance(module, nn.Embedding) and module.weight.data_ptr() == table.data_ptr():
                    undo.callback(module.register_forward_hook(replace).remove)
        yield
