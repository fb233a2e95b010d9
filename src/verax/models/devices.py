"""Where a model computes and in which precision: devices, dtypes, and whether this machine has them."""

from __future__ import annotations

import signal
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from typing import get_args

import torch
from torch import Tensor

from verax.models.load import DType
from verax.types import UserError
from verax.types.errors import first_line

HALF = (torch.bfloat16, torch.float16)
_PROBE = """
import torch
dtype = torch.{name}
x = torch.ones(16, 64, 96, dtype=dtype, requires_grad=True)
weight = torch.ones(96, 96, dtype=dtype, requires_grad=True)
y = torch.nn.functional.linear(x, weight, torch.ones(96, dtype=dtype))
y = torch.nn.functional.layer_norm(y, (96,))
heads = y.view(16, 64, 6, 16).transpose(1, 2)
y = torch.nn.functional.scaled_dot_product_attention(heads, heads, heads)
y = torch.nn.functional.gelu((heads @ heads.transpose(2, 3)).softmax(-1) @ y)
y.float().sum().backward()
"""
"""The products, attention and gradients of a transformer, in a precision that some CPUs stop a process for."""


def resolve_device(name: str) -> torch.device:
    """The device of a name; `auto` is the first of cuda, mps and cpu that this machine has.

    Raises:
        UserError: if the machine has no such device.
    """
    if name == "auto":
        return torch.device(_available()[0])
    try:
        device = torch.device(name)
        torch.empty(1, device=device).cpu()
    except (RuntimeError, AssertionError, NotImplementedError) as error:  # torch without CUDA raises AssertionError
        here = ", ".join(("auto", *_available()))
        raise UserError(f"device: {name!r} can't be used: {first_line(error)}; this machine has {here}") from error
    return device


def _available() -> list[str]:
    """Kinds of device of this machine, the fastest first."""
    found = [("cuda", torch.cuda.is_available()), ("mps", torch.backends.mps.is_available()), ("cpu", True)]
    return [name for name, is_here in found if is_here]


def resolve_dtype(name: DType, saved: torch.dtype, device: torch.device) -> torch.dtype:
    """The precision of a name on a device.

    Args:
        name: `auto` is the precision that the weights were saved in, and float32 on a CPU, where half precision is
            slower and less exact.
        saved: precision of the weights on disk.

    Raises:
        UserError: if the device can't compute in it.
    """
    if name not in get_args(DType):
        raise UserError(f"dtype: got {name!r}; use one of {', '.join(get_args(DType))}")
    if name == "auto":
        return torch.float32 if device.type == "cpu" and saved in HALF else saved
    dtype: torch.dtype = getattr(torch, name)
    if device.type == "mps" and dtype == torch.float64:
        raise UserError("dtype: mps devices have no float64; use float32, or device: cpu")
    check_half(dtype, device)
    return dtype


def check_half(dtype: torch.dtype, device: torch.device) -> None:
    """Reject a half precision that this CPU stops the process for, or can't compute in."""
    if dtype not in HALF or device.type != "cpu":
        return
    name = str(dtype).removeprefix("torch.")
    if (problem := _probe(_PROBE.format(name=name))) is not None:
        raise UserError(f"dtype: this CPU can't compute in {name} ({problem}); use float32")


def half_precision(name: str, device: torch.device) -> torch.dtype:
    """The half precision of a name; a UserError if the device can't compute in it."""
    dtype: torch.dtype = getattr(torch, name)
    check_half(dtype, device)
    return dtype


@cache
def _probe(code: str) -> str | None:
    """Why a Python program fails, found out in a process of its own; None if it does not.

    An instruction that the CPU lacks (SIGILL) kills a process, which no exception handler can prevent.
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode < 0:
        return f"the process is killed by {signal.Signals(-done.returncode).name}"
    return (done.stderr.strip().splitlines() or ["it fails"])[-1] if done.returncode else None


def allow_tf32(device: torch.device) -> None:
    """Let float32 matrix products round their factors to 10 bits (TF32), about three digits, from now on."""
    if device.type != "cuda":
        raise UserError(f"tf32: only cuda devices have it, and the model is on {device.type}; leave it out")
    torch.set_float32_matmul_precision("high")


def check_device_map(device: str) -> None:
    """Reject a model that is spread over devices if one device is named too, or if accelerate is not installed."""
    if device != "auto":
        raise UserError(f"device_map: it spreads the model over all devices, and device: {device} names one; use one")
    if find_spec("accelerate") is None:
        raise UserError("device_map: it needs the package accelerate: pip install 'verax[accelerate]'")


def rounding_of(dtype: torch.dtype, device: torch.device) -> dict[str, str]:
    """What a model's answers depend on besides its weights: the precision, and whether products are rounded to TF32."""
    named = {"dtype": str(dtype).removeprefix("torch.")}
    is_tf32 = device.type == "cuda" and dtype == torch.float32 and torch.get_float32_matmul_precision() != "highest"
    return {**named, "tf32": "true"} if is_tf32 else named


def widened(tensor: Tensor) -> Tensor:
    """The tensor in float32 or better: half precision is for products, never for sums, softmax and differences."""
    return tensor.float() if tensor.dtype in HALF else tensor
