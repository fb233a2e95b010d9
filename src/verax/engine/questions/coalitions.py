"""Questions about coalitions of kept units: class logits, and the maxima of hidden states."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from verax.engine.questions.base import PENDING, Needed, Pass, Question, QuestionGenerator
from verax.models.classifier import Row
from verax.models.labels import class_of
from verax.models.readout import Readout
from verax.models.removal import States
from verax.models.subject import Subject
from verax.types import BoolArray, FloatArray, Removal, Target, Undefined


class CoalitionQuestion(Question):
    """A question with one answer for each coalition, kept by the state of all units."""

    __slots__ = ()
    keep: BoolArray
    removal: Removal

    def states(self) -> States:
        """State of all units in each row: shape [rows, all units]."""
        return self.x.states(self.keep, self.removal)

    def needed(self) -> Needed:
        """One pass for each state that is new."""
        encoding, answers, states = self.x.encoding, self.x.answers(type(self)), self.states()
        passes = []
        for state, length in zip(states, self.model.lengths(encoding, states).tolist(), strict=True):
            key = state.tobytes()
            if key in answers:
                continue
            if length == 0:
                answers[key] = Undefined("empty", "nothing is left of the input when these words are removed")
                continue
            answers[key] = PENDING
            passes.append(Pass(self, Row(encoding, state), length, partial(_keep, answers, key)))
        return Needed(passes, len(states))

    def answer(self) -> Any:
        """The rows in their order, or the first exception among them."""
        answers, rows = self.x.answers(type(self)), []
        for state in self.states():
            row = answers[state.tobytes()]
            if isinstance(row, Exception):
                return row
            rows.append(row)
        return np.stack(rows) if rows else np.empty((0, len(self.model.labels)))


def _keep(answers: dict[Hashable, Any], key: bytes, answer: FloatArray | Exception) -> None:
    if isinstance(answer, np.ndarray) and not np.isfinite(answer).all():
        answer = Undefined("nonfinite", "the model's outputs are not finite numbers")
    answers[key] = answer


@dataclass(frozen=True, eq=False, slots=True)
class Outputs(CoalitionQuestion):
    """Class logits for coalitions of kept units, under a removal rule.

    Args:
        x: the input.
        keep: which units of x are kept in each coalition; shape [rows, n_units].
        removal: how the others are removed.
        and_full: also ask for the full input; it is the last row of the answer.

    The answer is an array of logits, shape [rows (+ 1), classes].
    """

    x: Subject
    keep: BoolArray
    removal: Removal = "mask"
    and_full: bool = False

    answered_by: ClassVar[str] = "logits"

    def states(self) -> States:
        """State of all units in each row, those of x last if they are asked for: shape [rows (+ 1), all units]."""
        states = self.x.states(self.keep, self.removal)
        return np.vstack([states, self.x.state[None]]) if self.and_full else states


@dataclass(frozen=True, eq=False, slots=True)
class Hidden(CoalitionQuestion):
    """Maximum of each neuron of each layer over the positions, for coalitions of kept units.

    Args:
        x, keep, removal: as for `Outputs`.

    Positions are those of all tokens, special ones included, without padding. The answer is an array of shape
    [rows, layers + 1, neurons]; the embeddings, after their norm, come first.
    """

    x: Subject
    keep: BoolArray
    removal: Removal = "mask"

    answered_by: ClassVar[str] = "hidden"


def resolve(target: Target, x: Subject) -> QuestionGenerator[Readout]:
    """The readout that a target means; the prediction is that of the unperturbed input."""
    of = "loss" if target.of == "loss" else target.space
    if target.of == "prediction":
        full = x.original
        logits: FloatArray = yield Outputs(full, np.empty((0, full.n_units), bool), and_full=True)
        return Readout(of, int(np.argmax(logits[-1])))
    if target.of in {"gold", "loss"}:
        return Readout(of, gold_class(x))
    label = class_of(target.of, x.encoding.labels)
    if label is None:
        raise Undefined("unknown_label", f"{target.of!r} is none of {', '.join(x.encoding.labels)}")
    return Readout(of, label)


def gold_class(x: Subject) -> int:
    """Number of the input's gold class among those of the model."""
    label, gold = x.instance.label, x.encoding.gold
    if gold is not None:
        return gold
    if label is None:
        raise Undefined("no_label", "the gold class of the input is needed (label, --label)")
    raise Undefined("unknown_label", f"{label!r} is none of {', '.join(x.encoding.labels)}")
