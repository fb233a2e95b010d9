"""Splits that are drawn one instance at a time, balanced, and can't share what they must not share."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from hashlib import blake2b
from itertools import count
from random import Random
from typing import TypeVar

from verax.registry import unknown
from verax.types import Dataset, Instance, UserError

T = TypeVar("T")
Compose = Callable[[Random, str, str, str], Instance]
"""Makes an instance of a split with a label and an id."""

SIZES = {"train": 36000, "validation": 1200, "test": 1200}
_EIGHTHS = {"train": range(6), "validation": range(6, 7), "test": range(7, 8)}


def draw_dataset(
    task: str,
    labels: tuple[str, ...],
    compose: Compose,
    split: str,
    limit: int | None,
    seed: int,
    maskable: tuple[int, ...] | None = None,
) -> Dataset:
    """The instances of a split, no text twice, every label once in each block of as many instances as labels."""

    def texts(instance: Instance) -> tuple[str, ...]:
        return tuple(part.raw for part in instance.parts)

    instances = draw_balanced(task, labels, compose, texts, split, check_split(split, limit), seed)
    return Dataset(f"world/{task}", tuple(instances), labels, provenance(split, seed), maskable)


def draw_balanced(
    task: str,
    labels: tuple[str, ...],
    compose: Callable[[Random, str, str, str], T],
    key: Callable[[T], Hashable],
    split: str,
    wanted: int,
    seed: int,
) -> list[T]:
    """So many of what `compose` makes, no key twice, every label once in each block of as many as there are labels."""
    seen: set[Hashable] = set()
    found: list[T] = []
    left: list[str] = []
    for rng in draws(task, split, seed):
        if len(found) == wanted:
            break
        left = left or rng.sample(labels, len(labels))
        made = compose(rng, split, left[-1], f"world/{task}/{split}/{len(found):05d}")
        if key(made) not in seen:
            seen.add(key(made))
            found.append(made)
            left.pop()
    return found


def provenance(split: str, seed: int) -> dict[str, str]:
    """Where a dataset that was drawn came from."""
    return {"source": "verax, built in", "split": split, "seed": str(seed), "licence": "Apache-2.0"}


def check_split(split: str, limit: int | None) -> int:
    """How many instances are wanted of a split; a name that nobody knows or a negative limit is the user's mistake."""
    if split not in SIZES:
        raise UserError(unknown("split", split, SIZES))
    if limit is not None and limit < 0:
        raise UserError(f"limit: got {limit}, must be 0 or more")
    return SIZES[split] if limit is None else min(limit, SIZES[split])


def draws(task: str, split: str, seed: int) -> Iterator[Random]:
    """A fresh source of randomness for each instance of a split: the first n never depend on how many follow."""
    return (Random(f"{task}/{split}/{seed}/{number}") for number in count())


def drawn_for(split: str, draw: Callable[[Random], T], key: Callable[[T], str], rng: Random) -> T:
    """Draw until the key of what was drawn falls to this split: six in eight keys to train, one to each other."""
    while True:
        found = draw(rng)
        eighth = blake2b(key(found).encode(), digest_size=1).digest()[0] % 8
        if eighth in _EIGHTHS[split]:
            return found
