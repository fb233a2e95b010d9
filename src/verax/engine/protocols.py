"""What a method of explanation and a metric are to the rest of the house: frozen dataclasses that can be called."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, ClassVar, Literal, Protocol, TypeVar, runtime_checkable

from verax.engine.questions import QuestionGenerator
from verax.models.subject import Subject
from verax.types import Attribution, Dataset, Highlight, Kind, Measured, Passes

T = TypeVar("T")
Explain = Callable[[Subject], QuestionGenerator[Attribution]]
Need = Literal["explain", "reference", "budget", "agents", "translation"]


@runtime_checkable
class Method(Protocol):
    """Explains one input. Its fields are its parameters, and are recorded with every explanation.

    Attributes:
        kind: what it scores.
        version: raised whenever the code comes to give other numbers: it is part of every key in the store.
        reference: whose method it is.

    A method that asks for no backward pass but looks inside the model all the same (embeddings, attention) says so by
    `looks_inside: ClassVar[bool] = True`, so that a model which is a mere function is refused before anything is run.
    One whose order already accounts for what was removed before says `recursive: ClassVar[bool] = True`, and is not run
    again by metrics that explain again. One that gives sizes and no signs says `signed: ClassVar[bool] = False`. One
    that asks for its backward passes once for each layer of the model says `per_layer: ClassVar[bool] = True`. `base`
    names what its scores are made of: methods of one base are compared at the same budget of words. `extra` names a
    package that it needs, and the extra of verax that installs it.
    """

    kind: ClassVar[Kind]
    version: ClassVar[int]
    reference: ClassVar[str]

    def passes(self, n: int) -> Passes:
        """Passes it asks for on an input of n units, at most."""

    def __call__(self, x: Subject) -> QuestionGenerator[Attribution]:
        """The explanation of x, as a generator of questions."""


@runtime_checkable
class Metric(Protocol):
    """Measures one explanation of one input. Its fields are its parameters.

    Attributes:
        version, reference: as for a method.
        higher_is_better: its direction.
        range: lowest and highest value it can take; None where there is no bound.

    A metric that needs more than the explanation says so by `needs: ClassVar[frozenset[Need]]`, and is handed it by
    name: `explain`, the method, to explain again what is left of the input (None where the explanation has to
    stand: it was made elsewhere, or its method is recursive; `explained_again(n)` tells how many words are left
    each time); `reference`, what was learned of the model from a validation set; `budget`, how many words the span
    explanations of the same input point at; `agents`, what those answered who were taught by explanations;
    `translation`, the same input in the metric's `reference_lang`, its explanation and the links between the words
    of the two (inputs of that language are not measured). `looks_inside` is as for a method. A metric that tells
    whether others are valid, and not which explanation is better, says `ranked: ClassVar[bool] = False`: it gets no
    leaderboard. One that needs gold classes says `labelled: ClassVar[bool] = True`: data without any is refused.
    """

    version: ClassVar[int]
    reference: ClassVar[str]
    higher_is_better: ClassVar[bool]
    range: ClassVar[tuple[float | None, float | None]]

    def passes(self, n: int) -> Passes:
        """Passes it asks for on an input of n units, at most."""

    def __call__(self, x: Subject, highlight: Highlight) -> QuestionGenerator[Measured] | Measured:
        """The value for one explanation of x: at once, or as a generator of questions if the model is needed."""


class NamedComponent(Protocol):
    """A method or metric with its name in the registry and its label in the run."""

    @property
    def name(self) -> str:
        """Name in the registry."""

    @property
    def label(self) -> str:
        """Name and parameters that differ from their defaults."""

    @property
    def component(self) -> Any:
        """The method or metric."""


class RunFacts(Protocol):
    """A run before it starts.

    A method or metric may define `check(run: RunFacts)`, which raises UserError if it does not fit, and a metric
    `fitted(run: RunFacts)`, which returns it with the parameters that were left open.
    """

    @property
    def model(self) -> Any:
        """The model that is explained."""

    @property
    def data(self) -> Dataset:
        """The inputs."""

    @property
    def methods(self) -> Sequence[NamedComponent]:
        """All methods of the run."""

    @property
    def metrics(self) -> Sequence[NamedComponent]:
        """All metrics of the run."""


def needs(metric: Metric) -> frozenset[str]:
    """What a metric is handed beside the explanation."""
    return frozenset(getattr(metric, "needs", ()))


def as_generator(call: Callable[..., QuestionGenerator[T] | T], *args: Any) -> QuestionGenerator[T]:
    """Call a method or metric inside a generator: what it raises is raised there, and it may answer without asking."""
    result = call(*args)
    if isinstance(result, Generator):
        return (yield from result)
    return result
