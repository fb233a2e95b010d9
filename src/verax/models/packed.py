"""Linear layers whose weights are packed in advance for the matrix product of a CPU.

At every call, the matrix product first copies the weights into blocks that fit the caches. Doing that once makes
passes in float32 faster, by 10 % where torch's own product suits the CPU and twofold where it does not. The layers are
those of oneDNN, as torch's compiler uses them for frozen models; without them, on another device, in another precision,
or where a short measurement shows that torch's own product is faster, the model computes as usual.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

ROWS = 1024
"""Number of tokens in a batch that the layout is chosen for; other batches work too."""
KERNELS = {"ONEDNN_PRIMITIVE_CACHE_CAPACITY": "32", "LRU_CACHE_CAPACITY": "32"}
"""Number of compiled matrix products that oneDNN, and torch's interface to it, keep: one for each shape of a layer's
inputs. By default they keep 1024, of which batches of all sizes fill some hundred megabytes; the layers of one batch
share a few, and compiling the others anew takes no measurable time."""
TIMED_ROWS, TIMES = 256, 3
"""Tokens in a batch, and repetitions, that the two products are timed with: some hundredths of a second in all."""
SLOWER = 1.1
"""The packed product is used unless it takes more than so many times as long; a smaller difference may be noise."""
MOST_BYTES = 2**30
"""Largest size of the linear layers of a model that is packed: packed weights are a second copy, and a third if
gradients are computed."""


@dataclass(eq=False)
class _Packed:
    """A weight matrix in the layout of oneDNN, with the version of the weights that it was made from."""

    made_from: tuple[int, int] | None = None
    matrix: Tensor | None = None

    def product(self, inputs: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """inputs @ weight.T + bias; the weights are packed when they are first used, and again when they changed."""
        now = weight.data_ptr(), weight._version  # every optimiser step raises the version
        if now != self.made_from:
            self.matrix = torch.ops.mkldnn._reorder_linear_weight(weight.detach().contiguous(), ROWS)
            self.made_from = now
        output: Tensor = torch.ops.mkldnn._linear_pointwise(inputs, self.matrix, bias, "none", [], "")
        return output


@dataclass(eq=False)
class _Layer:
    """A linear layer with its weights packed, and packed once more, transposed, for gradients at its inputs."""

    module: nn.Linear
    forwards: _Packed = field(default_factory=_Packed)
    backwards: _Packed = field(default_factory=_Packed)

    def forward(self, inputs: Tensor) -> Tensor:
        """The output of the layer."""
        if not inputs.requires_grad:
            return self.forwards.product(inputs, self.module.weight, self.module.bias)
        output: Tensor = _Product.apply(inputs, self)  # type: ignore[no-untyped-call]
        return output


class _Product(torch.autograd.Function):
    """A linear layer whose gradient is that of its inputs; its weights get none."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, layer: _Layer) -> Tensor:
        """The output of the layer."""
        ctx.layer = layer
        return layer.forwards.product(inputs, layer.module.weight, layer.module.bias)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        """The gradient at the inputs."""
        layer: _Layer = ctx.layer
        return layer.backwards.product(gradients[0].contiguous(), layer.module.weight.T, None), None


@dataclass(eq=False)
class PackedLinears:
    """The linear layers of a model; empty if they cannot be packed."""

    model: Any
    _layers: list[_Layer] = field(default_factory=list)

    def __post_init__(self) -> None:
        linear = [module for module in self.model.modules() if type(module) is nn.Linear]
        size = sum(module.weight.nbytes for module in linear)
        plain = all(module.weight.device.type == "cpu" and module.weight.dtype == torch.float32 for module in linear)
        if linear and plain and size <= MOST_BYTES and _can_pack():
            for name, value in KERNELS.items():  # read when oneDNN is first used
                os.environ.setdefault(name, value)
            if _packing_pays(linear):
                self._layers = [_Layer(module) for module in linear]

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Compute with packed weights during one call; gradients are those of inputs, the weights get none."""
        try:
            for layer in self._layers:
                vars(layer.module)["forward"] = layer.forward  # without the overhead of nn.Module.__setattr__
            yield
        finally:
            for layer in self._layers:
                vars(layer.module).pop("forward", None)


@torch.inference_mode()
def _packing_pays(linear: Sequence[nn.Linear]) -> bool:
    """Whether the packed product is not slower than torch's own, for the shape of layer that most weights have."""
    sizes: Counter[torch.Size] = Counter()
    for module in linear:
        sizes[module.weight.shape] += module.weight.numel()
    shape = sizes.most_common(1)[0][0]
    module = next(module for module in linear if module.weight.shape == shape)
    inputs, packed = torch.ones(TIMED_ROWS, shape[1]), _Packed()
    products: tuple[Callable[[], Tensor], ...] = (
        lambda: nn.functional.linear(inputs, module.weight, module.bias),
        lambda: packed.product(inputs, module.weight, module.bias),
    )
    for product in products:  # the first call allocates, packs and compiles
        product()
    # in turns: what else the machine does at the time concerns both
    seconds = [[_seconds(product) for product in products] for _ in range(TIMES)]
    own, quick = (min(each[i] for each in seconds) for i in range(2))
    return quick <= SLOWER * own


def _seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def _can_pack() -> bool:
    return bool(
        torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
        and hasattr(torch.ops.mkldnn, "_reorder_linear_weight")
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )
