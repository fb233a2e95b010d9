"""Random splits: reproducible, balanced, and disjoint in the content that must not be shared."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from hashlib import blake2b
from random import Random
from typing import TypeVar

from verax.registry import unknown
from verax.types import Dataset, Instance, UserError

T = TypeVar("T")

SIZES = {"train": 36000, "validation": 1200, "test": 1200}
_EIGHTHS = {"train": range(6), "validation": range(6, 7), "test": range(7, 8)}


@dataclass(frozen=True, slots=True)
class DrawnTask:
    """A registered task whose instances are drawn at random.

    Args:
        compose: makes an instance from a random source, the split, a label and an id.
        maskable: indices of the parts that may be masked; None: all.
    """

    name: str
    summary: str
    labels: tuple[str, ...]
    compose: Callable[[Random, str, str, str], Instance]
    maskable: tuple[int, ...] | None = None

    def __call__(self, split: str = "test", limit: int | None = None, seed: int = 0) -> Dataset:
        """Draw the instances of a split, without duplicate texts.

        Args:
            split: `train`, `validation` or `test`; what an instance is about in one split occurs in no other.
            seed: another seed draws other instances of the same split.
        """
        task, count = self.name.removeprefix("world/"), draw_size(split, limit)
        instances = draw_balanced(task, self.labels, self.compose, _texts, split, count, seed)
        return Dataset(self.name, tuple(instances), self.labels, drawn_provenance(split, seed), self.maskable)


def _texts(instance: Instance) -> tuple[str, ...]:
    return tuple(part.raw for part in instance.parts)


def draw_balanced(
    task: str,
    labels: tuple[str, ...],
    compose: Callable[[Random, str, str, str], T],
    key: Callable[[T], Hashable],
    split: str,
    count: int,
    seed: int,
) -> list[T]:
    """Draw `count` items with unique keys; each block of `len(labels)` items has every label once.

    Args:
        compose: makes an item from a random source, the split, a label and an id.
    """
    items: dict[Hashable, T] = {}
    block: list[str] = []
    for number in itertools.count():
        if len(items) == count:
            break
        # Each attempt has its own random source: the first n items do not depend on the number that follows.
        rng = Random(f"{task}/{split}/{seed}/{number}")
        block = block or rng.sample(labels, len(labels))
        item = compose(rng, split, block[-1], f"world/{task}/{split}/{len(items):05d}")
        if key(item) not in items:
            items[key(item)] = item
            block.pop()
    return list(items.values())


def drawn_provenance(split: str, seed: int) -> dict[str, str]:
    """Provenance of a drawn dataset."""
    return {"source": "verax, built in", "split": split, "seed": str(seed), "licence": "Apache-2.0"}


def draw_size(split: str, limit: int | None) -> int:
    """Number of instances to draw; rejects an unknown split or a negative limit."""
    if split not in SIZES:
        raise UserError(unknown("split", split, SIZES))
    if limit is not None and limit < 0:
        raise UserError(f"limit: got {limit}, must be 0 or more")
    return SIZES[split] if limit is None else min(limit, SIZES[split])


def draw_for_split(split: str, draw: Callable[[Random], T], key: Callable[[T], str], rng: Random) -> T:
    """Draw until the hash of the key falls into the split: six of eight for train, one each for the others."""
    while True:
        drawn = draw(rng)
        eighth = blake2b(key(drawn).encode(), digest_size=1).digest()[0] % 8
        if eighth in _EIGHTHS[split]:
            return drawn
