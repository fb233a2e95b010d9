"""A target with its class resolved: the number that is read from the model's logits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import log_softmax, softmax

from verax.types import FloatArray


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
