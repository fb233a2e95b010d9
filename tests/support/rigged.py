"""Text generators whose answers follow a rule that a test writes down, and what it takes to ask them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from verax.data.text import split_words
from verax.engine.engine import Engine, Task, TaskResult
from verax.engine.protocols import AnsweringMethod
from verax.engine.questions import QuestionGenerator
from verax.metrics.free_text.editing import Insertion
from verax.models.classifier import Encoder
from verax.models.generator import CandidatesPass, GeneratePass, LikelihoodPass
from verax.models.self_explainer import SelfExplainer, TrainedMethodName
from verax.models.subject import Subject
from verax.models.wording import shipped_wording
from verax.types import FloatArray, Generated, Human, Instance, Nle, Target, Undefined

NLI = ("entailment", "neutral", "contradiction")


class Rigged:
    """Knows for each prompt which continuation is the likeliest and what to write; counts how it is asked.

    Args:
        answers: the likeliest continuation of a prompt.
        writes: the text for a prompt.
        offers: the candidates for a prompt.
    """

    name = "rigged"
    fingerprint: dict[str, str] = {}  # noqa: RUF012 - as the protocol has it
    about = {"device": "cpu"}  # noqa: RUF012
    gives_likelihoods = True

    def __init__(
        self,
        answers: Callable[[str], str] = lambda _: "",
        writes: Callable[[str], str] = lambda _: "so",
        offers: Callable[[str], Sequence[str]] = lambda _: (),
    ) -> None:
        self._answers, self._writes, self._offers = answers, writes, offers
        self.calls: list[tuple[str, list[str]]] = []

    def length(self, asked: GeneratePass | LikelihoodPass | CandidatesPass) -> int:
        return 1

    def generate(self, passes: Sequence[GeneratePass]) -> list[Generated | Undefined]:
        self._called("generate", passes)
        return [_caught(lambda one=one: Generated(self._writes(one.prompt.user), "stop", 1)) for one in passes]

    def likelihoods(self, passes: Sequence[LikelihoodPass]) -> list[FloatArray | Undefined]:
        self._called("likelihoods", passes)

        def scores(one: LikelihoodPass) -> FloatArray:
            best = self._answers(one.prompt.user)
            return np.array([0.0 if text == best else -5.0 for text in one.continuations])

        return [_caught(lambda one=one: scores(one)) for one in passes]

    def candidates(self, passes: Sequence[CandidatesPass]) -> list[list[Generated] | Undefined]:
        self._called("candidates", passes)

        def texts(one: CandidatesPass) -> list[Generated]:
            return [Generated(text, "stop", 1) for text in self._offers(one.prompt.user)]

        return [_caught(lambda one=one: texts(one)) for one in passes]

    def _called(self, what: str, passes: Sequence[Any]) -> None:
        self.calls.append((what, [one.prompt.user for one in passes]))


def _caught(answer: Callable[[], Any]) -> Any:
    try:
        return answer()
    except Undefined as problem:
        return problem


def insertion_of(part: int, position: int, text: str) -> Insertion:
    return Insertion(part, position, split_words(text).words)


def instance(*parts: str, name: str = "i", explained: Sequence[str] = ()) -> Instance:
    return Instance(name, tuple(map(split_words, parts)), human=Human(explanations=tuple(explained)))


def posed(
    given: Instance,
    model: Rigged,
    *,
    labels: tuple[str, ...] = NLI,
    predictor: Rigged | None = None,
    trained_as: TrainedMethodName | None = "mt_ra",
) -> Subject:
    """An input posed to a rigged model, by the prompts that are shipped."""
    wording = shipped_wording("instructed" if trained_as is None else "trained", labels, len(given.parts))
    return Subject(given, SelfExplainer("rigged", model, predictor or model, labels, wording, trained_as))


def ended(generator: QuestionGenerator[Any], encoder: Encoder | None = None) -> TaskResult[Any]:
    """How a generator ends that is run alone."""
    found: list[TaskResult[Any]] = []

    def done(outcome: TaskResult[Any]) -> tuple[()]:
        found.append(outcome)
        return ()

    Engine().run([Task(generator, done)])
    return found[0]


def result(generator: QuestionGenerator[Any], encoder: Encoder | None = None) -> Any:
    """What it ends with, or what it raises."""
    outcome = ended(generator, encoder)
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def explained(x: Subject, setup: AnsweringMethod) -> Nle:
    """The class and the explanation of an input."""

    def as_generator() -> QuestionGenerator[Nle]:
        said = yield from setup.answer(x)
        said = yield from setup.explain(x, said)
        return Nle(x.instance.id, "rigged", Target(), said.text or "", said.label, x.model.labels, said.probabilities)

    nle: Nle = result(as_generator())
    return nle
