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
    out.mkdir(parents=True)
    # transformers recognises the framework by this entry
    save_file(weights, out / SAFE, metadata={"format": "pt"})
    kept = {path for pattern in ("config.json", *TOKENIZER) for path in source.glob(pattern) if path.is_file()}
    for path in sorted(kept):
        shutil.copy2(path, out / path.name)
    return sorted(weights)


def _weights(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a pickled checkpoint by name, each in memory of its own."""
    try:
        content: Any = torch.load(path, map_location="cpu", weights_only=True)
    except (UnpicklingError, RuntimeError, OSError, EOFError) as error:
        raise UserError(f"{path} holds more than weights, or is damaged: {first_line(error)}") from None
    if not isinstance(content, dict) or not all(isinstance(value, torch.Tensor) for value in content.values()):
        raise UserError(f"{path} is no mapping from names to weights")
    return {str(name): value.detach().clone().contiguous() for name, value in content.items()}
