"""Loading models: from a folder, a hub id, the models shipped with verax, memory, or a callable.

Nothing here imports torch until a model that needs it is loaded.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from verax.models.black_box import BlackBox, OutputKind, code_version
from verax.models.classifier import Classifier, Encoder
from verax.models.generator import TextGenerator
from verax.registry import entries, resolve, unknown
from verax.store.artifact import check_artifact
from verax.store.keys import hash_files
from verax.types import UserError
from verax.types.errors import first_line

if TYPE_CHECKING:
    from verax.models.checkpoint import Use

DType = Literal["auto", "float32", "float64", "bfloat16", "float16"]
DeviceMap = Literal["auto"]
OnLong = Literal["error", "truncate"]
"""What happens to an input beyond a model's length: it is skipped with its reason, or cut."""
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
    device: str = "auto",
    tf32: bool = False,
    device_map: DeviceMap | None = None,
    labels: Sequence[str] | None = None,
    revision: str | None = None,
    on_long: OnLong = "error",
    mask_text: str | None = None,
    version: str | None = None,
    outputs: OutputKind = "probabilities",
) -> Classifier:
    """Load a classifier.

    Args:
        name: a shipped model (`verax list models`), a folder with a checkpoint, a hub id, a transformers model in
            memory (then with its `tokenizer`), a transformers `pipeline` for text classification,
            `python:module:function`, or a callable from a list of texts (each the tuple of its parts) to probabilities
            of shape [texts, classes] (then with `labels`).
        tokenizer: the fast tokenizer of a model in memory.
        dtype: `float32`, `float64` for checks, `bfloat16`, `float16`, or `auto`, that of the checkpoint (on a CPU at
            least float32).
        device: `cpu`, `cuda`, `cuda:1`, `mps`, or `auto`, the first of cuda, mps and cpu that the machine has.
        tf32: let float32 products of a cuda device round their factors to TF32, for speed.
        device_map: `auto` spreads a model that does not fit on one device over all of them, and main memory.
        labels: names of the classes, in the model's order; those of the checkpoint by default.
        revision: of a hub id.
        on_long: `error` skips an input that exceeds the model's length, with its reason; `truncate` cuts it and records
            how much.
        mask_text: for a callable, what the rule `mask` writes in place of a word; `...` by default.
        version: for a callable, identifies this version of it (part of every key in the store); by default its source
            code, of `python:module:function` that of the module.
        outputs: what a callable returns: `probabilities`, whose rows sum to 1, or `logits`.
    """
    if all(hasattr(name, attribute) for attribute in ("task", "model", "tokenizer", "postprocess")):
        name, tokenizer = _opened_pipeline(name, tokenizer)
    in_memory = tokenizer is not None or hasattr(name, "get_input_embeddings")
    is_path = isinstance(name, str) and name.startswith("python:")
    if is_path or (callable(name) and not in_memory):
        function: Any = _import(str(name)) if is_path else name
        title = str(name) if is_path else getattr(name, "__qualname__", type(name).__name__)
        if labels is None:
            raise UserError(f"labels: the callable model {title!r} needs the names of its classes")
        version = version or code_version(function, whole_module=is_path)
        return BlackBox(function, labels=labels, name=title, version=version, mask_text=mask_text, outputs=outputs)
    if in_memory:
        if tokenizer is None:
            raise UserError("tokenizer: a model in memory needs its fast tokenizer")
        from verax.models.checkpoint import fingerprint_of  # noqa: PLC0415 - imports torch

        model: Any = name
        title = getattr(model.config, "name_or_path", "") or type(model).__name__
        facts: dict[str, Any] = {"name": title, "fingerprint": fingerprint_of(model, tokenizer)}
    else:
        placing: dict[str, Any] = {"tf32": tf32, "device_map": device_map}
        model, tokenizer, facts = _checkpoint(name, revision, dtype, device, "sequence classifier", **placing)
    from verax.models.hf_classifier import HFClassifier  # noqa: PLC0415 - imports torch

    return HFClassifier(model, tokenizer, labels=labels, on_long=on_long, **facts)


def load_encoder(
    name: str | Path, *, dtype: DType = "float32", device: str = "auto", revision: str | None = None
) -> Encoder:
    """Load a model whose hidden states can be read: any checkpoint without its head; arguments as for `load_model`."""
    model, tokenizer, facts = _checkpoint(name, revision, dtype, device, "encoder")
    from verax.models.hf_encoder import HFEncoder  # noqa: PLC0415 - imports torch

    return HFEncoder(model, tokenizer, **facts)


def load_generator(
    name: str | Path,
    *,
    dtype: DType = "float32",
    device: str = "auto",
    revision: str | None = None,
    tf32: bool = False,
    device_map: DeviceMap | None = None,
) -> TextGenerator:
    """Load a model that generates text: an encoder-decoder (T5, BART) or a decoder (GPT-2, Llama)."""
    model, tokenizer, facts = _checkpoint(
        name, revision, dtype, device, "text generator", tf32=tf32, device_map=device_map
    )
    from verax.models.hf_generator import HFGenerator  # noqa: PLC0415 - imports torch

    return HFGenerator(model, tokenizer, name=facts["name"], fingerprint=facts["fingerprint"])


def device_near(model: Any) -> str:
    """The device for a second model: that of the first, or `auto` if the first is not a local checkpoint."""
    device: str = model.about["device"]
    return "auto" if device in {"remote", "unknown"} else device


def _checkpoint(
    name: Any, revision: str | None, dtype: DType, device: str, use: Use, **placing: Any
) -> tuple[Any, Any, dict[str, Any]]:
    """A model, its tokenizer, and its name, fingerprint and folder."""
    home = checkpoint_folder(str(name), revision)
    check_artifact(home)
    facts = {"name": str(name), "fingerprint": fingerprint(home), "home": home}
    from verax.models.checkpoint import load_checkpoint  # noqa: PLC0415 - imports torch

    return (*load_checkpoint(home, str(name), dtype, device, use, **placing), facts)


def _opened_pipeline(pipeline: Any, tokenizer: Any) -> tuple[Any, Any]:
    """Model and tokenizer of a transformers pipeline."""
    if pipeline.task != "text-classification":
        raise UserError(
            f"model: a pipeline must be one for text-classification, and this one is for {pipeline.task}; write a "
            "function that calls it and returns probabilities"
        )
    return pipeline.model, tokenizer or pipeline.tokenizer


def _import(name: str) -> Callable[..., Any]:
    module, _, attribute = name.removeprefix("python:").partition(":")
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UserError(
            f"model: can't import {name!r} (python:module:function): {error}; --import-from FOLDER names the folder of "
            "a module that is not installed"
        ) from error
    if not callable(function):
        raise UserError(f"model: {name!r} is no function")
    return function  # type: ignore[no-any-return]


def checkpoint_folder(name: str, revision: str | None) -> Path:
    """Local folder of a checkpoint; a hub id is downloaded, or found in the cache when offline."""
    if name in entries("models"):
        return Path(resolve("models", name)())
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder
    check_model_name(name)
    return _fetch(name, revision)


def check_model_name(name: str) -> None:
    """Reject a name that can be neither a shipped model, nor a folder, nor a hub id; nothing is imported or fetched."""
    folder = Path(name).expanduser()
    if name in entries("models") or name.startswith("python:") or folder.is_dir():
        return
    if folder.exists():
        raise UserError(f"model: {name!r} is a file; give the folder that holds the checkpoint")
    if name.startswith(("/", ".", "~")) or name.count("/") > 1:
        raise UserError(f"model: there is no folder {name!r}; {unknown('model', name, entries('models'))}")
    # a request to the hub takes half a minute without network, so a misspelled shipped model is rejected first
    if name.partition("/")[0] in {shipped.partition("/")[0] for shipped in entries("models")}:
        raise UserError(unknown("model", name, entries("models")))


def _fetch(name: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download  # noqa: PLC0415 - only a hub id needs it
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError  # noqa: PLC0415

    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=[WEIGHTS, "*.json", *TOKENIZER]))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        near = unknown("model", name, entries("models"))
        raise UserError(f"{near} (no such folder, and not available from the hub: {first_line(error)})") from error


def fingerprint(folder: Path) -> dict[str, str]:
    """Hashes of the weights and of the tokenizer in a folder; a UserError if it holds no checkpoint."""
    if not (folder / "config.json").is_file():
        raise UserError(f"model: {folder} holds no config.json, so it is no checkpoint")
    weights = sorted(path for path in folder.glob(WEIGHTS) if path.is_file())
    if not weights:
        raise UserError(f"model: {folder} holds no safetensors file; verax loads no other format (they can run code)")
    pieces = sorted({path for pattern in TOKENIZER for path in folder.glob(pattern) if path.is_file()})
    if not pieces:  # transformers would make one up from special tokens
        raise UserError(f"model: {folder} has no tokenizer; save one into the folder with tokenizer.save_pretrained")
    if irregular := [path.name for path in folder.iterdir() if path.exists() and not (path.is_file() or path.is_dir())]:
        raise UserError(f"model: {folder}: {irregular[0]} is no regular file; reading it might never end")
    return {"weights": hash_files([folder / "config.json", *weights]), "tokenizer": hash_files(pieces)}
