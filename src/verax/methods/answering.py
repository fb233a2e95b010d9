"""Methods of free text: a model answers and explains itself, in one of two orders.

MT (multi-task) methods answer first, with one model; ST (single-task) methods explain first, with two models. Re
(reasoning) explains the input, Ra (rationalising) explains a class.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from scipy.special import softmax

from verax.engine.protocols import Answer
from verax.engine.questions import Choose, Generate, Likelihood, QuestionGenerator
from verax.models.classifier import Capability
from verax.models.generator import ChoicePass, ChosenLabel, GeneratePass, LikelihoodPass, Prompt
from verax.models.self_explainer import SelfExplainer
from verax.models.subject import Subject
from verax.models.wording import Stage
from verax.types import CUT_OFF, FloatArray, Generated, NoPasses, Note, Undefined, UserError

# what a model that follows instructions writes in place of an explanation
_REFUSAL = re.compile(
    r"(?:i(?:['’]m| am)(?: very| so)? sorry|sorry|i apologi[sz]e|unfortunately)?[\s,.;:]*(?:but )?"
    r"(?:as an ai\b|i(?: can(?:not|['’]t| not)| am (?:unable|not able) to|['’]m (?:unable|not able) to|"
    r" (?:will not|won['’]t)) (?:answer|assist|comply|discuss|do (?:that|this)|explain|fulfil|give|help|provide|say))",
    re.IGNORECASE,
)


class Answering(NoPasses, ABC):
    """Base class of methods of free text: a class and an explanation, in the order that a subclass chooses."""

    kind: ClassVar[Literal["text"]] = "text"
    cost: ClassVar[str] = "1 text, labels continuations"
    reference: ClassVar[str] = "Hase et al. 2020; Atanasova et al. 2023, Equation 3"
    trained: ClassVar[bool] = True

    @abstractmethod
    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The class of x, with its explanation if the class depends on it."""

    @abstractmethod
    def explain(self, x: Subject, answer: Answer) -> QuestionGenerator[Answer]:
        """The answer with its explanation."""

    def __call__(self, x: Subject) -> QuestionGenerator[Answer]:
        """The class of x and its explanation."""
        answer = yield from self.answer(x)
        return (yield from self.explain(x, answer))


class _AnswerFirst(Answering):
    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The likeliest class."""
        return (yield from most_likely(x, prompt_for(x, "answer")))


class _ExplanationFirst(Answering):
    def explain(self, x: Subject, answer: Answer) -> QuestionGenerator[Answer]:
        """The answer, which already holds the explanation."""
        yield from ()
        return answer


@dataclass(frozen=True)
class MTRe(_AnswerFirst):
    """One model, trained to answer and to explain; the explanation does not depend on the answer (reasoning)."""

    name: ClassVar[str] = "mt_re"
    display: ClassVar[str] = "MT-Re"
    summary: ClassVar[str] = "One model answers and explains; the explanation does not depend on the answer."
    stages: ClassVar[tuple[Stage, ...]] = ("answer", "explain")
    version: ClassVar[int] = 1

    def explain(self, x: Subject, answer: Answer) -> QuestionGenerator[Answer]:
        """The explanation, independent of the class."""
        text, notes = yield from reason(x, prompt_for(x, "explain"))
        return replace(answer, text=text, notes=notes)


@dataclass(frozen=True)
class MTRa(_AnswerFirst):
    """One model, trained to answer and to explain the class that it predicts (rationalising)."""

    name: ClassVar[str] = "mt_ra"
    display: ClassVar[str] = "MT-Ra"
    summary: ClassVar[str] = "One model answers, then explains the predicted class."
    stages: ClassVar[tuple[Stage, ...]] = ("answer", "explain_label")
    version: ClassVar[int] = 1

    def explain(self, x: Subject, answer: Answer) -> QuestionGenerator[Answer]:
        """The explanation of the predicted class."""
        text, notes = yield from reason(x, prompt_for(x, "explain_label", label=answer.label))
        return replace(answer, text=text, notes=notes)


@dataclass(frozen=True)
class AnswerThenExplain(MTRa):
    """A model that follows instructions is asked for the class, then for the reason."""

    name: ClassVar[str] = "answer_then_explain"
    display: ClassVar[str] = "Answer, then explain"
    summary: ClassVar[str] = "An instruction-tuned model names the class, then explains it."
    cost: ClassVar[str] = "1 text, labels continuations or 1 text"
    version: ClassVar[int] = 2
    reference: ClassVar[str] = "as MT-Ra, by prompts"
    trained: ClassVar[bool] = False


@dataclass(frozen=True)
class STRe(_ExplanationFirst):
    """One model explains, another answers given the explanation (reasoning)."""

    name: ClassVar[str] = "st_re"
    display: ClassVar[str] = "ST-Re"
    summary: ClassVar[str] = "One model explains, another answers given the explanation."
    stages: ClassVar[tuple[Stage, ...]] = ("explain", "answer_explanation")
    version: ClassVar[int] = 1

    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The likeliest class given the explanation, with that explanation."""
        text, notes = yield from reason(x, prompt_for(x, "explain"))
        answer = yield from most_likely(x, prompt_for(x, "answer_explanation", explanation=text))
        return replace(answer, text=text, notes=notes)


@dataclass(frozen=True)
class ExplainThenAnswer(STRe):
    """A model that follows instructions is asked for reasons, then for the class that follows from them."""

    name: ClassVar[str] = "explain_then_answer"
    display: ClassVar[str] = "Explain, then answer"
    summary: ClassVar[str] = "An instruction-tuned model explains, then names the class that follows."
    cost: ClassVar[str] = "1 text, labels continuations or 1 text"
    version: ClassVar[int] = 2
    reference: ClassVar[str] = "as ST-Re, by prompts"
    trained: ClassVar[bool] = False


@dataclass(frozen=True)
class STRa(_ExplanationFirst):
    """One model explains every class, another picks the class whose own explanation makes it most probable."""

    name: ClassVar[str] = "st_ra"
    display: ClassVar[str] = "ST-Ra"
    summary: ClassVar[str] = (
        "One model explains every class, another picks the class that its explanation makes most probable."
    )
    cost: ClassVar[str] = "labels texts, labels^2 continuations"
    requires: ClassVar[frozenset[Capability]] = frozenset({"text", "likelihood"})
    stages: ClassVar[tuple[Stage, ...]] = ("explain_label", "answer_explanation")
    version: ClassVar[int] = 1

    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The class with the highest probability given its own explanation, with that explanation.

        Each probability comes from a prompt of its own: they do not sum to 1.
        """
        model: SelfExplainer = x.model
        labels, predictor = model.labels, model.predictor
        if not predictor.gives_likelihoods:
            raise UserError(
                f"st_ra compares likelihoods, and the model {predictor.name!r} gives none; use explain_then_answer"
            )
        explanations, probabilities = [], []
        for number, label in enumerate(labels):
            text, notes = yield from reason(x, prompt_for(x, "explain_label", label=label))
            prompt = prompt_for(x, "answer_explanation", explanation=text)
            scores: FloatArray = yield Likelihood(x, predictor, LikelihoodPass(prompt, labels))
            explanations.append((text, notes))
            probabilities.append(float(np.exp(scores[number] - np.logaddexp.reduce(scores))))
        best = int(np.argmax(probabilities))
        return Answer(labels[best], tuple(probabilities), "likelihood", *explanations[best])


def most_likely(x: Subject, prompt: Prompt) -> QuestionGenerator[Answer]:
    """The class whose name is the likeliest continuation, or the one chosen by a model that gives no likelihoods."""
    model: SelfExplainer = x.model
    generator, labels = model.predictor, model.labels
    if generator.gives_likelihoods:
        scores: FloatArray = yield Likelihood(x, generator, LikelihoodPass(prompt, labels))
        return Answer(labels[int(np.argmax(scores))], tuple(softmax(scores).tolist()), "likelihood")
    choice: ChosenLabel = yield Choose(x, generator, ChoicePass(prompt, labels, repeat=x.repeat))
    return Answer(choice.label, choice.probabilities, choice.label_source)


def reason(x: Subject, prompt: Prompt) -> QuestionGenerator[tuple[str, dict[str, Note]]]:
    """An explanation by greedy decoding, on one line, and notes about it."""
    model: SelfExplainer = x.model
    request = GeneratePass(prompt, model.max_new_tokens, repeat=x.repeat)
    written: Generated = yield Generate(x, model.explainer, request)
    # a trained model ends its line itself, unless it has learned little: what follows is no explanation any more
    line = written.text.strip().partition("\n")[0] if model.plain else written.text
    text = " ".join(line.split())
    if not text:
        raise Undefined("empty_answer", "the explanation has no word")
    if not model.plain and _REFUSAL.match(text):
        raise Undefined("refused", text[:120])
    return text, {CUT_OFF: True} if written.finish == "length" and line == written.text else {}


def prompt_for(x: Subject, stage: Stage, *, label: str | None = None, explanation: str | None = None) -> Prompt:
    """The prompt of a stage."""
    model: SelfExplainer = x.model
    labels, plain = model.labels, model.plain
    return model.wording.prompt(stage, x.instance, labels, label=label, explanation=explanation, plain=plain)
