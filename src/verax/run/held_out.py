"""Who teaches the agents of simulatability, and who is held out to measure them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import NamedTuple

from verax.store.keys import key_of

TAUGHT, CHOSEN_ON = 0.6, 0.8
"""Where the instances are cut: up to here agents learn, up to there the best epoch is chosen, the rest is held out."""
FEWEST_HELD_OUT = 5
"""Fewer tell nothing."""
FEWEST = 25
"""So many instances have that many held out."""


class Parts(NamedTuple):
    """Ids of instances: those that agents learn from, that choose their best epoch, and that are held out."""

    taught: tuple[str, ...]
    chosen_on: tuple[str, ...]
    held_out: tuple[str, ...]

    @classmethod
    def of(cls, everybody: Collection[str], present: Collection[str], seed: int) -> Parts:
        """Deal everybody by the seed, and take those that are present.

        So an instance is in the same part for every method, whatever else the method has an explanation of.
        """
        shuffled = sorted(everybody, key=lambda one: key_of(seed=seed, id=one))
        cuts = [round(share * len(shuffled)) for share in (TAUGHT, CHOSEN_ON)]
        dealt = (shuffled[: cuts[0]], shuffled[cuts[0] : cuts[1]], shuffled[cuts[1] :])
        return cls(*(tuple(one for one in part if one in present) for part in dealt))

    def complaint(self, named: Mapping[str, str]) -> str | None:
        """Why no agent can be taught and measured on them, if so; `named` has the class that the model names."""
        n = sum(map(len, self))
        if min(map(len, self)) < FEWEST_HELD_OUT:
            return f"{n} are too few, {len(self.held_out)} of them held out: at least {FEWEST} are needed"
        known = {named[one] for one in self.taught}
        if len(known) < 2:
            return f"the model names {min(known)!r} for all {len(self.taught)} that agents learn from: nothing to learn"
        strange = sorted({named[one] for part in self[1:] for one in part} - known)
        if strange:
            return (
                f"the model names {strange[0]!r} for none of the {len(self.taught)} that agents learn from, of {n} in "
                f"all: give so many that it names every class at least {FEWEST_HELD_OUT} times"
            )
        return None
