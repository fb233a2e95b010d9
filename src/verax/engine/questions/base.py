"""The base classes of questions: the passes of the model that they need, the memo of their answers, and reductions.

A new question is a subclass of `Question` in a file of its own, and a model method (`answered_by`) that answers a batch
of its requests. The engine uses nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Hashable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np

from verax.models.encoding import PerturbedInput
from verax.models.subject import Subject
from verax.types import Undefined, UserError

T = TypeVar("T")


@dataclass(eq=False, slots=True)
class Pending:
    """Holds the place of an answer in a memo until it arrives, so that it is asked for once."""

    is_answered: bool = False


PENDING = Pending()
"""For answers that arrive within the round in which they are asked for."""


class Payer(Protocol):
    """Task that is charged the seconds of its passes."""

    seconds: float


@dataclass(eq=False, slots=True)
class Pass:
    """One pass that a question needs.

    Args:
        question: the question.
        request: argument of the model method that answers it, in a list with others.
        length: tokens that it takes up in a batch.
        settle: receives the answer, or the exception in its place.
        count: number of passes that it is charged as.
    """

    question: Question
    request: Any
    length: int
    settle: Callable[[Any], None]
    count: int = 1
    payer: Payer = field(init=False)


class Needed(NamedTuple):
    """The passes of a question whose answers are neither known nor pending, and the number of all its passes."""

    passes: Sequence[Pass]
    asked: int


class Question(ABC):
    """A question about a subject. Subclasses are frozen dataclasses with the subject as their field `x`.

    Attributes:
        answered_by: name of the model method that takes a list of requests and returns their answers in order.
        budget: `forward`, `backward` or `text` passes; those of one model share a limit on the tokens in a batch, which
            shrinks when a batch does not fit into memory.
        budget_scale: tokens in a batch, relative to those that suit the device of the model.
        even: whether rows of equal length may be a batch of their own, which saves padding.
        concurrent: whether a model that answers concurrently may be asked without waiting for the answer.
    """

    __slots__ = ()
    answered_by: ClassVar[str]
    budget: ClassVar[str] = "forward"
    budget_scale: ClassVar[int] = 1
    even: ClassVar[bool] = True
    concurrent: ClassVar[bool] = False
    x: Subject

    @property
    def model(self) -> Any:
        """The model that is asked."""
        return self.x.model

    @property
    def row(self) -> PerturbedInput:
        """The input as a model reads it."""
        return PerturbedInput(self.x.encoding, self.x.state)

    @property
    def backward(self) -> bool:
        """Whether its passes go backward too."""
        return self.budget == "backward"

    def needed(self) -> Needed:
        """The passes to compute, none by default; their answers are pending from now on.

        What it raises is the answer to this question alone, except a UserError, which ends the run.
        """
        return Needed((), 0)

    @abstractmethod
    def answer(self) -> Any:
        """The answer once its passes are settled; an exception is raised or returned in its place."""

    def bucket(self, request: Any, length: int) -> Hashable:
        """Requests may share a batch only if their buckets are equal."""
        row: PerturbedInput = request if isinstance(request, PerturbedInput) else request.row
        return self.model.bucket(row, length), self.together(request)

    def together(self, request: Any) -> Hashable:
        """What requests about different rows must have in common to share a batch."""
        return None

    def group(self) -> Hashable:
        """Questions are pooled only with those of an equal group: of one type, to one model."""
        return type(self), id(self.model)

    def compute(self, requests: list[Any]) -> Sequence[Any]:
        """Answers to the requests of one batch, of this question and others of its group, in their order."""
        answers: Sequence[Any] = self.model_method(self.model)(requests)
        return answers

    @classmethod
    def model_method(cls, model: Any) -> Callable[..., Any]:
        """The method of the model that answers; a UserError if it has none."""
        method: Callable[..., Any] | None = getattr(model, cls.answered_by, None)
        if method is None:
            raise UserError(f"the model {model.name!r} cannot answer {cls.__name__}: it has no {cls.answered_by}()")
        return method

    def leaves(self) -> Sequence[Question]:
        """The questions it consists of; itself, unless it bundles others."""
        return (self,)

    def combine(self, answers: Sequence[Any]) -> Any:
        """The answer made from those of its leaves."""
        return answers[0]

    def pending(self) -> Sequence[Pending]:
        """Its answers that may arrive after the round in which they are asked for."""
        return ()


QuestionGenerator = Generator[Question, Any, T]
"""A method or metric at work: it yields questions, is sent their answers, and returns its result."""


def next_question(generator: QuestionGenerator[Any], answer: Any) -> Question:
    """The next question of a generator, given the answer to the last one or the exception in its place."""
    return generator.throw(answer) if isinstance(answer, Exception) else generator.send(answer)


class Reduction(Protocol):
    """Makes one answer of those of several passes, as they arrive, so that they need not be kept."""

    def add(self, number: int, answer: Any) -> None:
        """Take the answer of a pass, by its number among the requests."""

    def result(self) -> Any:
        """The answer, once all passes are settled; raises Undefined if there is none."""


class WholeQuestion(Question):
    """A question with one answer, kept under one key; `reduction` makes it from the answers to its `requests`."""

    __slots__ = ()

    def key(self) -> tuple[Hashable, ...]:
        """Everything that determines the answer, except the subject: all other fields."""
        return tuple(getattr(self, name) for name in self.__dataclass_fields__ if name != "x")  # type: ignore[attr-defined]

    @abstractmethod
    def requests(self) -> Sequence[Any]:
        """Requests to the model, one for each pass."""

    def reduction(self) -> Reduction:
        """A new reduction; by default that of a single request."""
        return _Single(self.check)

    def check(self, answer: Any) -> Any:
        """The answer to a single request; raises Undefined if it is unusable."""
        return answer

    def needed(self) -> Needed:
        """All passes, unless the answer is known or pending."""
        answers, key, requests = self.x.answers(type(self)), self._memo_key(), self.requests()
        if key in answers:
            return Needed((), len(requests))
        length = int(self.model.lengths(self.x.encoding, self.x.state[None])[0])
        if length == 0 or not requests:
            answers[key] = Undefined("empty", "no token is left")
            return Needed((), len(requests))
        answers[key] = PENDING
        parts = _Parts(self.reduction(), len(requests), partial(answers.__setitem__, key))
        passes = [Pass(self, request, length, partial(parts.settle, number)) for number, request in enumerate(requests)]
        return Needed(passes, len(requests))

    def answer(self) -> Any:
        """The answer from the memo."""
        return self.x.answers(type(self))[self._memo_key()]

    def _memo_key(self) -> Hashable:
        return self.x.state.tobytes(), *self.key()


@dataclass(eq=False, slots=True)
class _Single:
    """The reduction of a single request."""

    check: Callable[[Any], Any]
    answer: Any = None

    def add(self, number: int, answer: Any) -> None:
        self.answer = answer

    def result(self) -> Any:
        return self.check(self.answer)


@dataclass(eq=False, slots=True)
class _Parts:
    """Passes of one question that are not settled yet; the last one completes its answer."""

    reduction: Reduction
    left: int
    keep: Callable[[Any], None]
    error: Exception | None = None

    def settle(self, number: int, answer: Any) -> None:
        if isinstance(answer, Exception):
            self.error = answer
        else:
            self.reduction.add(number, answer)
        self.left -= 1
        if self.left:
            return
        try:
            self.keep(self.error or self.reduction.result())
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - it is the answer to this question alone
            self.keep(error)


def check_finite(name: str, *arrays: Any) -> None:
    """Raise Undefined if an array holds a number that is not finite."""
    for array in arrays:
        if isinstance(error := finite_answer(name, np.asarray(array)), Undefined):
            raise error


def finite_answer(name: str, answer: Any) -> Any:
    """The answer, or Undefined in its place if it is an array with a number that is not finite."""
    if isinstance(answer, np.ndarray) and not np.isfinite(answer).all():
        return Undefined("nonfinite", f"the model's {name} are not finite numbers")
    return answer
