"""What a self-explaining set-up and a test of its explanations are: generators for one input, as all methods are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, runtime_checkable

from verax.engine.questions import QuestionGenerator
from verax.models.subject import Subject
from verax.models.wording import Stage
from verax.types import LabelSource, Measured, Nle, Note, TrialLog


@dataclass(frozen=True, slots=True)
class Answer:
    """What a self-explaining model says of an input.

    Args:
        label: the class that it predicts.
        probabilities: of each class, in the order of the model's labels; empty where it gives none.
        label_source: by what the class was found.
        text: the explanation; None as long as nobody asked for it.
        notes: facts about the explanation.
    """

    label: str
    probabilities: tuple[float, ...]
    label_source: LabelSource
    text: str | None = None
    notes: Mapping[str, Note] = field(default_factory=dict)


@runtime_checkable
class AnsweringMethod(Protocol):
    """A way in which a model answers and explains itself. Its fields are its parameters.

    Attributes:
        version, reference: as for a method.
        kind: `text`.
        stages: the prompts that it needs.
        trained: whether it is for models that were trained for it, or for such as follow instructions.
    """

    version: ClassVar[int]
    reference: ClassVar[str]
    kind: ClassVar[Literal["text"]]
    stages: ClassVar[tuple[Stage, ...]]
    trained: ClassVar[bool]

    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The class of x; its explanation too, where the class depends on it."""

    def explain(self, x: Subject, said: Answer) -> QuestionGenerator[Answer]:
        """The same with the explanation."""


class Tested(NamedTuple):
    """How a test of one explanation ended: with a value, or with the reason why there is none; and what was done."""

    value: float | None
    reason: str | None
    detail: str
    trial_log: TrialLog


@runtime_checkable
class TextMetric(Protocol):
    """Measures one free-text explanation of one input. Its fields are its parameters.

    Attributes:
        version, reference, higher_is_better, range: as for a metric.
        ranked: False: tables of their own take the place of a leaderboard, which would leave out what was not found.

    `told` gives whatever decides its values beside its parameters, for the key of a score.
    """

    version: ClassVar[int]
    reference: ClassVar[str]
    higher_is_better: ClassVar[bool]
    range: ClassVar[tuple[float | None, float | None]]
    ranked: ClassVar[bool]

    @property
    def needs(self) -> frozenset[str]:
        """What it is handed by name.

        `setup`, who explains, to ask about new inputs; `vocabulary`, the words of all inputs of the run, as often as
        they occur; `encoder`, the loaded encoder of its semantic match.
        """

    @property
    def provenance(self) -> Mapping[str, str]:
        """What decides a value beside the parameters."""

    def max_inputs(self, parts: int, labels: int) -> int:
        """How many new inputs it asks about at most, of so many parts and classes."""

    def __call__(self, x: Subject, nle: Nle, *args: Any, **handed: Any) -> QuestionGenerator[Tested | Measured]:
        """The value for one explanation of x; what it needs is handed by name."""
