"""Batches of perturbed inputs, token by token."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from verax.data.text import from_words
from verax.models.encoding import Encoding, PaddedBatch, PerturbedInput, TokenSequence
from verax.models.removal import CODES
from verax.types import Instance

MASK, PAD = 99, 98


def encoding(pieces: list[int]) -> Encoding:
    """Words of so many pieces each between two special tokens."""
    unit = np.array([-1, *(number for number, n in enumerate(pieces) for _ in range(n)), -1])
    instance = Instance("", (from_words([f"w{number}" for number in range(len(pieces))]),))
    return Encoding(instance, np.arange(len(unit)), np.arange(len(unit)) % 2, unit, ("a", "b"), None)


ENCODINGS = (encoding([1, 2, 1]), encoding([3, 1]))


@given(st.lists(st.tuples(st.integers(0, 1), st.lists(st.integers(0, 5), min_size=3, max_size=3)), min_size=1))
def test_a_batch_is_its_rows_padded(drawn: list[tuple[int, list[int]]]) -> None:
    rows = []
    for number, codes in drawn:
        encoded = ENCODINGS[number]
        rows.append(PerturbedInput(encoded, np.array(codes[: len(encoded.units)], np.int8)))
    batch = PaddedBatch.of(rows, MASK, PAD)
    for i, (encoded, state) in enumerate(rows):
        expected = []
        for token, unit in enumerate(encoded.token_unit.tolist()):
            code = 0 if unit < 0 else int(state[unit])
            if code != CODES["delete"]:
                masked = code == CODES["mask"]
                token_id = MASK if masked else int(encoded.token_ids[token])
                fixed = unit < 0 or code != 0
                expected.append((token_id, token % 2, 0 if masked else code, fixed, True))
        padding = [(PAD, 0, 0, False, False)] * (batch.ids.shape[1] - len(expected))
        columns = (batch.ids, batch.types, batch.state, batch.fixed, batch.present)
        assert list(zip(*(column[i].tolist() for column in columns), strict=True)) == expected + padding
        sequence = TokenSequence.of([rows[i]], MASK)
        assert sequence.ids.tolist() == [token[0] for token in expected]
        assert sequence.fixed.tolist() == [token[3] for token in expected]
