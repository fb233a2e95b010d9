"""Token sequences: an encoding without the units that are removed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from verax.models.classifier import Row
from verax.models.removal import CODES, KEPT, States, token_states
from verax.types import BoolArray, IntArray


@dataclass(frozen=True, eq=False, slots=True)
class TokenSequence:
    """One row as token ids; every array has shape [tokens left].

    Args:
        ids: token ids, the mask token where a word is masked.
        types: segment of each token.
        unit: unit of each token, -1 for special tokens.
        fixed: tokens that a path of gradients does not move: special tokens, and words that are already removed.
        state: how each token is removed in place (`pad`, `zero`, `attention`), 0 where it is not.
    """

    ids: IntArray
    types: IntArray
    unit: IntArray
    fixed: BoolArray
    state: States

    @classmethod
    def of(cls, row: Row, mask_id: int | None) -> TokenSequence:
        """Masks and deletions are applied to the ids; the other rules act on embeddings."""
        encoding = row.encoding
        state = token_states(row.state, encoding.token_unit)
        ids, fixed = encoding.token_ids, (encoding.token_unit < 0) | (state != KEPT)
        masked = state == CODES["mask"]
        if masked.any():
            assert mask_id is not None  # noqa: S101 - check_removal has rejected models without a mask token
            ids = np.where(masked, mask_id, ids)
            state = np.where(masked, np.int8(0), state)
        left = state != CODES["delete"]
        if left.all():
            return cls(ids, encoding.type_ids, encoding.token_unit, fixed, state)
        return cls(ids[left], encoding.type_ids[left], encoding.token_unit[left], fixed[left], state[left])


@dataclass(frozen=True, eq=False, slots=True)
class PaddedBatch:
    """Sequences of one batch, padded on the right; every array has shape [rows, longest]."""

    ids: IntArray
    types: IntArray
    state: States
    fixed: BoolArray
    present: BoolArray

    @classmethod
    def of(cls, sequences: list[TokenSequence], pad_id: int) -> PaddedBatch:
        """Padding is marked as not present; its ids are the model's padding token."""
        shape = (len(sequences), max(len(sequence.ids) for sequence in sequences))
        ids, types = np.full(shape, pad_id, np.int64), np.zeros(shape, np.int64)
        state, fixed, present = np.zeros(shape, np.int8), np.zeros(shape, bool), np.zeros(shape, bool)
        for i, sequence in enumerate(sequences):
            n = len(sequence.ids)
            ids[i, :n], types[i, :n], state[i, :n] = sequence.ids, sequence.types, sequence.state
            fixed[i, :n], present[i, :n] = sequence.fixed, True
        return cls(ids, types, state, fixed, present)

    @property
    def attended(self) -> BoolArray:
        """Which tokens may be attended to."""
        return np.asarray(self.present & (self.state != CODES["attention"]))
