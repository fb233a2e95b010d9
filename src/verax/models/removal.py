"""Rules for removing words from an input; the only place that defines them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import numpy as np
from numpy.typing import NDArray

from verax.types import BoolArray, IntArray, Removal, UserError

States = NDArray[np.int8]
"""For each row and unit: 0 where the unit is kept, else the code of the rule that removes it. Shape [rows, units]."""

KEPT: Final = 0
CODES: Final[dict[Removal, int]] = {"mask": 1, "delete": 2, "pad": 3, "zero": 4, "attention": 5}
"""Codes of the rules.

`mask`: each sub-word becomes the mask token. `delete`: the sub-words are taken out and positions are renumbered. `pad`:
the word embedding becomes that of the padding token, in place. `zero`: the word embedding becomes zero, in place.
`attention`: kept in place but not attended to.
"""


def is_deleted(state: States) -> BoolArray:
    """Which units are taken out of the sequence; same shape as `state`."""
    return np.asarray(state == CODES["delete"])


def check_removal(removal: str, possible: Collection[str], model: str) -> None:
    """Reject a rule that the model does not support, naming those it does."""
    if removal not in possible:
        hint = " (only a masked language model has a mask token)" if removal == "mask" else ""
        can = ", ".join(sorted(possible))
        raise UserError(f"the model {model!r} can't remove words by {removal!r}{hint}; rules it can do: {can}")


def token_states(state: States, token_unit: IntArray) -> States:
    """The state of each token: that of its unit; special tokens (unit -1) are always kept. [..., units] -> tokens."""
    return np.where(token_unit >= 0, state[..., token_unit], np.int8(KEPT))
