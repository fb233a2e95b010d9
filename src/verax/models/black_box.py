"""A callable from texts to probabilities as a model."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Literal

import numpy as np

from verax.models.classifier import Capability
from verax.models.encoding import Encoding, PerturbedInput
from verax.models.removal import CODES, KEPT, States, is_deleted
from verax.models.targets import class_of
from verax.models.words import check_words
from verax.types import FloatArray, Instance, IntArray, Undefined, UserError

Predict = Callable[[list[tuple[str, ...]]], "np.typing.ArrayLike"]
"""From texts (each the tuple of its parts) to probabilities, shape [texts, classes]."""

OutputKind = Literal["probabilities", "logits"]
SUM_TOLERANCE = 1e-3
"""Difference from 1 that the sum of probabilities may have: those of float16 models are rounded."""
TINY = float(np.finfo(np.float64).tiny)


class CallableError(Exception):
    """The callable raised an exception, which is the `cause`: a server behind it may be down for a while."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.cause = cause


class BlackBox:
    """A callable as a classifier; its "logits" are log-probabilities, so that softmax returns its answers.

    Words are removed from the text itself: `delete` takes them out, `mask` writes `mask_text` in their place.

    Args:
        answer: takes a list of texts, each a tuple of its parts; returns probabilities, shape [texts, classes].
        version: identifies this version of the model; part of every key in the store.
        mask_text: what `mask` writes; without it the model cannot mask.
        outputs: what the callable returns; logits are any numbers whose softmax is the probabilities.
    """

    def __init__(
        self,
        answer: Predict,
        *,
        labels: Sequence[str],
        name: str,
        version: str,
        mask_text: str | None = None,
        outputs: OutputKind = "probabilities",
    ) -> None:
        if len(set(labels)) < 2 or len(set(labels)) != len(labels):
            raise UserError(f"labels: a callable model needs at least two different class names, got {list(labels)}")
        self._answer, self._mask_text, self._outputs = answer, mask_text, outputs
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
            **({} if outputs == "probabilities" else {"outputs": outputs}),
        }
        self.about = {"architecture": "callable", "device": "unknown"}

    def encode(self, instance: Instance) -> Encoding:
        """The instance itself, without tokens."""
        check_words(instance)
        none = np.empty(0, np.int64)
        return Encoding(instance, none, none, none, self.labels, class_of(instance.label, self.labels))

    def by_token(self, instance: Instance) -> Instance:
        """Rejected: a callable has no sub-words."""
        raise UserError(f"granularity: the model {self.name!r} is a callable and has no sub-words; use 'word'")

    def unknown(self, encoding: Encoding) -> float:
        """0, since the vocabulary of a callable is unknown."""
        return 0.0

    def lengths(self, encoding: Encoding, states: States) -> IntArray:
        """Words left in each row, plus one, since the text may be empty: [rows, units] -> [rows]."""
        return np.asarray((~is_deleted(states)).sum(1) + 1)

    def bucket(self, row: PerturbedInput, length: int) -> Hashable:
        """Texts of any length may share a batch."""
        return 0

    def logits(self, rows: Sequence[PerturbedInput]) -> FloatArray:
        """Log-probabilities of the answers: shape [rows, classes]."""
        texts = [self._text(row) for row in rows]
        try:
            given = self._answer(texts)
        except (UserError, Undefined):
            raise
        except Exception as error:
            raise CallableError(error) from error
        answers = np.asarray(given, np.float64)
        expected = (len(rows), len(self.labels))
        if answers.shape != expected:
            raise UserError(f"the model {self.name!r} answered with shape {answers.shape}, expected {expected}")
        if self._outputs == "logits":
            return answers
        self._check_probabilities(answers)
        # NaN passes through and is recorded as such; a probability of 0 stays far below every other
        return np.asarray(np.log(np.maximum(answers, TINY)))

    def check(self, instance: Instance) -> None:
        """Ask about one input, so that answers of another shape or sum are rejected before a run begins."""
        encoding = self.encode(instance)
        self.logits([PerturbedInput(encoding, np.full(encoding.n_units, KEPT, np.int8))])

    def _check_probabilities(self, answers: FloatArray) -> None:
        """Reject rows that are not probabilities; those with NaN are recorded as such later."""
        known = answers[~np.isnan(answers).any(axis=1)]
        wrong = known[(known < 0).any(axis=1) | (np.abs(known.sum(axis=1) - 1) > SUM_TOLERANCE)]
        if len(wrong):
            row = ", ".join(f"{value:.4g}" for value in wrong[0])
            raise UserError(
                f"the model {self.name!r} must return probabilities, rows of numbers from 0 to 1 that sum to 1, and "
                f'returned [{row}]; if these are logits, load it with outputs="logits" (of a spec: model.outputs)'
            )

    def _text(self, row: PerturbedInput) -> tuple[str, ...]:
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
