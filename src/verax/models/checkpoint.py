"""Checkpoints on disk: safetensors only, without running code from them."""

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
"""Use of a checkpoint: with a trained head for classes or for language, or the encoder below any head."""


def load_checkpoint(
    folder: Path, name: str, dtype: str, device: str, use: Use = "sequence classifier"
) -> tuple[Any, Any]:
    """The model, in evaluation mode on its device, and its tokenizer; a UserError for an unusable checkpoint.

    Args:
        folder: of the checkpoint.
        name: of the model in messages.
        use: what it is loaded for.
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
    # hidden states are read below the pooler, so an untrained one does no harm
    missing = sorted(key for key in info["missing_keys"] if use != "encoder" or "pooler" not in key)
    if missing:
        raise UserError(
            f"model: {name!r} lacks the weights {', '.join(missing[:3])}"
            f"{' and more' if len(missing) > 3 else ''}: it is no trained {use}"
        )
    try:
        return model.to(torch.device(device)).eval(), tokenizer
    except (RuntimeError, AssertionError) as error:  # torch without CUDA raises an AssertionError
        raise UserError(f"device: {device!r} can't be used: {first_line(error)}") from error


def _kind(folder: Path, use: Use) -> Any:
    """The transformers class for a use of a checkpoint."""
    if use == "text generator":
        crossing = AutoConfig.from_pretrained(folder, trust_remote_code=False).is_encoder_decoder
        return AutoModelForSeq2SeqLM if crossing else AutoModelForCausalLM
    return AutoModelForSequenceClassification if use == "sequence classifier" else AutoModel


def first_line(error: BaseException) -> str:
    """First line of an error's message."""
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
    """Silence transformers' progress bars and notices; the user's settings are restored."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()
