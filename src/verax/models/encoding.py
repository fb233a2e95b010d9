"""An instance as a model sees it, and the view of it that methods and metrics work on."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import numpy as np

from verax.models.removal import CODES, KEPT, States
from verax.stats.drawing import rng_of
from verax.types import Attribution, BoolArray, FloatArray, Instance, IntArray, Note, Removal, Undefined, Unit


@dataclass(frozen=True, eq=False)
class Encoding:
    """One instance in a model's own terms.

    Args:
        instance: what was encoded; its words are the units.
        token_ids, type_ids: shape [tokens]; empty for a model that is only handed text.
        token_unit: the unit each token belongs to, -1 for tokens that the encoding adds; shape [tokens].
        labels: names of the model's classes.
        gold: number of the gold class among them; None when there is no label or the model does not know it.
        notes: facts that every explanation of this input must carry (how many words were cut off).
        seen: the units that the model gets to see, in order; all of them unless the input was cut to fit.
    """

    instance: Instance
    token_ids: IntArray
    type_ids: IntArray
    token_unit: IntArray
    labels: tuple[str, ...]
    gold: int | None
    notes: Mapping[str, Note] = field(default_factory=dict)
    seen: IntArray | None = None
    units: tuple[Unit, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", self.instance.units)


@dataclass(frozen=True, eq=False)
class Encoded:
    """The input that a method explains: an encoding of which some units may already be removed.

    Methods see only the units that are left, numbered 0 to n_units - 1 in reading order.
    """

    encoding: Encoding
    state: States
    alive: IntArray

    @classmethod
    def of(cls, encoding: Encoding, parts: Collection[int] | None = None) -> Encoded:
        """The whole input, nothing removed; of some `parts` only, those words are units, and all others stay."""
        n = len(encoding.units)
        alive = np.arange(n) if encoding.seen is None else encoding.seen
        if parts is not None:
            alive = np.array([i for i in alive if encoding.units[i][0].part in parts], np.int64)
            if not len(alive):
                raise Undefined("nothing_maskable", "the part that may be masked has no word that the model sees")
        return cls(encoding, np.zeros(n, np.int8), alive)

    @property
    def n_units(self) -> int:
        """How many units are left."""
        return len(self.alive)

    @property
    def units(self) -> tuple[Unit, ...]:
        """The units that are left, in reading order."""
        return tuple(self.encoding.units[i] for i in self.alive)

    @property
    def words(self) -> tuple[tuple[int, int], ...]:
        """The same as words: their part, and their number in it."""
        return tuple((unit[0].part, unit[0].start) for unit in self.units)

    @property
    def original(self) -> Encoded:
        """The unperturbed input that this one was made from."""
        return Encoded.of(self.encoding)

    def without(self, dropped: BoolArray, removal: Removal) -> Encoded:
        """The input with more units removed; `dropped` has shape [n_units]."""
        state = self.state.copy()
        state[self.alive[dropped]] = CODES[removal]
        return Encoded(self.encoding, state, self.alive[~dropped])

    def states(self, keep: BoolArray, removal: Removal) -> States:
        """States over all units of the encoding for coalitions of those left: [rows, n_units] -> [rows, all units]."""
        states = np.repeat(self.state[None, :], len(keep), axis=0)
        states[:, self.alive] = np.where(keep, np.int8(KEPT), np.int8(CODES[removal]))
        return states

    def rng(self, seed: int, who: str = "") -> np.random.Generator:
        """Random numbers that depend on the seed, on this input and on who asks, not on when or beside what it is run.

        A method names itself, so that no two methods draw the same numbers: least of all those of the random baseline.
        """
        state = self.state.tobytes()
        texts = (part.raw for part in self.encoding.instance.parts)
        return rng_of(seed, texts, who.encode() + b"\0" + state if who else state)

    def attribution(self, scores: FloatArray, **notes: Note) -> Attribution:
        """A method's result: one score for each unit that is left, with the input's own notes."""
        return Attribution(self.units, np.asarray(scores, np.float64), {**self.encoding.notes, **notes})
