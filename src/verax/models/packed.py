"""Linear layers with their weights laid out beforehand as a processor's matrix product wants them.

A CPU's matrix product first copies the weights into blocks that fit its caches, at every call. Done once and kept, that
makes forward passes in float32 about a tenth faster. The layers are oneDNN's, as torch's own compiler uses them for
frozen models; a torch without them, another device or another precision computes as ever.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

ROWS = 1024
"""Tokens in a batch that the layout is chosen for; others are computed too."""
MOST_BYTES = 2**30
"""A model with more weights than this in its linear layers is left as it is: packed ones are a second copy."""


@dataclass(eq=False)
class _Layer:
    """A linear layer and its packed weights, with the state of the weights that they were made from."""

    module: nn.Linear
    made_from: tuple[int, int] | None = None
    weight: Tensor | None = None

    def pack(self) -> None:
        """Pack the weights, unless they are as they were."""
        weight = self.module.weight
        now = weight.data_ptr(), weight._version  # every step of an optimiser raises the version
        if now != self.made_from:
            self.weight = torch.ops.mkldnn._reorder_linear_weight(weight.detach(), ROWS)
            self.made_from = now

    def forward(self, entering: Tensor) -> Tensor:
        """What the layer itself computes; packed when it is first called, since some calls end below it."""
        self.pack()
        left: Tensor = torch.ops.mkldnn._linear_pointwise(entering, self.weight, self.module.bias, "none", [], "")
        return left


@dataclass(eq=False)
class PackedLinears:
    """The linear layers of a model; empty where packing is not possible."""

    model: Any
    _layers: list[_Layer] = field(default_factory=list)

    def __post_init__(self) -> None:
        linear = [module for module in self.model.modules() if type(module) is nn.Linear]
        size = sum(module.weight.nbytes for module in linear)
        plain = all(module.weight.device.type == "cpu" and module.weight.dtype == torch.float32 for module in linear)
        if plain and size <= MOST_BYTES and _can_pack():
            self._layers = [_Layer(module) for module in linear]

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Compute with packed weights for the time of one call; only where nothing is differentiated."""
        if torch.is_grad_enabled():
            raise RuntimeError("packed weights have no gradients")
        try:
            for layer in self._layers:
                _put(layer.module, layer.forward)
            yield
        finally:
            for layer in self._layers:
                vars(layer.module).pop("forward", None)


def _put(module: nn.Module, forward: Callable[[Tensor], Tensor]) -> None:
    """Past nn.Module's own, slow, way of setting an attribute."""
    vars(module)["forward"] = forward


def _can_pack() -> bool:
    return bool(
        torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )
