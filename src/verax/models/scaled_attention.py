"""Attention maps scaled on their way through a model, and the gradient there, for the time of one call.

transformers' models look their attention up by name. While this is in use the plain one (`eager`) is looked up here:
it is computed as ever, and in the layer that is asked for the result is scaled. What leaves an attention is linear in
its map, so scaling it scales the map, and the gradient at the map is that at the result times the values that the map
gathers. DeBERTa looks nothing up, but hands its map through a layer of its own, where it is scaled itself. Below the
layer that is asked for nothing depends on the scale, and no graph is kept.
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

from verax.types import UserError

_PLAIN = "eager"
_OWN_WAY = "DisentangledSelfAttention"
"""The attention that computes its map in a way of its own, and then hands it to its `dropout`."""


@dataclass(eq=False)
class AttentionCalls:
    """What is seen of the attention of one model in one call.

    Args:
        mine: the modules of that model; others that run at the same time are left alone.
        layer: the call whose result is scaled, counted from 0; None only counts.
        alpha: its scale for each row, shape [rows].
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
        """Attention as the module's own file computes it; in the layer that is asked for, scaled."""
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
        """A map on its way, [rows, heads, queries, keys]; in the layer that is asked for, scaled."""
        number, self.count = self.count, self.count + 1
        if number != self.layer or self.alpha is None:
            return weights
        self.module, self.map = module, weights.detach()
        return self._scaled(weights, self.alpha)

    def _scaled(self, tensor: Tensor, alpha: Tensor) -> Tensor:
        self.leaf = (tensor * alpha[:, None, None, None]).detach().requires_grad_()
        torch.set_grad_enabled(True)  # whoever opened this call has it off, and switches back
        return self.leaf

    def product(self, gradient: Tensor) -> Tensor:
        """The map times the gradient at the scaled map, summed over heads: [rows, queries, keys].

        Args:
            gradient: at the leaf: the scaled map, or what left the attention, shape [rows, queries, heads, size].
        """
        assert self.map is not None  # noqa: S101 - the layer was met
        if self.values is None:
            return (self.map * gradient).sum(1)
        return (self.map * (gradient.transpose(1, 2) @ self.values.transpose(2, 3))).sum(1)


def _plain(kind: type) -> Callable[..., tuple[Tensor, Tensor]]:
    """The plain attention of the file that a module's class, or one that it is made from, was written in."""
    for made_from in kind.__mro__:
        plain: Callable[..., tuple[Tensor, Tensor]] | None = getattr(
            sys.modules.get(made_from.__module__), "eager_attention_forward", None
        )
        if plain is not None:
            return plain
    raise UserError(f"attention_attribution: {kind.__name__} computes its attention in a way that verax does not know")


@contextmanager
def watched_attention(model: nn.Module, calls: AttentionCalls) -> Iterator[None]:
    """Every plain attention goes through `calls`, for the time of one call of a model that uses it."""
    with ExitStack() as undo:
        ALL_ATTENTION_FUNCTIONS[_PLAIN] = calls  # a name without an entry: models look it up and fall back on their own
        undo.callback(ALL_ATTENTION_FUNCTIONS.pop, _PLAIN)
        for module in model.modules():
            if type(module).__name__ == _OWN_WAY:
                passing: Any = module.dropout
                undo.callback(passing.register_forward_hook(calls.see_map).remove)
        yield
