"""Batches: pooled passes are cut into batches with little padding, and each is settled with its own answer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import ceil
from typing import Any

from verax.engine.batch_size import BatchSize
from verax.engine.questions.base import Pass
from verax.types import Undefined, UserError

SHORTEST = 0.8
"""A row below this share of the longest one starts a batch of its own rather than be padded to it."""

WORTHWHILE = 1 / 8
"""Rows of equal length that fill this share of the budget are a batch of their own."""


def cut_batches(
    lengths: Sequence[int], buckets: Sequence[Hashable], budget: int, *, even: bool = True
) -> list[list[int]]:
    """Indices of rows, batch by batch, longest first; a batch holds at most `budget` tokens, or one row.

    Args:
        lengths: tokens of each row.
        buckets: rows with different buckets never share a batch.
        budget: tokens in a batch, padding included.
        even: rows of equal length are a batch of their own if they are enough: it needs no attention mask and no
            padding, which is worth more on a CPU than a larger batch. For generated text a larger batch is worth more.
    """
    by_bucket: dict[Hashable, list[int]] = {}
    for i, bucket in enumerate(buckets):
        by_bucket.setdefault(bucket, []).append(i)
    batches: list[list[int]] = []
    for members in by_bucket.values():
        batch: list[int] = []
        longest, limit = 0, budget
        alike = Counter(lengths[i] for i in members)
        for i in sorted(members, key=lambda row: -lengths[row]):
            filled = len(batch) * longest
            full = filled + longest > limit
            ends_even = (
                even and bool(batch) and lengths[i] < longest == lengths[batch[-1]] and filled >= WORTHWHILE * budget
            )
            if batch and (full or ends_even or lengths[i] < SHORTEST * longest):
                batches.append(batch)
                batch = []
            if not batch:
                longest = lengths[i]
                limit = _equal_share(alike[longest], longest, budget) if even else budget
            alike[lengths[i]] -= 1
            batch.append(i)
        batches.append(batch)
    return batches


def _equal_share(rows: int, length: int, budget: int) -> int:
    """Tokens in a batch of rows of one length: equally many in all batches, since a small rest would be slow."""
    most = max(1, budget // length)
    return budget if rows <= most else ceil(rows / ceil(rows / most)) * length


def answer_all(
    passes: Sequence[Pass],
    compute: Callable[[list[Any]], Sequence[Any]],
    size: BatchSize,
    on_batch: Callable[[list[Pass]], None],
    *,
    even: bool = True,
) -> None:
    """Compute all passes in batches and settle each with its own answer.

    A batch that runs out of memory is halved, and so is the size from then on; finished batches stay finished. A
    batch that fails in any other way is halved too, until the failing pass is alone: only that one has no answer.

    Args:
        compute: answers the requests of one batch, in its order.
        size: of batches; it learns from the time and memory that they take.
        on_batch: called with each finished batch.
        even: as for `cut_batches`.
    """
    cut_for, todo = size.tokens, _batches(passes, size.tokens, even=even)
    while todo:
        if size.tokens != cut_for:
            rest = [needed for whole in reversed(todo) for needed in whole]
            cut_for, todo = size.tokens, _batches(rest, size.tokens, even=even)
        batch = todo.pop()
        start = time.perf_counter()
        try:
            answers: Sequence[Any] = compute([needed.request for needed in batch])
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - the failing pass is searched for, and the error kept as its answer
            if len(batch) > 1:
                half = len(batch) // 2
                todo += [batch[half:], batch[:half]]
                if is_out_of_memory(error):
                    size.shrink(half * batch[0].length)
                continue
            out_of_memory = Undefined("out_of_memory", f"one input of {batch[0].length} tokens does not fit")
            answers = [out_of_memory if is_out_of_memory(error) else error]
        seconds = time.perf_counter() - start
        size.record(passes[0].question.group(), len(batch), batch[0].length, seconds)
        share = seconds / len(batch)
        for needed, answer in zip(batch, answers, strict=True):
            needed.settle(answer)
            needed.payer.seconds += share
        on_batch(batch)


def is_out_of_memory(error: Exception) -> bool:
    """Whether an error means that memory ran out; torch words it differently for each device."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or "out of memory" in text or "can't allocate memory" in text


def _batches(passes: Sequence[Pass], tokens: int, *, even: bool) -> list[list[Pass]]:
    """Passes cut into batches of a size, the longest rows last."""
    lengths = [needed.length for needed in passes]
    buckets = [needed.question.bucket(needed.request, needed.length) for needed in passes]
    return [[passes[i] for i in batch] for batch in cut_batches(lengths, buckets, tokens, even=even)][::-1]
