"""Contexts for calling a model without changing it: settings are restored after the call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import FunctionCtx

_CAPTURING = "_output_capturing_hooks_installed"
"""Attribute that transformers sets on a model whose outputs it can capture."""


def word_embeddings(model: Any) -> nn.Embedding:
    """The word embedding layer (of an encoder-decoder, that of the encoder)."""
    reader = model.get_encoder() if model.config.is_encoder_decoder else model
    layer: nn.Embedding = reader.get_input_embeddings()
    return layer


@contextmanager
def untouched(model: Any) -> Iterator[None]:
    """Evaluation mode, and a padding token for models that require one, during one call."""
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
        yield


@contextmanager
def embedded(model: Any, ids: Tensor, embeds: Tensor) -> Iterator[None]:
    """Replace the word embeddings of `ids`, [rows, tokens], with `embeds`, [rows, tokens, dimensions], for one call.

    A hook replaces them, rather than `inputs_embeds`, so that every architecture works (BART takes none) and positions,
    end marks and the reading position are still found from the true ids. In an encoder-decoder the decoder reads the
    same words one position to the right, and so does the hook.
    """

    def replace(_: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor:
        if torch.equal(args[0], ids):
            return embeds
        return torch.cat([output[:, :1], embeds[:, :-1]], dim=1)

    table = word_embeddings(model).weight
    with ExitStack() as undo:
        for module in model.modules():
            if isinstance(module, nn.Embedding) and module.weight.data_ptr() == table.data_ptr():
                undo.callback(module.register_forward_hook(replace).remove)
        yield


class _GuidedReLU(torch.autograd.Function):
    """ReLU whose backward pass lets through only positive gradients of positive inputs."""

    @staticmethod
    def forward(ctx: FunctionCtx, inputs: Tensor) -> Tensor:
        """Plain ReLU."""
        ctx.save_for_backward(inputs)
        return inputs.clamp(min=0)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        """The gradient where it and the input are positive, 0 elsewhere."""
        (inputs,) = ctx.saved_tensors
        passed: Tensor = gradients[0].clamp(min=0) * (inputs > 0)
        return passed


def _gate(_: nn.Module, args: tuple[Tensor, ...], __: Tensor) -> Tensor:
    gated: Tensor = _GuidedReLU.apply(args[0])  # type: ignore[no-untyped-call]
    return gated


@contextmanager
def guided(model: Any) -> Iterator[None]:
    """Guided backpropagation through every ReLU layer during one call; other activations are unchanged."""
    with ExitStack() as undo:
        for module in model.modules():
            if isinstance(module, nn.ReLU):
                undo.callback(module.register_forward_hook(_gate).remove)
        yield


@contextmanager
def open_attention(model: Any) -> Iterator[None]:
    """Eager attention, whose maps can be read, during one call."""
    before = model.config._attn_implementation
    with unhooked(model):
        if before != "eager":
            model.set_attn_implementation("eager")
        try:
            yield
        finally:
            if before != "eager":
                model.set_attn_implementation(before)


@contextmanager
def unhooked(model: Any) -> Iterator[None]:
    """Remove the hooks that transformers adds to a model to capture its outputs and does not remove."""
    hooks = {module: set(module._forward_hooks) for module in model.modules()}
    unmarked = [module for module in hooks if not hasattr(module, _CAPTURING)]
    try:
        yield
    finally:
        for module, known in hooks.items():
            for new in set(module._forward_hooks) - known:
                del module._forward_hooks[new]
        for module in unmarked:
            if hasattr(module, _CAPTURING):
                delattr(module, _CAPTURING)


class _Stopped(Exception):
    pass


def layer_stack(model: Any) -> nn.ModuleList | None:
    """Layers of the encoder, or of a decoder without one; None if they cannot be identified."""
    if not hasattr(model.config, "num_hidden_layers"):
        return None
    body = model.get_encoder() if model.config.is_encoder_decoder else model
    depth = model.config.get_text_config().num_hidden_layers
    stacks = [module for module in body.modules() if isinstance(module, nn.ModuleList) and len(module) == depth]
    # layers that share one module are called many times: the first call is not the layer that is asked for
    whole = [stack for stack in stacks if len({id(layer) for layer in stack}) == depth]
    return whole[0] if len(whole) == 1 else None


@contextmanager
def stopped_after(layer: nn.Module) -> Iterator[list[Tensor]]:
    """End the call of a model in the block after a layer, whose output is put into the list."""
    outputs: list[Tensor] = []

    def keep(_: nn.Module, __: Any, output: Any) -> None:
        outputs.append(output[0] if isinstance(output, tuple) else output)
        raise _Stopped

    hook = layer.register_forward_hook(keep)
    try:
        yield outputs
    except _Stopped:
        pass
    finally:
        hook.remove()
