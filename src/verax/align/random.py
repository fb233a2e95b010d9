"""Random alignment: itermax on a random matrix, as a baseline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from verax.align.extract import itermax_links
from verax.align.protocol import TextPair
from verax.stats.drawing import rng_of
from verax.types import IntArray, Undefined, UserError


@dataclass(frozen=True)
class RandomLinks:
    """About as many links as itermax gives, between random words."""

    seed: int = 0

    name: ClassVar[str] = "random"
    summary: ClassVar[str] = "Random links: the baseline."
    kind: ClassVar[str] = "baseline"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Zaman and Belinkov 2022, Appendix D"

    def __post_init__(self) -> None:
        if self.seed < 0:
            raise UserError(f"random: seed: expected at least 0, got {self.seed}")

    def align(self, pairs: Sequence[TextPair]) -> Iterator[IntArray | Undefined]:
        """Links by itermax on a uniform random matrix of similarities."""
        return (pair.empty or self._links(pair) for pair in pairs)

    def _links(self, pair: TextPair) -> IntArray:
        rng = rng_of(self.seed, (pair.reference.raw, pair.translation.raw))
        return np.argwhere(itermax_links(rng.random(pair.shape)))
