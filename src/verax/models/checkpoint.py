"""Checkpoints on disk: safetensors only, no code of theirs is run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)
from transformers.utils import logging

from verax.types import UserError

Use = Literal["sequence classifier", "encoder", "text generator"]
"""What a checkpoint is wanted for: with a trained head for classes or for language, or what is below any head."""


def load_checkpoint(
    folder: Path, name: str, dtype: str, device: str, use: Use = "sequence classifier"
) -> tuple[Any, Any]:
    """The model, in evaluation mode on its device, and its tokenizer; a clear error for a checkpoint that won't do.

    Args:
        folder: where it is.
        name: what messages call it.
        use: what it is to be.
    """
    if dtype not in {"float32", "float64"}:
        raise UserError(f"dtype: got {dtype!r}; use 'float32' or 'float64'")
    try:
        with quiet():
            model, info = _kind(folder, use).from_pretrained(
                folder,
                dtype=getattr(torch, dtype),
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
            )
            tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        raise UserError(f"model: {name!r} can't be loaded: {first_line(error)}") from error
    # an encoder's states are read below the pooler: one that was never trained does no harm
    missing = sorted(key for key in info["missing_keys"] if use != "encoder" or "pooler" not in key)
    if missing:
        raise UserError(
            f"model: {name!r} lacks the weights {', '.join(missing[:3])}"
            f"{' and more' if len(missing) > 3 else ''}: it is no trained {use}"
        )
    try:
        return model.to(torch.device(device)).eval(), tokenizer
    except (RuntimeError, AssertionError) as error:  # a torch that knows no CUDA asserts
        raise UserError(f"device: {device!r} can't be used: {first_line(error)}") from error


def _kind(folder: Path, use: Use) -> Any:
    """The class of transformers that makes such a model of a checkpoint."""
    if use == "text generator":
        crossing = AutoConfig.from_pretrained(folder, trust_remote_code=False).is_encoder_decoder
        return AutoModelForSeq2SeqLM if crossing else AutoModelForCausalLM
    return AutoModelForSequenceClassification if use == "sequence classifier" else AutoModel


def first_line(error: BaseException) -> str:
    """What an error says, without the rest of it."""
    return str(error).strip().partition("\n")[0]


def fingerprint_of(model: Any, tokenizer: Any) -> dict[str, str]:
    """Hashes of the weights and of the tokenizer of a model in memory."""
    weights = hashlib.sha256(model.config.to_json_string(use_diff=False).encode())
    for key, tensor in sorted(model.state_dict().items()):
        weights.update(f"{key} {tensor.dtype} {tuple(tensor.shape)}".encode())
        weights.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    pieces = hashlib.sha256(tokenizer.backend_tokenizer.to_str().encode())
    return {"weights": weights.hexdigest(), "tokenizer": pieces.hexdigest()}


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bar and no notice of transformers' own while loading; the user's settings come back after."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
