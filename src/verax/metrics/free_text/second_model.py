"""Text generators that a test asks beside the model under test: a trained editor, or one that writes inputs anew."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path

from verax.metrics.free_text.stamps import Stamps, stamps_of
from verax.models.generator import TextGenerator
from verax.models.load import checkpoint_folder, fingerprint, load_generator
from verax.models.subject import Subject

_NOT_HERE = frozenset({"remote", "unknown"})


@cache  # the hub is asked once; what a folder holds may change all the same
def folder_of(name: str) -> Path:
    """Where the files of a folder or of a hub id are."""
    return checkpoint_folder(name, None)


def hashes_of(name: str) -> Mapping[str, str]:
    """What tells its weights and its tokenizer from others; it need not be loaded for that."""
    folder = folder_of(name)
    return _hash_once(folder, stamps_of(folder.glob("*")))


def generator_beside(x: Subject, name: str) -> TextGenerator:
    """The generator, loaded where the model is that x is posed to; on the processor if that is behind an address."""
    folder, device = folder_of(name), x.model.explainer.about["device"]
    return _load_once(folder, "cpu" if device in _NOT_HERE else device, stamps_of(folder.glob("*")))


@lru_cache(maxsize=8)  # whoever asks what kind of thing a test is asks for this, and the weights may be large
def _hash_once(folder: Path, _: Stamps) -> Mapping[str, str]:
    return fingerprint(folder)


@lru_cache(maxsize=4)
def _load_once(folder: Path, device: str, _: Stamps) -> TextGenerator:
    return load_generator(folder, device=device)
