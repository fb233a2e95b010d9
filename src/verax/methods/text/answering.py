"""What all methods of free text share: the questions for the class and for the explanation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Literal, cast

import numpy as np
from scipy.special import softmax

from verax.engine.protocols import Answer
from verax.engine.questions import Choose, Generate, Likelihood, QuestionGenerator
from verax.models.classifier import TextModel
from verax.models.generator import Choice, ChoicePass, Chooser, GeneratePass, LikelihoodPass, Prompt
from verax.models.subject import Subject
from verax.models.wording import Stage
from verax.types import FloatArray, Generated, Note, Passes, Undefined

MAX_NEW_TOKENS = 64
"""Length of the longest explanation: those written by people are half as long."""


class Answering(ABC):
    """Base class of methods of free text: a class and an explanation, in the order that a subclass chooses."""

    kind: ClassVar[Literal["text"]] = "text"

    @abstractmethod
    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The class of x, with its explanation if the class depends on it."""

    @abstractmethod
    def explain(self, x: Subject, answer: Answer) -> QuestionGenerator[Answer]:
        """The answer with its explanation."""

    def passes(self, n: int) -> Passes:
        """Passes of text generators are not counted in advance."""
        return Passes(0, 0)

    def __call__(self, x: Subject) -> QuestionGenerator[Answer]:
        """The class of x and its explanation."""
        answer = yield from self.answer(x)
        return (yield from self.explain(x, answer))


def most_likely(x: Subject, prompt: Prompt) -> QuestionGenerator[Answer]:
    """The class whose name is the likeliest continuation, or the one chosen by a model that gives no likelihoods."""
    model: TextModel = x.model
    generator, labels = model.predictor, model.labels
    if generator.gives_likelihoods:
        scores: FloatArray = yield Likelihood(x, generator, LikelihoodPass(prompt, labels))
        return Answer(labels[int(np.argmax(scores))], tuple(softmax(scores).tolist()), "likelihood")
    choice: Choice = yield Choose(x, cast("Chooser", generator), ChoicePass(prompt, labels))
    return Answer(choice.label, choice.probabilities, choice.label_source)


def reason(x: Subject, prompt: Prompt) -> QuestionGenerator[tuple[str, dict[str, Note]]]:
    """An explanation by greedy decoding, on one line, and notes about it."""
    model: TextModel = x.model
    written: Generated = yield Generate(x, model.explainer, GeneratePass(prompt, MAX_NEW_TOKENS))
    # a trained model ends its line itself, unless it has learned little: what follows is no explanation any more
    line = written.text.strip().partition("\n")[0] if model.plain else written.text
    text = " ".join(line.split())
    if not text:
        raise Undefined("empty_answer", "the explanation has no word")
    return text, {"cut_off": True} if written.finish == "length" and line == written.text else {}


def prompt_for(x: Subject, stage: Stage, *, label: str | None = None, explanation: str | None = None) -> Prompt:
    """The prompt of a stage."""
    model: TextModel = x.model
    labels, plain = model.labels, model.plain
    return model.wording.prompt(stage, x.instance, labels, label=label, explanation=explanation, plain=plain)
