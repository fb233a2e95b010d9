"""Checkpoints on disk: safetensors only, without running code from them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import torch
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
)
from transformers.utils import logging

from verax.models.config_sizes import check_sizes
from verax.models.devices import allow_tf32, check_device_map, resolve_device, resolve_dtype
from verax.models.load import DeviceMap, DType, fingerprint
from verax.models.panics import panics_as_errors
from verax.types import UserError
from verax.types.errors import first_line

Use = Literal["sequence classifier", "encoder", "text generator"]
"""Use of a checkpoint: with a trained head for classes or for language, or the encoder below any head."""

_HEADS = ("classifier", "pre_classifier", "score", "classification_head")
_MAY_BE_NEW = {*_HEADS, "pooler"}


def load_checkpoint(
    folder: Path,
    name: str,
    dtype: DType,
    device: str,
    use: Use = "sequence classifier",
    *,
    tf32: bool = False,
    device_map: DeviceMap | None = None,
) -> tuple[Any, Any]:
    """The model, in evaluation mode on its device, and its tokenizer; a UserError for an unusable checkpoint.

    Args:
        dtype, device, tf32, device_map: as for `load_model`.
    """
    place = resolve_device(device)
    if tf32:
        allow_tf32(place)
    if device_map is not None:
        check_device_map(device)
    with _loading("model", name, folder):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    precision = resolve_dtype(dtype, getattr(config, "dtype", None) or torch.float32, place)
    with _loading("model", name, folder):
        options = {} if device_map is None else {"device_map": device_map}
        model, info, tokenizer = _load(_class_for(config, use), folder, precision, **options)
    # hidden states are read below the pooler, so an untrained one does no harm
    missing = sorted(key for key in info["missing_keys"] if use != "encoder" or "pooler" not in key)
    if missing:
        raise UserError(
            f"model: {name!r} lacks the weights {', '.join(missing[:3])}"
            f"{' and more' if len(missing) > 3 else ''}: it is no trained {use}"
        )
    return (model if device_map else model.to(place)).eval(), tokenizer


def load_base(folder: Path, name: str, labels: Sequence[str], *, seed: int, device: str = "auto") -> tuple[Any, Any]:
    """A model with these classes to start fine-tuning from, and its tokenizer.

    An existing head is kept if its classes have the same names, in any order; otherwise a new one is initialised.

    Args:
        folder: holds the checkpoint, as safetensors.
    """
    place = resolve_device(device)
    fingerprint(folder)  # rejects a folder without weights or tokenizer
    with _loading("base", name, folder), torch.random.fork_rng():
        torch.manual_seed(seed)
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        known = [str(config.id2label[i]) for i in range(config.num_labels)]
        fits = sorted(known) == sorted(labels)
        numbered = dict(enumerate(known if fits else labels))
        model, info, tokenizer = _load(
            AutoModelForSequenceClassification,
            folder,
            torch.float32,
            num_labels=len(labels),
            id2label=numbered,
            label2id={label: number for number, label in numbered.items()},
            ignore_mismatched_sizes=True,
        )
        if not fits:
            _renew_head(model)
    if missing := _trained(info["missing_keys"]):
        raise UserError(f"base: {name!r} lacks the weights {missing}: it is no checkpoint of its own config")
    if mismatched := _trained(key for key, *_ in info["mismatched_keys"]):
        raise UserError(
            f"base: {name!r} has the weights {mismatched} in another shape than its config says: one of the two is of "
            "another model"
        )
    if not getattr(tokenizer, "is_fast", False):
        raise UserError(f"base: the tokenizer of {name!r} is a slow one; verax needs a fast one")
    return model.to(place), tokenizer


def load_tokenizer(folder: Path, name: str) -> tuple[Any, int]:
    """The tokenizer of a model to start fine-tuning from, and the largest number of tokens that the model can read."""
    fingerprint(folder)
    with _loading("base", name, folder):
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        tokenizer = AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)
    return tokenizer, max_length(config, tokenizer)


def max_length(config: Any, tokenizer: Any) -> int:
    """Largest number of tokens that a model can read."""
    positions = getattr(config, "max_position_embeddings", None) or tokenizer.model_max_length
    if "roberta" in config.model_type or config.model_type in {"camembert", "xmod"}:
        positions -= config.pad_token_id + 1  # RoBERTa numbers positions from after the padding token
    return int(min(positions, tokenizer.model_max_length))


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


@contextmanager
def _loading(field: str, name: str, folder: Path) -> Iterator[None]:
    """Turn the errors of loading a checkpoint into a UserError about a field of the spec."""
    check_sizes(field, name, folder)
    try:
        with quiet(), panics_as_errors():
            yield
    except Exception as error:
        raise UserError(f"{field}: {name!r} can't be loaded: {first_line(error)}") from error


def _load(kind: Any, folder: Path, dtype: torch.dtype, **options: Any) -> tuple[Any, dict[str, Any], Any]:
    """A model, what transformers reports about its weights, and its tokenizer."""
    model, info = kind.from_pretrained(
        folder, dtype=dtype, use_safetensors=True, trust_remote_code=False, output_loading_info=True, **options
    )
    return model, info, AutoTokenizer.from_pretrained(folder, use_fast=True, trust_remote_code=False)


def _class_for(config: Any, use: Use) -> Any:
    """The transformers class for a use of a checkpoint."""
    if use == "text generator":
        return AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
    return AutoModelForSequenceClassification if use == "sequence classifier" else AutoModel


def _trained(keys: Iterable[str]) -> str:
    """The first of these weights without which fine-tuning can't start; empty if all of them may be new."""
    return ", ".join(sorted(key for key in keys if _MAY_BE_NEW.isdisjoint(key.split(".")))[:3])


@torch.no_grad()
def _renew_head(model: Any) -> None:
    """Initialise the weights of the head as the architecture does for a new model."""
    for name in _HEADS:
        head = getattr(model, name, None)
        for module in head.modules() if head is not None else ():
            for weight in module.parameters(recurse=False):
                weight._is_hf_initialized = False  # transformers does not initialise weights marked as loaded
            model._init_weights(module)
