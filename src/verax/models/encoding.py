"""An instance as a model sees it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from verax.types import Instance, IntArray, Note, Unit


@dataclass(frozen=True, eq=False)
class Encoding:
    """One instance in a model's own terms.

    Args:
        instance: what was encoded; its words are the units.
        token_ids, type_ids: shape [tokens]; empty for a model that takes only text.
        token_unit: the unit each token belongs to, -1 for tokens that the encoding adds; shape [tokens].
        labels: names of the model's classes.
        gold: number of the gold class among them; None if there is no label or the model does not know it.
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
    units: tuple[Unit, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "units", self.instance.units)
