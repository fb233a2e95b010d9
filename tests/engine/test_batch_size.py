"""The size of batches is found by their times: here those of simulated devices, so that nothing depends on a clock."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from verax.engine.batch_size import MOST_DOUBLINGS, SHORT_BATCH, BatchSize

Device = Callable[[int], float]
"""Seconds for a batch of so many tokens."""


def settled(size: BatchSize, device: Device, *, length: int = 25, batches: int = 40) -> int:
    """The size after full batches of rows of one length."""
    for _ in range(batches):
        rows = max(1, size.tokens // length)
        size.record("logits", rows, length, device(rows * length))
    assert size.settled
    return size.tokens


def with_overhead(overhead: float, per_token: float) -> Device:
    return lambda tokens: overhead + per_token * tokens


@pytest.mark.parametrize(
    ("device", "tokens"),
    [
        pytest.param(with_overhead(0.0, 9e-5), 1024, id="nothing to gain"),
        pytest.param(with_overhead(2e-3, 9e-5), 1024, id="2 % to gain"),
        # 3.0, 2.0, 1.5 and 1.25 microseconds a token
        pytest.param(with_overhead(2e-3, 1e-6), 8192, id="mostly overhead"),
        # 3.5, 3.0 and then 2.8: less than a tenth
        pytest.param(with_overhead(1e-3, 2.5e-6), 2048, id="some overhead"),
        pytest.param(lambda tokens: 2e-4 * tokens * (1.3 if tokens > 600 else 1.0), 512, id="a small cache"),
    ],
)
def test_the_size_that_pays(device: Device, tokens: int) -> None:
    assert settled(BatchSize(1024), device) == tokens


def test_memory_is_bounded() -> None:
    """A device on which a batch takes no time: a few doublings, no more; and none once batches are long."""
    assert settled(BatchSize(1024), lambda _: 1e-9) == 1024 << MOST_DOUBLINGS
    assert settled(BatchSize(1024), lambda tokens: SHORT_BATCH / 2 if tokens < 1500 else SHORT_BATCH) == 1024


def test_a_given_size_stays() -> None:
    assert settled(BatchSize(100, settled=True), with_overhead(1.0, 0.0)) == 100


def test_a_batch_that_does_not_fit_ends_the_search() -> None:
    size = BatchSize(1024)
    size.shrink(300)
    assert settled(size, with_overhead(1.0, 0.0)) == 300
    size.shrink(400)
    assert size.tokens == 300


def test_only_like_is_compared_with_like() -> None:
    """Long rows take longer per token, and so do other kinds of pass: neither may look like an effect of the size."""
    size = BatchSize(1024)
    for _ in range(2):
        size.record("logits", 2, 500, 0.02)
    assert size.tokens == 2048
    for _ in range(2):
        size.record("logits", 40, 50, 0.002)  # ten times as fast, but rows of 50 tokens
    assert (size.tokens, size.settled) == (1024, False), "the size of the rows before is measured first"
    for _ in range(2):
        size.record("hidden", 20, 50, 0.09)
    assert size.tokens == 2048
    size.record("hidden", 3, 50, 0.001)
    assert size.tokens == 2048, "a small rest says nothing"
    for _ in range(2):
        size.record("hidden", 40, 50, 0.18)
    assert (size.tokens, size.settled) == (1024, True)


def test_two_batches_of_one_size_are_timed() -> None:
    """The first one may be slow for other reasons."""
    size = BatchSize(1024)
    for seconds in (1.0, 0.02):
        size.record("logits", 40, 25, seconds)
    assert size.tokens == 2048
