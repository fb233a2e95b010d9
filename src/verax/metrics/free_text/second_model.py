"""Text generators that a test asks in addition to the tested model: a trained editor, or one that rewrites inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path

from verax.models.generator import TextGenerator
from verax.models.load import checkpoint_folder, device_near, fingerprint, load_generator
from verax.models.subject import Subject

Stamps = tuple[tuple[str, int, int], ...]


def stamps_of(paths: Iterable[Path]) -> Stamps:
    """Name, time of the last change and size of each file, sorted: a key for a cache of its content."""
    files = ((path.name, path.stat()) for path in paths if path.is_file())
    return tuple(sorted((name, stat.st_mtime_ns, stat.st_size) for name, stat in files))


@cache  # the hub is asked once, though the content of a folder may change
def folder_of(name: str) -> Path:
    """Local folder of a folder name or hub id."""
    return checkpoint_folder(name, None)


def hashes_of(name: str) -> Mapping[str, str]:
    """Hashes of its weights and tokenizer, without loading it."""
    folder = folder_of(name)
    return _hash_once(folder, stamps_of(folder.glob("*")))


def second_generator(x: Subject, name: str) -> TextGenerator:
    """The generator, loaded on the device of the model of x; on one of this machine if that is at an HTTP endpoint."""
    folder = folder_of(name)
    return _load_once(folder, device_near(x.model.explainer), stamps_of(folder.glob("*")))


@lru_cache(maxsize=8)  # asked for often, and the weights may be large
def _hash_once(folder: Path, _: Stamps) -> Mapping[str, str]:
    return fingerprint(folder)


@lru_cache(maxsize=4)
def _load_once(folder: Path, device: str, _: Stamps) -> TextGenerator:
    return load_generator(folder, device=device)
