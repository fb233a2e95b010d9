"""Subjects: one input posed to one model, as methods and metrics receive it."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from verax.models.encoding import Encoding
from verax.models.removal import CODES, KEPT, States
from verax.stats.drawing import rng_of
from verax.types import (
    Attribution,
    BoolArray,
    FloatArray,
    Instance,
    IntArray,
    Note,
    Removal,
    Undefined,
    Unit,
    UserError,
)

Memo = dict[Hashable, dict[Hashable, Any]]
"""Answers by kind of question and encoding, then by whatever else determines them."""


@dataclass(frozen=True, eq=False)
class Subject:
    """One input posed to one model, with the answers given so far.

    Methods see the units that are left, numbered 0 to n_units - 1 in reading order: all of them, or fewer in a view
    from which some were removed (`without`). The input is encoded at first use, so a model that only reads text is
    never asked to encode; an input that cannot be encoded raises Undefined then.

    Args:
        parts: parts of the input whose words are units; words of other parts always stay. None: all parts.
        memo: answers so far; shared by all views and edits of a subject.
        repeat: number of the repetition; an answer to another repetition is never used for this one.
    """

    instance: Instance
    model: Any
    parts: Collection[int] | None = None
    memo: Memo = field(default_factory=dict, repr=False)
    repeat: int = 0

    @cached_property
    def encoding(self) -> Encoding:
        """The input in the model's own terms."""
        if not hasattr(self.model, "encode"):
            raise UserError(f"the model {self.model.name!r} answers questions about text only: it encodes no input")
        encoding: Encoding = self.model.encode(self.instance)
        return encoding

    @cached_property
    def state(self) -> States:
        """How each unit of the encoding is removed, if it is; shape [all units]."""
        return np.zeros(self.encoding.n_units, np.int8)

    @cached_property
    def alive(self) -> IntArray:
        """Units of the encoding that are left; shape [n_units]."""
        encoding = self.encoding
        alive = np.arange(encoding.n_units) if encoding.seen is None else encoding.seen
        if self.parts is not None:
            alive = np.array([i for i in alive if encoding.units[i][0].part in self.parts], np.int64)
            if not len(alive):
                raise Undefined("nothing_maskable", "the part that may be masked has no word that the model sees")
        return alive

    def encoded(self) -> Subject:
        """This subject, encoded now rather than at first use; raises Undefined if the model cannot read it."""
        _ = self.alive
        return self

    @property
    def n_units(self) -> int:
        """Number of units that are left."""
        return len(self.alive)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The units that are left, in reading order."""
        units = self.encoding.units
        return units if self.n_units == len(units) else tuple(units[i] for i in self.alive)

    @cached_property
    def words(self) -> tuple[tuple[int, int], ...]:
        """Part and position within the part of each unit that is left."""
        return tuple((unit[0].part, unit[0].start) for unit in self.units)

    @property
    def original(self) -> Subject:
        """The unperturbed input, with the words of all parts as units."""
        whole = Subject(self.instance, self.model, memo=self.memo)
        vars(whole)["encoding"] = self.encoding
        return whole

    def without(self, dropped: BoolArray, removal: Removal) -> Subject:
        """View of the input with more units removed; `dropped` has shape [n_units]."""
        state = self.state.copy()
        state[self.alive[dropped]] = CODES[removal]
        return self._view(state, self.alive[~dropped], self.memo)

    def edited(self, instance: Instance) -> Subject:
        """Another input posed to the same model, sharing answers to questions about text."""
        return Subject(instance, self.model, self.parts, self.memo)

    def repeated(self, repeat: int) -> Subject:
        """The same input asked once more: questions about text get an answer of their own."""
        return Subject(self.instance, self.model, self.parts, self.memo, repeat)

    def posed_to(self, model: Any) -> Subject:
        """The same view posed to another model with the same tokenizer and classes, with a memo of its own in this."""
        view = Subject(self.instance, model, self.parts, self.memo.setdefault(model, {}))
        vars(view).update(encoding=self.encoding, state=self.state, alive=self.alive)
        return view

    def copy(self, memo: Memo) -> Subject:
        """The same view in arrays of its own, with another memo."""
        return self._view(self.state.copy(), self.alive.copy(), memo)

    def _view(self, state: States, alive: IntArray, memo: Memo) -> Subject:
        view = Subject(self.instance, self.model, self.parts, memo)
        vars(view).update(encoding=self.encoding, state=state, alive=alive)
        return view

    def states(self, keep: BoolArray, removal: Removal) -> States:
        """States over all units of the encoding for coalitions of those left: [rows, n_units] -> [rows, all units]."""
        of_alive = np.where(keep, np.int8(KEPT), np.int8(CODES[removal]))
        if self.n_units == len(self.state):
            return of_alive
        states = np.repeat(self.state[None, :], len(keep), axis=0)
        states[:, self.alive] = of_alive
        return states

    def answers(self, question: Hashable) -> dict[Hashable, Any]:
        """Answers to one type of question about the encoded input, by whatever else determines them."""
        return self.memo.setdefault((question, self.encoding), {})

    def rng(self, seed: int, name: str = "") -> np.random.Generator:
        """Random numbers that depend on the seed, on this view of the input and on `name` only.

        A method passes its own name, so that no two methods draw the same numbers.
        """
        state = self.state.tobytes()
        texts = (part.raw for part in self.instance.parts)
        return rng_of(seed, texts, name.encode() + b"\0" + state if name else state)

    def attribution(self, scores: FloatArray, **notes: Note) -> Attribution:
        """A method's result: one score for each unit that is left, with the notes of the encoding."""
        return Attribution(self.units, np.asarray(scores, np.float64), {**self.encoding.notes, **notes})
