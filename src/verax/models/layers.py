"""Layers of a transformers model, and how to stop after one, so that those above it are not computed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from torch.nn import Module, ModuleList


@dataclass
class Stop:
    """Output of the layer after which a call was stopped."""

    states: Tensor = field(init=False)


class _Stopped(Exception):
    pass


def layer_stack(model: Any) -> ModuleList | None:
    """Layers of the encoder, or of a decoder without one; None if they cannot be identified."""
    if not hasattr(model.config, "num_hidden_layers"):
        return None
    body = model.get_encoder() if model.config.is_encoder_decoder else model
    depth = model.config.get_text_config().num_hidden_layers
    stacks = [module for module in body.modules() if isinstance(module, ModuleList) and len(module) == depth]
    # layers that share one module are called many times: the first call is not the layer that is asked for
    whole = [stack for stack in stacks if len({id(layer) for layer in stack}) == depth]
    return whole[0] if len(whole) == 1 else None


@contextmanager
def stopped_behind(layer: Module) -> Iterator[Stop]:
    """End the call of a model in the block after a layer, whose output is in the `Stop`."""
    stop = Stop()

    def keep(_: Module, __: Any, output: Any) -> None:
        stop.states = output[0] if isinstance(output, tuple) else output
        raise _Stopped

    hook = layer.register_forward_hook(keep)
    try:
        yield stop
    except _Stopped:
        pass
    finally:
        hook.remove()
