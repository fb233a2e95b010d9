"""An instance as a model reads it: its encoding, and token sequences without the units that are removed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
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
        labels: names of the model's classes.
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
    """A perturbed input as tokens; every array has shape [tokens left].

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
    def of(cls, row: PerturbedInput, mask_id: int | None) -> TokenSequence:
        """Masks and deletions are applied to the ids; the other rules act on embeddings."""
        encoding, tokens = row.encoding, _PerturbedTokens.of(row.encoding, row.state[None], mask_id)
        left = tokens.left[0]
        return cls(
            tokens.ids[0, left],
            encoding.type_ids[left],
            encoding.token_unit[left],
            tokens.fixed[0, left],
            tokens.state[0, left],
        )


class _PerturbedTokens(NamedTuple):
    """Tokens of one encoding under several states, deleted ones included; every array has shape [rows, tokens]."""

    ids: IntArray
    fixed: BoolArray
    state: States
    left: BoolArray

    @classmethod
    def of(cls, encoding: Encoding, states: States, mask_id: int | None) -> _PerturbedTokens:
        """Masks are applied to the ids; `states` has shape [rows, units]."""
        state = token_states(states, encoding.token_unit)
        ids, fixed = np.broadcast_to(encoding.token_ids, state.shape), (encoding.token_unit < 0) | (state != KEPT)
        masked = state == CODES["mask"]
        if masked.any():
            assert mask_id is not None  # noqa: S101 - check_removal has rejected models without a mask token
            ids = np.where(masked, mask_id, ids)
            state = np.where(masked, np.int8(KEPT), state)
        return cls(ids, fixed, state, state != CODES["delete"])


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
        """The sequences of all rows. Padding is not present; its ids are the model's padding token.

        Neighbours of one encoding are handled at once: a call of numpy for each row would cost more than a small model.
        """
        groups = []
        for _, neighbours in groupby(rows, key=lambda row: id(row.encoding)):
            members = list(neighbours)
            states = np.stack([row.state for row in members])
            groups.append((members[0].encoding, _PerturbedTokens.of(members[0].encoding, states, mask_id)))
        shape = (len(rows), max(int(tokens.left.sum(1).max()) for _, tokens in groups))
        ids, types = np.full(shape, pad_id, np.int64), np.zeros(shape, np.int64)
        state, fixed, present = np.zeros(shape, np.int8), np.zeros(shape, bool), np.zeros(shape, bool)
        first = 0
        for encoding, tokens in groups:
            n_rows, n_tokens = tokens.left.shape
            if tokens.left.all():
                place: Any = (slice(first, first + n_rows), slice(n_tokens))
                taken: Any = ...
                types[place] = encoding.type_ids
            else:
                taken = np.nonzero(tokens.left)
                place = first + taken[0], (np.cumsum(tokens.left, axis=1) - 1)[taken]
                types[place] = encoding.type_ids[taken[1]]
            ids[place], state[place], fixed[place] = tokens.ids[taken], tokens.state[taken], tokens.fixed[taken]
            present[place] = True
            first += n_rows
        return cls(ids, types, state, fixed, present)

    @property
    def lengths(self) -> list[int]:
        """Number of tokens of each row."""
        lengths: list[int] = self.present.sum(1).tolist()
        return lengths

    @property
    def attended(self) -> BoolArray:
        """Which tokens may be attended to."""
        return np.asarray(self.present & (self.state != CODES["attention"]))
