"""Draws that belong to a text: the same whatever else is run, and in whichever order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")


def rng_of(seed: int, texts: Iterable[str], who: bytes = b"") -> np.random.Generator:
    """Random numbers that depend on the seed, on the texts and on who draws, and on nothing else.

    Args:
        seed: 0 or more.
        texts: the parts of an input, in order.
        who: tells apart those who draw for the same texts.
    """
    content = hashlib.sha256(who)
    for text in texts:
        raw = text.encode("utf-8", "surrogatepass")
        content.update(len(raw).to_bytes(8, "big") + raw)
    return np.random.default_rng([seed, int.from_bytes(content.digest(), "big")])


def spread(items: tuple[Item, ...], count: int) -> tuple[Item, ...]:
    """So many of several, evenly from the first on; all where there are no more."""
    return items if len(items) <= count else tuple(items[i * len(items) // count] for i in range(count))
