"""Questions about coalitions of kept units: class logits, and the maxima of hidden states."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar

import numpy as np

from verax.engine.questions.base import PENDING, Needed, Pass, Question, QuestionGenerator, finite_answer
from verax.models.encoding import PerturbedInput
from verax.models.removal import States
from verax.models.subject import Subject
from verax.models.targets import Readout, class_of
from verax.types import BoolArray, FloatArray, Removal, Target, Undefined

MEMO_BYTES = 24 * 2**20
"""Memory for the answers to one type of question about one input; those that were not used for longest are dropped."""
_ENTRY_BYTES = 330
"""Memory of an entry of the memo besides its state and the numbers of its answer."""


@dataclass(eq=False, slots=True)
class _Slot:
    """Place of one answer, shared by the memo and the questions that wait for it; these keep it when it is dropped."""

    answer: Any = PENDING

    def settle(self, answer: Any) -> None:
        self.answer = finite_answer("outputs", answer)


@dataclass(frozen=True, eq=False, slots=True)
class CoalitionQuestion(Question):
    """A question with one answer for each coalition of kept units, kept by the state of all units.

    Args:
        x: the input.
        keep: which units of x are kept in each coalition; shape [rows, n_units].
        removal: how the others are removed.
    """

    x: Subject
    keep: BoolArray
    removal: Removal = "mask"
    _slots: list[_Slot] = field(init=False, repr=False, default_factory=list)

    def states(self) -> States:
        """State of all units in each row: shape [rows, all units]."""
        return self.x.states(self.keep, self.removal)

    def needed(self) -> Needed:
        """One pass for each state that is new."""
        encoding, answers, states = self.x.encoding, self._answers(), self.states()
        passes = []
        self._slots.clear()
        _drop_oldest(answers, states.shape[1])
        for state, length in zip(states, self.model.lengths(encoding, states).tolist(), strict=True):
            key = state.tobytes()
            slot: _Slot | None = answers.pop(key, None)
            if slot is None:
                slot = _Slot()
                if length == 0:
                    slot.answer = Undefined("empty", "nothing is left of the input when these words are removed")
                else:
                    passes.append(Pass(self, PerturbedInput(encoding, state), length, slot.settle))
            answers[key] = slot  # last, since it was used last
            self._slots.append(slot)
        return Needed(passes, len(states))

    def answer(self) -> Any:
        """The rows in their order, or the first exception among them."""
        rows = []
        for slot in self._slots:
            if isinstance(slot.answer, Exception):
                return slot.answer
            rows.append(slot.answer)
        return np.stack(rows) if rows else np.empty((0, len(self.model.labels)))

    def _answers(self) -> dict[Hashable, Any]:
        """Known answers by state."""
        return self.x.answers(type(self))


def _drop_oldest(answers: dict[Hashable, Any], units: int) -> None:
    """Drop the half of the answers that was not used for longest if all together take up too much memory."""
    newest = next(reversed(answers.values()), None)
    size = _ENTRY_BYTES + units + getattr(getattr(newest, "answer", None), "nbytes", 0)
    if len(answers) * size > MEMO_BYTES:
        for key in list(islice(answers, len(answers) // 2)):
            del answers[key]


@dataclass(frozen=True, eq=False, slots=True)
class Outputs(CoalitionQuestion):
    """Class logits for coalitions; the answer is an array, shape [rows (+ 1), classes].

    Args:
        and_full: also ask for the full input; it is the last row of the answer.
    """

    and_full: bool = False

    answered_by: ClassVar[str] = "logits"

    def states(self) -> States:
        """State of all units in each row, those of x last if they are asked for: shape [rows (+ 1), all units]."""
        states = self.x.states(self.keep, self.removal)
        return np.vstack([states, self.x.state[None]]) if self.and_full else states


class Hidden(CoalitionQuestion):
    """Maximum of each neuron of each layer over the positions, for coalitions.

    Positions are those of all tokens, special ones included, without padding. The answer is an array of shape
    [rows, layers + 1, neurons]; the embeddings, after their norm, come first.
    """

    __slots__ = ()
    answered_by: ClassVar[str] = "hidden"


@dataclass(frozen=True, eq=False, slots=True)
class HiddenStatistic(CoalitionQuestion):
    """A statistic of the maxima that `Hidden` asks for; the answer is an array, shape [rows].

    It is computed for a whole batch of inputs at once, and only it is kept: maxima of large models fill the memory.

    Args:
        statistic: from maxima of shape [rows, layers + 1, neurons] to shape [rows]; compared by identity.
    """

    statistic: Callable[[FloatArray], FloatArray] = field(kw_only=True)

    answered_by: ClassVar[str] = "hidden"

    def group(self) -> Hashable:
        """Of one statistic too."""
        return type(self), id(self.model), self.statistic

    def compute(self, requests: list[Any]) -> Sequence[Any]:
        """The statistic of each row; Undefined for maxima that are not finite."""
        maxima: FloatArray = self.model_method(self.model)(requests)
        checked = [finite_answer("hidden states", row) for row in maxima]
        known = np.array([not isinstance(row, Undefined) for row in checked])
        values = iter(self.statistic(maxima[known]) if known.any() else ())
        return [next(values) if usable else row for usable, row in zip(known, checked, strict=True)]

    def _answers(self) -> dict[Hashable, Any]:
        return self.x.answers((type(self), self.statistic))


def resolve_target(target: Target, x: Subject) -> QuestionGenerator[Readout]:
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
        raise _unknown_label(target.of, x)
    return Readout(of, label)


def gold_class(x: Subject) -> int:
    """Number of the input's gold class among those of the model."""
    if x.encoding.gold is not None:
        return x.encoding.gold
    if x.instance.label is None:
        raise Undefined("no_label", "the gold class of the input is needed (label, --label)")
    raise _unknown_label(x.instance.label, x)


def _unknown_label(label: str, x: Subject) -> Undefined:
    return Undefined("unknown_label", f"{label!r} is none of {', '.join(x.encoding.labels)}")
