"""Random numbers that belong to a text."""

from __future__ import annotations

import hashlib

import numpy as np

from verax.stats.drawing import rng_of


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
