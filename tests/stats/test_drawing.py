"""Random numbers that belong to a text."""

from __future__ import annotations

import hashlib
from itertools import pairwise

import numpy as np
import pytest

from verax.stats.drawing import evenly_spaced, rng_of


def first(seed: int, *texts: str, who: bytes = b"") -> int:
    return int(rng_of(seed, texts, who).integers(2**62))


def test_the_same_always() -> None:
    assert first(3, "a", "b", who=b"me") == first(3, "a", "b", who=b"me")


def test_every_argument_counts_and_so_does_where_a_text_ends() -> None:
    drawn = [
        first(0, "ab", "c"),
        first(1, "ab", "c"),
        first(0, "a", "bc"),
        first(0, "c", "ab"),
        first(0, "abc"),
        first(0, "ab", "c", who=b"me"),
        first(0, "ab", "c", ""),
    ]
    assert len(set(drawn)) == len(drawn)


def test_numbers_stay_what_stored_results_were_drawn_with() -> None:
    content = hashlib.sha256(b"me" + (3).to_bytes(8, "big") + "né".encode())
    expected = np.random.default_rng([7, int.from_bytes(content.digest(), "big")]).random(4)
    assert np.array_equal(rng_of(7, ["né"], b"me").random(4), expected)


def test_half_of_a_character_is_no_trouble() -> None:
    assert first(0, "\ud800") != first(0, "\ud801")


@pytest.mark.parametrize(("size", "count"), [(0, 3), (2, 3), (3, 3), (5, 3), (20, 12), (7, 0), (100, 1)])
def test_some_of_several_are_spread_evenly(size: int, count: int) -> None:
    chosen = evenly_spaced(tuple(range(size)), count)
    assert len(set(chosen)) == len(chosen) == min(size, count)
    assert list(chosen) == sorted(chosen)
    if chosen:
        gaps = [later - one for one, later in pairwise((*chosen, size))]
        assert chosen[0] == 0
        assert max(gaps) - min(gaps) <= 1
