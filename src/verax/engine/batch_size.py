"""The number of tokens in a batch, chosen by timing the first batches of real work."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

ON_PROCESSOR = 1024
ON_ACCELERATOR = 16384
GAIN = 0.9
"""A size is preferred to another if a token takes at most this share of the time; a smaller gain may be noise."""
SHORT_BATCH = 0.1
"""Seconds. Shorter batches may gain from more tokens, longer ones from fewer."""
MOST_DOUBLINGS = 3
"""Memory grows with the size, and there is less and less overhead left to save."""
BATCHES = 2
"""Batches of each size that are timed; the first one also allocates memory."""
MOST_TRIALS = 8
"""Sizes that are timed before the best so far is kept."""
SIMILAR = 0.8
"""Least ratio of the lengths of rows whose times are compared: attention takes longer per token in long rows."""


def token_budget(model: Any) -> int:
    """Tokens in the first batches: a processor is busy with few, an accelerator needs many."""
    return ON_PROCESSOR if model.about["device"] in {"cpu", "unknown"} else ON_ACCELERATOR


@dataclass(eq=False, slots=True)
class BatchSize:
    """Largest number of tokens in a batch of one model, forward or backward.

    Batches are timed. Twice as many tokens, or half as many, are tried on the next batches and kept if a token
    then takes clearly less time, until a trial fails. All of these batches are work that had to be done, so measuring
    costs no more than the slower batches of a trial that fails. Answers depend on the size by rounding only.

    Args:
        tokens: size of the next batch.
        settled: whether no other size is tried.
    """

    tokens: int
    settled: bool = False
    usual: int = field(init=False)
    """Size of the first batches."""
    _best: tuple[int, float] | None = field(init=False, default=None)
    """The size that the present one is compared with, and the seconds that a token took."""
    _seconds: list[float] = field(init=False, default_factory=list)
    """Per token, of batches of the present size."""
    _alike: tuple[Hashable, int] = field(init=False, default=(None, 0))
    """Kind and length of the rows that are compared."""
    _trials: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self.usual = self.tokens

    def shrink(self, tokens: int) -> None:
        """Never take more tokens than this from now on: a larger batch did not fit into memory."""
        self.tokens, self.settled = min(tokens, self.tokens), True

    def record(self, kind: Hashable, rows: int, longest: int, seconds: float) -> None:
        """Take the time of a batch, which may change `tokens`.

        Args:
            kind: of pass; the time of a token is compared only within a kind, and among rows of similar length.
            rows, longest: shape of the batch.
        """
        if self.settled or not self._is_typical(rows * longest):
            return
        if kind != self._alike[0] or not SIMILAR <= longest / self._alike[1] <= 1 / SIMILAR:
            self._alike = kind, longest
            self.tokens, _ = self._best or (self.tokens, 0.0)
            self._best = None
            self._seconds.clear()
            if not self._is_typical(rows * longest):  # cut for a size that is no longer tried
                return
        self._seconds.append(seconds / (rows * longest))
        if len(self._seconds) == BATCHES:
            self._choose(min(self._seconds))
            self._seconds.clear()

    def _is_typical(self, tokens: int) -> bool:
        """Whether a batch of so many tokens was cut for the present size, and is not the rest of something."""
        return self.tokens < 2 * tokens <= 2 * self.tokens

    def _choose(self, per_token: float) -> None:
        """Try the next size, or return to the one before and stay there."""
        tokens, before, self._best = self.tokens, self._best, (self.tokens, per_token)
        self._trials += 1
        if before is not None and per_token > GAIN * before[1]:
            self.tokens, self.settled = before[0], True
            return
        is_short = tokens * per_token < SHORT_BATCH
        larger = is_short if before is None else tokens > before[0]
        self.tokens = 2 * tokens if larger else tokens // 2
        if self._trials == MOST_TRIALS or self.tokens > self.usual << MOST_DOUBLINGS or larger != is_short:
            self.tokens, self.settled = tokens, True
