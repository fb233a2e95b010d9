"""Random draws that depend on a seed and a text only."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")


def rng_of(seed: int, texts: Iterable[str], consumer: bytes = b"") -> np.random.Generator:
    """A generator that depends only on the seed, the texts and the name of the consumer.

    Args:
        seed: at least 0.
        texts: the parts of an input, in order.
        consumer: name of the consumer, to separate draws for the same texts.
    """
    content = hashlib.sha256(consumer)
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        content.update(len(raw).to_bytes(8, "big") + raw)
    return np.random.default_rng([seed, int.from_bytes(content.digest(), "big")])


def evenly_spaced(items: tuple[Item, ...], count: int) -> tuple[Item, ...]:
    """At most `count` items, evenly spaced from the first."""
    return items if len(items) <= count else tuple(items[i * len(items) // count] for i in range(count))
