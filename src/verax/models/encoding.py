"""An instance as a model reads it: its encoding, and token sequences without the units that are removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from verax.models.removal import CODES, KEPT, States, token_states
from verax.types import BoolArray, Instance, IntArray, Note, Unit


@dataclass(frozen=True, eq=False)
class Encoding:
    """One instance in a model's own terms.

    Args:
        instance: what was encoded; its words are the units.
        token_ids, type_ids: shape [tokens]; empty for a model that takes only text.
        token_unit: unit of each token, -1 for tokens that the encoding adds; shape [tokens].
        gold: number of the gold class among them; None without a label or for a label that the model does not know.
        notes: facts recorded with every explanation of this input (number of words cut off).
        seen: the units that the model reads, in order; None for all, unless the input was cut.
    """

    instance: Instance
    token_ids: IntArray
    type_ids: IntArray
    token_unit: IntArray
    labels: tuple[str, ...]
    gold: int | None
    notes: Mapping[str, Note] = field(default_factory=dict)
    seen: IntArray | None = None

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """All words of the instance, in reading order."""
        return self.instance.units

    @property
    def n_units(self) -> int:
        """Number of words."""
        return sum(len(part.words) for part in self.instance.parts)

    @cached_property
    def tokens_of_unit(self) -> IntArray:
        """Number of tokens of each unit: shape [units]."""
        return np.bincount(self.token_unit[self.token_unit >= 0], minlength=self.n_units)


class PerturbedInput(NamedTuple):
    """An encoding with some units removed: one row of a batch; `state` has shape [units]."""

    encoding: Encoding
    state: States


@dataclass(frozen=True, eq=False, slots=True)
class TokenSequence:
    """Perturbed inputs as tokens, one after another; every array has shape [tokens left].

    Args:
        ids: token ids, the mask token where a word is masked.
        unit: unit of each token, -1 for special tokens.
        fixed: tokens that a path of gradients does not move: special tokens, and words that are already removed.
        state: how each token is removed in place (`pad`, `zero`, `attention`), 0 where it is not.
        lengths: number of tokens of each input; shape [inputs].
    """

    ids: IntArray
    types: IntArray
    unit: IntArray
    fixed: BoolArray
    state: States
    lengths: IntArray

    @classmethod
    def of(cls, rows: Sequence[PerturbedInput], mask_id: int | None) -> TokenSequence:
        """Masks and deletions are applied to the ids; the other rules act on embeddings.

        All rows are handled at once: a call of numpy for each would cost more than a small model.
        """
        encodings = [row.encoding for row in rows]
        ids = np.concatenate([encoding.token_ids for encoding in encodings])
        types = np.concatenate([encoding.type_ids for encoding in encodings])
        unit = np.concatenate([encoding.token_unit for encoding in encodings])
        lengths = np.array([len(encoding.token_ids) for encoding in encodings])
        end_unit = np.cumsum([len(row.state) for row in rows])
        first_unit = np.repeat(end_unit - [len(row.state) for row in rows], lengths)
        state = token_states(np.concatenate([row.state for row in rows]), np.where(unit < 0, -1, first_unit + unit))
        left = state != CODES["delete"]
        if not left.all():
            lengths = np.add.reduceat(left, np.cumsum(lengths) - lengths, dtype=np.int64)
            kept = np.flatnonzero(left)  # numpy selects by numbers several times faster than by a mask
            ids, types, unit, state = (array.take(kept) for array in (ids, types, unit, state))
        fixed = (unit < 0) | (state != KEPT)
        masked = state == CODES["mask"]
        if masked.any():
            assert mask_id is not None  # noqa: S101 - check_removal has rejected models without a mask token
            ids[masked], state[masked] = mask_id, KEPT
        return cls(ids, types, unit, fixed, state, lengths)


@dataclass(frozen=True, eq=False, slots=True)
class PaddedBatch:
    """Sequences of one batch, padded on the right; every array has shape [rows, longest]."""

    ids: IntArray
    types: IntArray
    state: States
    fixed: BoolArray
    present: BoolArray

    @classmethod
    def of(cls, rows: Sequence[PerturbedInput], mask_id: int | None, pad_id: int) -> PaddedBatch:
        """The sequences of all rows. Padding is not present; its ids are the model's padding token."""
        tokens = TokenSequence.of(rows, mask_id)
        present = np.arange(tokens.lengths.max()) < tokens.lengths[:, None]

        def padded(values: Any, padding: int) -> Any:
            if len(values) == present.size:
                return values.reshape(present.shape)
            whole = np.full(present.shape, padding, values.dtype)
            whole[present] = values
            return whole

        ids, types = padded(tokens.ids, pad_id), padded(tokens.types, 0)
        return cls(ids, types, padded(tokens.state, KEPT), padded(tokens.fixed, False), present)

    @property
    def lengths(self) -> list[int]:
        """Number of tokens of each row."""
        lengths: list[int] = self.present.sum(1).tolist()
        return lengths

    @property
    def attended(self) -> BoolArray:
        """Which tokens may be attended to."""
        return np.asarray(self.present & (self.state != CODES["attention"]))
