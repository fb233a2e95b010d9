"""Targets of an explanation: the class that a label names, and the number that is read from the model's logits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import log_softmax, softmax

from verax.registry import unknown
from verax.types import FloatArray, Target, UserError

GENERIC = "label_"
"""Checkpoints without class names call their classes LABEL_0, LABEL_1, ..."""


@dataclass(frozen=True, slots=True)
class Readout:
    """Reads `logit`, `probability` or `loss` (minus the cross-entropy) of one class."""

    of: Literal["logit", "probability", "loss"]
    label: int

    def __call__(self, logits: FloatArray) -> FloatArray:
        """Shape [rows, classes] -> [rows]."""
        if self.of == "logit":
            return np.asarray(logits[:, self.label])
        transform = softmax if self.of == "probability" else log_softmax
        return np.asarray(transform(logits, axis=1)[:, self.label])


def class_of(label: str | None, labels: Sequence[str]) -> int | None:
    """Number of the class that a label names (ignoring case; `1` names LABEL_1), None if it names none."""
    if label is None:
        return None
    names = [name.casefold() for name in labels]
    wanted = label.casefold()
    return next((names.index(name) for name in (wanted, GENERIC + wanted) if name in names), None)


def check_target(target: Target, labels: Sequence[str]) -> None:
    """Reject a target that is neither a keyword nor a class of the model."""
    keywords = ("prediction", "gold", "loss")
    if target.of not in keywords and class_of(target.of, labels) is None:
        raise UserError(unknown("target", target.of, [*keywords, *labels]))
