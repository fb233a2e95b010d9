"""Loading models: from a folder, a hub id, the models shipped with verax, memory, or a callable.

Nothing here imports torch until a model that needs it is loaded.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from verax.models.black_box import BlackBox
from verax.models.classifier import Classifier, Encoder
from verax.models.generator import TextGenerator
from verax.registry import entries, resolve, unknown
from verax.store.keys import hash_files
from verax.types import UserError

DType = Literal["float32", "float64"]
WEIGHTS = "*.safetensors"
TOKENIZER = (
    "tokenizer*",
    "vocab*",
    "merges.txt",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template*",
    "*.model",
)


def load_model(
    name: str | Path | Callable[..., Any],
    *,
    tokenizer: Any = None,
    dtype: DType = "float32",
    device: str = "cpu",
    labels: Sequence[str] | None = None,
    revision: str | None = None,
    on_long: Literal["error", "truncate"] = "error",
    mask_text: str | None = None,
    version: str = "unversioned",
) -> Classifier:
    """Load a classifier.

    Args:
        name: a shipped model (`verax list models`), a folder with a checkpoint, a hub id, a transformers model in
            memory (then with its `tokenizer`), `python:module:function`, or a callable from a list of texts (each the
            tuple of its parts) to probabilities of shape [texts, classes] (then with `labels`).
        tokenizer: the fast tokenizer of a model in memory.
        dtype: float32, or float64 for checks.
        device: `cpu`, `cuda`, `cuda:1`, `mps`.
        labels: names of the classes, in the model's order; those of the checkpoint by default.
        revision: of a hub id.
        on_long: `error` skips an input that exceeds the model's length, with its reason; `truncate` cuts it and records
            how much.
        mask_text: for a callable, what the rule `mask` writes in place of a word.
        version: for a callable, identifies this version of it (part of every key in the store).
    """
    if isinstance(name, str) and name.startswith("python:"):
        return _black_box(_import(name), name, labels, version, mask_text)
    in_memory = tokenizer is not None or hasattr(name, "get_input_embeddings")
    if callable(name) and not in_memory:
        return _black_box(name, getattr(name, "__qualname__", type(name).__name__), labels, version, mask_text)
    if in_memory:
        title = getattr(name.config, "name_or_path", "") or type(name).__name__  # type: ignore[union-attr]
        loaded = _in_memory(name, tokenizer)
        home = None
    else:
        title = str(name)
        home = checkpoint_folder(title, revision)
        loaded = _from_folder(home, title, dtype, device)
    from verax.models.hf_classifier import HFClassifier  # noqa: PLC0415 - imports torch

    model, tokenizer, fingerprint = loaded
    return HFClassifier(
        model, tokenizer, name=title, fingerprint=fingerprint, labels=labels, on_long=on_long, home=home
    )


def load_encoder(
    name: str | Path, *, dtype: DType = "float32", device: str = "cpu", revision: str | None = None
) -> Encoder:
    """Load a model whose hidden states can be read: any checkpoint without its head.

    Args:
        name: a shipped model, a folder with a checkpoint, or a hub id.
        dtype, device, revision: as for `load_model`.
    """
    title = str(name)
    home = checkpoint_folder(title, revision)
    hashes = fingerprint(home)
    from verax.models.checkpoint import load_checkpoint  # noqa: PLC0415 - imports torch
    from verax.models.hf_encoder import HFEncoder  # noqa: PLC0415 - imports torch

    model, tokenizer = load_checkpoint(home, title, dtype, device, "encoder")
    return HFEncoder(model, tokenizer, name=title, fingerprint=hashes, home=home)


def load_generator(
    name: str | Path, *, dtype: DType = "float32", device: str = "cpu", revision: str | None = None
) -> TextGenerator:
    """Load a model that generates text: an encoder-decoder (T5, BART) or a decoder (GPT-2, Llama).

    Args:
        name: a folder with a checkpoint, or a hub id.
        dtype, device, revision: as for `load_model`.
    """
    title = str(name)
    home = checkpoint_folder(title, revision)
    hashes = fingerprint(home)
    from verax.models.checkpoint import load_checkpoint  # noqa: PLC0415 - imports torch
    from verax.models.hf_generator import HFGenerator  # noqa: PLC0415 - imports torch

    model, tokenizer = load_checkpoint(home, title, dtype, device, "text generator")
    return HFGenerator(model, tokenizer, name=title, fingerprint=hashes)


def _black_box(
    answer: Callable[..., Any], name: str, labels: Sequence[str] | None, version: str, mask_text: str | None
) -> BlackBox:
    if labels is None:
        raise UserError(f"labels: the callable model {name!r} needs the names of its classes")
    return BlackBox(answer, labels=labels, name=name, version=version, mask_text=mask_text)


def _import(name: str) -> Callable[..., Any]:
    _, _, path = name.partition(":")
    module, _, attribute = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(f"model: can't import {name!r} (python:module:function): {error}") from error
    if not callable(found):
        raise UserError(f"model: {name!r} is no function")
    return found  # type: ignore[no-any-return]


def checkpoint_folder(name: str, revision: str | None) -> Path:
    """Local folder of a checkpoint; a hub id is downloaded, or found in the cache when offline."""
    if name in entries("models"):
        return Path(resolve("models", name)())
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    if folder.exists():
        raise UserError(f"model: {name!r} is a file; give the folder that holds the checkpoint")
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        raise UserError(f"model: there is no folder {name!r}; {unknown('model', name, entries('models'))}")
    return _fetch(name, revision)


def _fetch(name: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - only a hub id needs it
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError  # noqa: PLC0415

    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=[WEIGHTS, "*.json", *TOKENIZER]))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        near = unknown("model", name, entries("models"))
        first_line = str(error).strip().partition("\n")[0]
        raise UserError(f"{near} (no such folder, and not available from the hub: {first_line})") from error


def _from_folder(folder: Path, name: str, dtype: DType, device: str) -> tuple[Any, Any, dict[str, str]]:
    hashes = fingerprint(folder)
    from verax.models.checkpoint import load_checkpoint  # noqa: PLC0415 - imports torch

    return (*load_checkpoint(folder, name, dtype, device), hashes)


def fingerprint(folder: Path) -> dict[str, str]:
    """Hashes of the weights and of the tokenizer in a folder; a UserError if it holds no checkpoint."""
    if not (folder / "config.json").is_file():
        raise UserError(f"model: {folder} holds no config.json, so it is no checkpoint")
    weights = sorted(folder.glob(WEIGHTS))
    if not weights:
        raise UserError(f"model: {folder} holds no safetensors file; verax loads no other format (they can run code)")
    pieces = sorted({path for pattern in TOKENIZER for path in folder.glob(pattern) if path.is_file()})
    if not pieces:  # transformers would make one up from special tokens
        raise UserError(f"model: {folder} has no tokenizer; save one into the folder with tokenizer.save_pretrained")
    return {"weights": hash_files([folder / "config.json", *weights]), "tokenizer": hash_files(pieces)}


def _in_memory(model: Any, tokenizer: Any) -> tuple[Any, Any, dict[str, str]]:
    if tokenizer is None:
        raise UserError("tokenizer: a model in memory needs its fast tokenizer")
    from verax.models.checkpoint import fingerprint_of  # noqa: PLC0415 - imports torch

    return model, tokenizer, fingerprint_of(model, tokenizer)
