"""Train, validation and test of a public data set: division where there is none, and provenance."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b

from verax.registry import unknown
from verax.types import Dataset, UserError

SPLITS = ("train", "validation", "test")


def check_split(name: str, split: str) -> None:
    """Reject an unknown split."""
    if split not in SPLITS:
        raise UserError(f"{name}: {unknown('split', split, SPLITS)}")


def four_fifths(n: int) -> int:
    """Number of training rows out of n: 0.8 n, rounded."""
    return (8 * n + 5) // 10


def shuffled(key: str, n: int) -> list[int]:
    """The numbers 0 to n - 1 in an order that depends on the key alone, not on seed, machine or version.

    They are sorted by the BLAKE2b hash (8 bytes) of `key/number`.
    """
    return sorted(range(n), key=lambda number: blake2b(f"{key}/{number}".encode(), digest_size=8).digest())


def presented(dataset: Dataset, name: str, split: str, citation: str) -> Dataset:
    """The data set under its public name, with its split and citation in the provenance."""
    return replace(dataset, name=name, provenance={**dataset.provenance, "split": split, "citation": citation})
