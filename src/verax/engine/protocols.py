"""Protocols of methods and metrics: frozen dataclasses that are called with a subject."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, TypeVar, runtime_checkable

from verax.engine.questions import QuestionGenerator
from verax.models.classifier import Capability, Model
from verax.models.subject import Subject
from verax.models.wording import Stage
from verax.types import SCORE_KINDS, Attribution, Dataset, Kind, LabelSource, Measured, Note, Passes

T = TypeVar("T")
Explain = Callable[[Subject], QuestionGenerator[Attribution]]


@dataclass(frozen=True, slots=True)
class RandomDraws:
    """In place of a random method that would explain again: the metric draws by itself, as often as it needs to."""

    seed: int


@dataclass(frozen=True, slots=True)
class Answer:
    """Answer of a self-explaining model to an input.

    Args:
        label: the predicted class.
        probabilities: of each class, in the order of the model's labels; empty if the model gives none.
        label_source: where the class comes from.
        text: the explanation; None until it is asked for.
        notes: facts about the explanation.
    """

    label: str
    probabilities: tuple[float, ...]
    label_source: LabelSource
    text: str | None = None
    notes: Mapping[str, Note] = field(default_factory=dict)


@runtime_checkable
class Method(Protocol):
    """Explains one input. Its fields are its parameters, and are recorded with every explanation.

    Attributes:
        kind: what it scores, or `text`.
        version: raised whenever the code gives other numbers; part of every key in the store.
        reference: the paper that describes it.

    Optional class attributes:
        requires: capabilities that it asks of a model (`frozenset[Capability]`); `outputs`, or `text`, by default.
        recursive: its order already accounts for the words removed before; metrics do not run it again.
        signed: False if its scores are sizes without signs.
        ranks: True if its scores are places in an order, which have no sign though the order may tell support from
            opposition.
        per_layer: it asks for its backward passes once for each layer of the model.
        base: what its scores are made of; methods of one base are compared at the same budget of words.
        extra: a package that it needs, and the extra of verax that installs it.
    """

    kind: ClassVar[Kind]
    version: ClassVar[int]
    reference: ClassVar[str]

    def passes(self, n: int) -> Passes:
        """Upper bound on the passes it asks for on an input of n units; those of text generators are not counted."""

    def __call__(self, x: Subject) -> QuestionGenerator[Any]:
        """The explanation of x, as a generator of questions: an Attribution, or an Answer of kind `text`."""


@runtime_checkable
class AnsweringMethod(Method, Protocol):
    """A method of kind `text`: a way in which a model answers and explains itself.

    Attributes:
        stages: the prompts that it needs.
        trained: whether it is for models that were trained for it, or for models that follow instructions.
    """

    stages: ClassVar[tuple[Stage, ...]]
    trained: ClassVar[bool]

    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The class of x, with its explanation if the class depends on it."""

    def explain(self, x: Subject, answer: Answer) -> QuestionGenerator[Answer]:
        """The answer with its explanation."""


@runtime_checkable
class Metric(Protocol):
    """Measures one explanation of one input. Its fields are its parameters.

    Attributes:
        version, reference: as for a method.
        higher_is_better: its direction.
        range: lowest and highest value it can take; None where there is no bound.

    Optional class attributes:
        measures: the property that it measures (`MeasuredProperty`).
        kinds: kinds of explanation that it measures (`frozenset[Kind]`), those by scores by default.
        requires: as for a method.
        needs: names of providers whose products it receives as keyword arguments.
        ranked: False if it checks whether other metrics are valid; it has no leaderboard.
        labelled: True if it needs gold classes; data without any is rejected.
    """

    version: ClassVar[int]
    reference: ClassVar[str]
    higher_is_better: ClassVar[bool]
    range: ClassVar[tuple[float | None, float | None]]

    def passes(self, n: int) -> Passes:
        """Upper bound on the passes it asks for on an input of n units; those of text generators are not counted."""

    def __call__(
        self, x: Subject, explanation: Any, /, *args: Any, **provided: Any
    ) -> QuestionGenerator[Measured] | Measured:
        """The value for one explanation of x: at once, or as a generator of questions if the model is needed."""


@runtime_checkable
class TextMetric(Metric, Protocol):
    """A metric of free text."""

    @property
    def provenance(self) -> Mapping[str, str]:
        """Everything that determines a value besides the parameters, for the key of a score."""

    def max_inputs(self, parts: int, labels: int) -> int:
        """Largest number of new inputs it asks about, given the number of parts and classes."""


def kinds_of(metric: Metric) -> frozenset[Kind]:
    """Kinds of explanation that a metric measures."""
    return frozenset(getattr(metric, "kinds", SCORE_KINDS))


def needs(metric: Metric) -> frozenset[str]:
    """Names of the providers whose products a metric receives."""
    return frozenset(getattr(metric, "needs", ()))


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
    def methods(self) -> Sequence[Any]:
        """All methods of the run, each with its `name`, `label` and `component`."""

    @property
    def metrics(self) -> Sequence[Any]:
        """All metrics of the run, as the methods."""


def as_generator(call: Callable[..., QuestionGenerator[T] | T], *args: Any) -> QuestionGenerator[T]:
    """Call a method or metric inside a generator: what it raises is raised there, and it may return at once."""
    result = call(*args)
    if isinstance(result, Generator):
        return (yield from result)
    return result


NAMES: Mapping[str, str] = {
    "outputs": "class outputs",
    "hidden": "hidden states",
    "embeddings": "word embeddings",
    "gradients": "gradients",
    "attention": "attention maps",
    "attention_gradients": "gradients of attention maps",
    "text": "free text",
    "likelihood": "likelihoods of text",
}
"""Capabilities in words."""

_BACKWARD: frozenset[Capability] = frozenset({"gradients", "attention", "attention_gradients"})


def requirements(component: Method | Metric) -> frozenset[str]:
    """Capabilities that a method or metric asks of a model: those it declares, and gradients for backward passes."""
    is_text = component.kind == "text" if isinstance(component, Method) else kinds_of(component) == {"text"}
    declared = getattr(component, "requires", None)
    required = frozenset({"text" if is_text else "outputs"} if declared is None else declared)
    if not is_text and component.passes(1).backward and not required & _BACKWARD:
        required |= {"gradients"}
    return required


def check_capabilities(component: Any, model: Model, name: str | None = None) -> list[str]:
    """Sentences on what a component, or a method among its parameters, needs and the model does not provide."""
    name = name or getattr(component, "name", type(component).__name__)
    sentences = []
    for part in (component, *_methods_in(component)):
        missing = requirements(part) - model.capabilities
        if missing:
            needed, provided = " and ".join(_in_words(missing)), ", ".join(_in_words(model.capabilities)) or "nothing"
            sentences.append(f"{name} needs {needed}; the model {model.name!r} provides only {provided}")
    return list(dict.fromkeys(sentences))


def _in_words(capabilities: AbstractSet[str]) -> list[str]:
    return [words for name, words in NAMES.items() if name in capabilities] + sorted(capabilities - NAMES.keys())


def _methods_in(component: Any) -> Iterator[Method]:
    """Methods among the parameters of a component, and among theirs."""
    for parameter in dataclasses.fields(component) if dataclasses.is_dataclass(component) else ():
        value = getattr(component, parameter.name)
        if isinstance(value, Method):
            yield value
            yield from _methods_in(value)
