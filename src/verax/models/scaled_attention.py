"""Scale the attention map of one layer during one call of a model, and read the gradient there.

transformers' models look up their attention function by name. In this context the plain one (`eager`) is found here: it
is computed as usual, and in the requested layer its output is scaled. The output of an attention is linear in its map,
so scaling it scales the map, and the gradient at the map is the gradient at the output times the values. DeBERTa does
not look up a function, but passes its map through a dropout layer, where the map itself is scaled. Below the requested
layer nothing depends on the scale, and no graph is kept.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from verax.models.devices import widened
from verax.types import UserError

_PLAIN = "eager"
_OWN_WAY = "DisentangledSelfAttention"
"""An attention that is not looked up, and passes its map to its `dropout`."""


@dataclass(eq=False)
class AttentionCalls:
    """The attention of one model during one call.

    Args:
        mine: ids of the modules of that model; others that run at the same time are not affected.
        layer: number of the attention whose output is scaled, counted from 0; None only counts.
        alpha: scale for each row, shape [rows].
    """

    mine: frozenset[int]
    layer: int | None = None
    alpha: Tensor | None = None
    count: int = 0
    module: nn.Module | None = None
    map: Tensor | None = None
    values: Tensor | None = None
    leaf: Tensor | None = None

    def __call__(
        self, module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, **options: Any
    ) -> tuple[Tensor, Tensor]:
        """Attention as the module's own file computes it; scaled in the requested layer."""
        result, weights = _plain(type(module))(module, query, key, value, mask, **options)
        if id(module) not in self.mine:
            return result, weights
        number, self.count = self.count, self.count + 1
        if number != self.layer or self.alpha is None:
            return result, weights
        self.module, self.map = module, weights.detach()
        self.values = value.detach().repeat_interleave(weights.shape[1] // value.shape[1], dim=1)  # shared by heads
        return self._scaled(result, self.alpha), weights

    def see_map(self, module: nn.Module, _: tuple[Tensor, ...], weights: Tensor) -> Tensor:
        """A map, [rows, heads, queries, keys]; scaled in the requested layer."""
        number, self.count = self.count, self.count + 1
        if number != self.layer or self.alpha is None:
            return weights
        self.module, self.map = module, weights.detach()
        return self._scaled(weights, self.alpha)

    def _scaled(self, tensor: Tensor, alpha: Tensor) -> Tensor:
        self.leaf = (tensor * alpha[:, None, None, None]).detach().requires_grad_()
        torch.set_grad_enabled(True)  # the caller has disabled it, and restores it
        return self.leaf

    def product(self, gradient: Tensor) -> Tensor:
        """The map times the gradient at the scaled map, summed over heads: [rows, queries, keys].

        Args:
            gradient: at the leaf: the scaled map, or the output of the attention, [rows, queries, heads, size].
        """
        assert self.map is not None  # noqa: S101 - the layer was computed
        if self.values is None:
            return (widened(self.map) * widened(gradient)).sum(1)
        slope = widened(gradient).transpose(1, 2) @ widened(self.values).transpose(2, 3)
        return (widened(self.map) * slope).sum(1)


def _plain(kind: type) -> Callable[..., tuple[Tensor, Tensor]]:
    """The plain attention in the file that defines a module's class or one of its base classes."""
    for made_from in kind.__mro__:
        plain: Callable[..., tuple[Tensor, Tensor]] | None = getattr(
            sys.modules.get(made_from.__module__), "eager_attention_forward", None
        )
        if plain is not None:
            return plain
    raise UserError(f"attention_attribution: {kind.__name__} computes attention in a way that verax does not support")


@contextmanager
def watched_attention(model: nn.Module, calls: AttentionCalls) -> Iterator[None]:
    """Route every plain attention through `calls`, during one call of a model."""
    with ExitStack() as undo:
        ALL_ATTENTION_FUNCTIONS[_PLAIN] = (
            calls  # by default the name has no entry, and models fall back on their own function
        )
        undo.callback(ALL_ATTENTION_FUNCTIONS.pop, _PLAIN)
        for module in model.modules():
            if type(module).__name__ == _OWN_WAY:
                passing: Any = module.dropout
                undo.callback(passing.register_forward_hook(calls.see_map).remove)
        yield
