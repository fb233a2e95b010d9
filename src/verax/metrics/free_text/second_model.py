"""Text generators that a test asks besides the tested model: a trained editor, or one that rewrites inputs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

from verax.metrics.free_text.stamps import Stamps, stamps_of
from verax.models.generator import TextGenerator
from verax.models.load import checkpoint_folder, fingerprint, load_generator
from verax.models.subject import Subject

_NOT_HERE = frozenset({"remote", "unknown"})


@cache  # the hub is asked once, though the content of a folder may change
def folder_of(name: str) -> Path:
    """Local folder of a folder name or hub id."""
    return checkpoint_folder(name, None)


def hashes_of(name: str) -> Mapping[str, str]:
    """Hashes of its weights and tokenizer, without loading it."""
    folder = folder_of(name)
    return _hash_once(folder, stamps_of(folder.glob("*")))


def generator_beside(x: Subject, name: str) -> TextGenerator:
    """The generator, loaded on the device of the model of x; on the CPU if that is at an HTTP endpoint."""
    folder, device = folder_of(name), x.model.explainer.about["device"]
    return _load_once(folder, "cpu" if device in _NOT_HERE else device, stamps_of(folder.glob("*")))


@lru_cache(maxsize=8)  # asked for often, and the weights may be large
def _hash_once(folder: Path, _: Stamps) -> Mapping[str, str]:
    return fingerprint(folder)


@lru_cache(maxsize=4)
def _load_once(folder: Path, device: str, _: Stamps) -> TextGenerator:
    return load_generator(folder, device=device)
