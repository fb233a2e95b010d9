"""Cut pooled rows into batches that waste little on padding."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

SHORTEST = 0.8
"""A row below this share of the longest one starts a batch of its own rather than be padded to it."""

WORTHWHILE = 1 / 8
"""Rows of equal length that fill this share of the budget are a batch of their own."""


def cut_batches(
    lengths: Sequence[int], buckets: Sequence[Hashable], budget: int, *, even: bool = True
) -> list[list[int]]:
    """Group rows by length, longest first, so that a batch holds at most `budget` tokens (one row at least).

    Rows of equal length stay among themselves once they are enough to be worth a batch: it needs no attention mask and
    no padding, which is worth more on a CPU than a larger batch.

    Args:
        lengths: tokens of each row.
        buckets: rows with different buckets never share a batch.
        budget: tokens in a batch, padding included.
        even: rows of equal length may be a batch of their own. Where texts are generated a larger batch is worth more.

    Returns:
        Indices of rows, batch by batch; each row exactly once.
    """
    by_bucket: dict[Hashable, list[int]] = {}
    for i, bucket in enumerate(buckets):
        by_bucket.setdefault(bucket, []).append(i)
    batches: list[list[int]] = []
    for members in by_bucket.values():
        batch: list[int] = []
        longest = 0
        for i in sorted(members, key=lambda row: -lengths[row]):
            filled = len(batch) * longest
            full = filled + longest > budget
            ends_even = (
                even and bool(batch) and lengths[i] < longest == lengths[batch[-1]] and filled >= WORTHWHILE * budget
            )
            if batch and (full or ends_even or lengths[i] < SHORTEST * longest):
                batches.append(batch)
                batch = []
            longest = longest if batch else lengths[i]
            batch.append(i)
        batches.append(batch)
    return batches
