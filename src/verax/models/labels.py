"""Matching labels of the data with classes of the model."""

from __future__ import annotations

from collections.abc import Sequence

from verax.registry import unknown
from verax.types import Target, UserError

GENERIC = "label_"
"""Checkpoints without class names call their classes LABEL_0, LABEL_1, ..."""


def class_of(label: str | None, labels: Sequence[str]) -> int | None:
    """Number of the class that a label names (ignoring case; `1` names LABEL_1), None if it names none."""
    if label is None:
        return None
    wanted = label.casefold()
    names = [name.casefold() for name in labels]
    for candidate in (wanted, GENERIC + wanted):
        if candidate in names:
            return names.index(candidate)
    return None


def check_target(target: Target, labels: Sequence[str]) -> None:
    """Reject a target that is neither a keyword nor a class of the model."""
    keywords = ("prediction", "gold", "loss")
    if target.of not in keywords and class_of(target.of, labels) is None:
        raise UserError(unknown("target", target.of, [*keywords, *labels]))
