"""Safe reading of arrays from `torch.save`, safetensors and .npz files; objects are never unpickled."""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError

from verax.data.rows import Record, describe
from verax.types import FloatArray, UserError
from verax.types.errors import first_line

_MOST_NUMBERS = 10**9


def read_arrays(path: Path) -> dict[str, Any]:
    """The arrays of a file by name; a single unnamed tensor is called `attributions`."""
    if not path.is_file():
        raise UserError(f"no such file: {path}")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise UserError(f"{path}: unsupported file type {path.suffix!r}; valid: {', '.join(_READERS)}")
    content = reader(path)
    if not isinstance(content, Mapping):
        content = {"attributions": content}
    return {str(key): value for key, value in content.items()}


def numbers(row: Record, value: Any) -> FloatArray:
    """A tensor, an array, or a tuple of one (as returned by Captum), as a finite float64 array of any shape."""
    if isinstance(value, tuple) and len(value) == 1:
        value = value[0]
    if hasattr(value, "detach"):
        value = _dense(row, value)
    if not isinstance(value, (list, tuple, np.ndarray)) and not hasattr(value, "__array__"):
        raise row.error("scores", f"expected a tensor, got {describe(value)}")
    try:
        array = np.asarray(value)
    except ValueError:
        raise row.error("scores", "expected a tensor, got lists of different lengths") from None
    if array.dtype.kind not in "fiu":
        raise row.error("scores", f"expected numbers, got an array of {array.dtype}")
    array = array.astype(np.float64)
    if bad := np.argwhere(~np.isfinite(array)).tolist():
        raise row.error("scores", f"not a finite number at {bad[0]}: {array[tuple(bad[0])]}")
    return array


def _dense(row: Record, tensor: Any) -> Any:
    """A tensor as ordinary float64 numbers; numpy has no bfloat16."""
    kinds = {
        "sparse": str(tensor.layout) != "torch.strided",
        "nested": tensor.is_nested,
        "quantised": tensor.is_quantized,
        "complex": tensor.is_complex(),
        "meta": tensor.is_meta,
    }
    if unusual := [kind for kind, holds in kinds.items() if holds]:
        raise row.error("scores", f"expected a tensor of numbers, got a {unusual[0]} one")
    # a stride of 0 can claim more numbers than the file holds
    if tensor.numel() > _MOST_NUMBERS or tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise row.error("scores", f"a tensor of shape {list(tensor.shape)} over a storage that holds fewer numbers")
    return tensor.detach().cpu().double()


def _read_torch(path: Path) -> Any:
    # Imported here: the import takes seconds, and the other formats do not need it.
    import torch  # noqa: PLC0415

    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError:
        raise UserError(
            f"{path}: contains objects other than tensors, which are never unpickled; save a dict from id to tensor"
        ) from None
    except (RuntimeError, EOFError, OSError, ValueError, KeyError) as error:
        raise UserError(f"{path}: unreadable torch.save file: {first_line(error)}") from None


def _read_safetensors(path: Path) -> Any:
    from safetensors.torch import load_file  # noqa: PLC0415

    try:
        return load_file(path)
    except (SafetensorError, OSError, ValueError) as error:
        raise UserError(f"{path}: unreadable safetensors file: {first_line(error)}") from None


def _read_npz(path: Path) -> Any:
    try:
        # Opened here, since numpy does not close a damaged file.
        with path.open("rb") as opened, np.load(opened, allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except (ValueError, OSError, EOFError, AttributeError, zipfile.BadZipFile) as error:
        if "allow_pickle" in str(error):
            raise UserError(
                f"{path}: contains a pickled object, which is never unpickled; save arrays of numbers and strings"
            ) from None
        raise UserError(f"{path}: unreadable .npz file: {first_line(error)}") from None


_READERS: dict[str, Callable[[Path], Any]] = {
    ".pt": _read_torch,
    ".pth": _read_torch,
    ".safetensors": _read_safetensors,
    ".npz": _read_npz,
}
