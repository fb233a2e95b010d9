"""A callable from texts to probabilities as a model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np

from verax.models.classifier import Capability, Row
from verax.models.encoding import Encoding
from verax.models.labels import class_of
from verax.models.removal import CODES, KEPT, States, is_deleted
from verax.types import FloatArray, Instance, IntArray, Undefined, UserError

Answers = Callable[[list[tuple[str, ...]]], "np.typing.ArrayLike"]
"""From texts (each the tuple of its parts) to probabilities, shape [texts, classes]."""

TINY = float(np.finfo(np.float64).tiny)


class BlackBox:
    """A callable as a classifier: its "logits" are log-probabilities, so that softmax gives back what it answered.

    Words are removed from the text itself: `delete` takes them out, `mask` writes `mask_text` in their place.

    Args:
        answer: takes a list of texts, each a tuple of its parts; returns probabilities, shape [texts, classes].
        labels: names of its classes.
        name: for tables and the run card.
        version: identifies this version of the model; part of every key in the store.
        mask_text: what `mask` writes; without it the model cannot mask.
    """

    def __init__(
        self, answer: Answers, *, labels: Sequence[str], name: str, version: str, mask_text: str | None = None
    ) -> None:
        if len(set(labels)) < 2 or len(set(labels)) != len(labels):
            raise UserError(f"labels: a callable model needs at least two different class names, got {list(labels)}")
        self._answer, self._mask_text = answer, mask_text
        self.name = name
        self.labels = tuple(labels)
        self.capabilities: frozenset[Capability] = frozenset({"outputs"})
        self.removals = frozenset({"delete"} if mask_text is None else {"delete", "mask"})
        self.fingerprint = {
            "weights": version,
            "tokenizer": "none",
            "dtype": "float64",
            "classes": "/".join(self.labels),
            "mask_text": str(mask_text),
        }
        self.about = {"architecture": "callable", "device": "unknown"}

    def encode(self, instance: Instance) -> Encoding:
        """The instance itself, without tokens."""
        for number, part in enumerate(instance.parts, 1):
            if not part.words:
                raise Undefined("empty", f"part {number} has no words")
        none = np.empty(0, np.int64)
        return Encoding(instance, none, none, none, self.labels, class_of(instance.label, self.labels))

    def by_token(self, instance: Instance) -> Instance:
        """Rejected: a callable has no sub-words."""
        raise UserError(f"granularity: the model {self.name!r} is a callable and has no sub-words; use 'word'")

    def unknown(self, encoding: Encoding) -> float:
        """0: it is not known which words a callable can read."""
        return 0.0

    def lengths(self, encoding: Encoding, states: States) -> IntArray:
        """Words left in each row, plus one, since the text may be empty: [rows, units] -> [rows]."""
        return np.asarray((~is_deleted(states)).sum(1) + 1)

    def bucket(self, row: Row, length: int) -> Hashable:
        """Texts of any length may share a batch."""
        return 0

    def logits(self, rows: Sequence[Row]) -> FloatArray:
        """Log-probabilities of the answers: shape [rows, classes]."""
        answers = np.asarray(self._answer([self._text(row) for row in rows]), np.float64)
        expected = (len(rows), len(self.labels))
        if answers.shape != expected:
            raise UserError(f"the model {self.name!r} answered with shape {answers.shape}, expected {expected}")
        # NaN passes through and is recorded as such; a probability of 0 stays far below every other
        return np.asarray(np.log(np.maximum(answers, TINY)))

    def _text(self, row: Row) -> tuple[str, ...]:
        texts, unit = [], 0
        for part in row.encoding.instance.parts:
            pieces, last = [], 0
            for start, end in part.offsets:
                code, unit = row.state[unit], unit + 1
                if code != CODES["delete"]:  # the white space in front of a deleted word goes with it
                    pieces.append(part.raw[last:start])
                    pieces.append(part.raw[start:end] if code == KEPT else str(self._mask_text))
                last = end
            pieces.append(part.raw[last:])
            texts.append("".join(pieces).strip())
        return tuple(texts)
