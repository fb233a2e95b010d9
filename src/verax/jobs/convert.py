"""Conversion of checkpoints that are stored as pickles, such as those of awesome-align, to safetensors."""

from __future__ import annotations

import shutil
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from safetensors.torch import save_file

from verax.models.load import TOKENIZER, checkpoint_folder
from verax.types import UserError
from verax.types.errors import first_line

PICKLED = "pytorch_model.bin"
SAFE = "model.safetensors"


def convert_checkpoint(folder: Path, out: Path) -> list[str]:
    """Write a checkpoint with the weights of a pickled one, its config and its tokenizer.

    The pickle is read by torch's restricted reader, which builds tensors and runs no code.

    Args:
        folder: holds `pytorch_model.bin` and `config.json`.

    Returns:
        The names of the weights.
    """
    source = checkpoint_folder(str(folder), None)
    for name in (PICKLED, "config.json"):
        if not (source / name).is_file():
            raise UserError(f"{source} holds no {name}")
    if out.exists():
        raise UserError(f"--out: {str(out)!r} exists; name a new folder")
    weights = _weights(source / PICKLED)
    kept = {path for pattern in ("config.json", *TOKENIZER) for path in source.glob(pattern) if path.is_file()}
    out.mkdir(parents=True)
    try:
        # transformers recognises the framework by this entry
        save_file(weights, out / SAFE, metadata={"format": "pt"})
        for path in sorted(kept):
            shutil.copy2(path, out / path.name)
    except BaseException:  # a full disk, Ctrl-C: the same command can be repeated
        shutil.rmtree(out, ignore_errors=True)
        raise
    return sorted(weights)


def _weights(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a pickled checkpoint by name, each in memory of its own."""
    try:
        content: Any = torch.load(path, map_location="cpu", weights_only=True)
    except (UnpicklingError, RuntimeError, OSError, EOFError, ValueError, KeyError) as error:
        raise UserError(f"{path} holds more than weights, or is damaged: {first_line(error)}") from None
    if not isinstance(content, dict) or not all(isinstance(value, torch.Tensor) for value in content.values()):
        raise UserError(f"{path} is no mapping from names to weights")
    if unusual := next((str(name) for name, value in content.items() if not _is_plain(value)), None):
        raise UserError(f"{path}: {unusual} is not dense: it is sparse, quantised, or larger than its data")
    return {str(name): value.detach().clone().contiguous() for name, value in content.items()}


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor is dense and no larger than its storage, as one with a stride of 0 would be."""
    if tensor.layout != torch.strided or tensor.is_nested or tensor.is_quantized or tensor.is_meta:
        return False
    return tensor.numel() * tensor.element_size() <= tensor.untyped_storage().nbytes()
