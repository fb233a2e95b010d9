"""Methods that explain before they answer: ST-Re, ST-Ra, and instruction-following models asked in that order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from verax.engine.protocols import Answer
from verax.engine.questions import Likelihood, QuestionGenerator
from verax.methods.text.answering import Answering, most_likely, prompt_for, reason
from verax.models.classifier import Capability, TextModel
from verax.models.generator import LikelihoodPass
from verax.models.subject import Subject
from verax.models.wording import Stage
from verax.types import FloatArray, UserError


@dataclass(frozen=True)
class STRe(Answering):
    """One model explains, another answers given the explanation (reasoning)."""

    name: ClassVar[str] = "st_re"
    display: ClassVar[str] = "ST-Re"
    summary: ClassVar[str] = "One model explains, another answers given the explanation."
    cost: ClassVar[str] = "1 text, labels continuations"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Hase et al. 2020; Atanasova et al. 2023, Equation 3"
    stages: ClassVar[tuple[Stage, ...]] = ("explain", "answer_explanation")
    trained: ClassVar[bool] = True

    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The likeliest class given the explanation, with that explanation."""
        text, notes = yield from reason(x, prompt_for(x, "explain"))
        answer = yield from most_likely(x, prompt_for(x, "answer_explanation", explanation=text))
        return replace(answer, text=text, notes=notes)

    def explain(self, x: Subject, answer: Answer) -> QuestionGenerator[Answer]:
        """The answer, which already holds the explanation."""
        yield from ()
        return answer


@dataclass(frozen=True)
class ExplainThenAnswer(STRe):
    """A model that follows instructions is asked for reasons, then for the class that follows from them."""

    name: ClassVar[str] = "explain_then_answer"
    display: ClassVar[str] = "Explain, then answer"
    summary: ClassVar[str] = "An instruction-tuned model explains, then names the class that follows."
    cost: ClassVar[str] = "1 text, labels continuations or 1 text"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "as ST-Re, by prompts"
    trained: ClassVar[bool] = False


@dataclass(frozen=True)
class STRa(Answering):
    """One model explains every class, another picks the class whose own explanation makes it most probable."""

    name: ClassVar[str] = "st_ra"
    display: ClassVar[str] = "ST-Ra"
    summary: ClassVar[str] = (
        "One model explains every class, another picks the class that its explanation makes most probable."
    )
    cost: ClassVar[str] = "labels texts, labels^2 continuations"
    requires: ClassVar[frozenset[Capability]] = frozenset({"text", "likelihood"})
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Hase et al. 2020; Atanasova et al. 2023, Equation 3"
    stages: ClassVar[tuple[Stage, ...]] = ("explain_label", "answer_explanation")
    trained: ClassVar[bool] = True

    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The class with the highest probability given its own explanation, with that explanation.

        Each probability comes from a prompt of its own: they do not sum to 1.
        """
        model: TextModel = x.model
        labels, predictor = model.labels, model.predictor
        if not predictor.gives_likelihoods:
            raise UserError(
                f"st_ra compares likelihoods, and the model {predictor.name!r} gives none; use explain_then_answer"
            )
        texts, probabilities = [], []
        for number, label in enumerate(labels):
            text, notes = yield from reason(x, prompt_for(x, "explain_label", label=label))
            prompt = prompt_for(x, "answer_explanation", explanation=text)
            scores: FloatArray = yield Likelihood(x, predictor, LikelihoodPass(prompt, labels))
            texts.append((text, notes))
            probabilities.append(float(np.exp(scores[number] - np.logaddexp.reduce(scores))))
        best = int(np.argmax(probabilities))
        text, notes = texts[best]
        return Answer(labels[best], tuple(probabilities), "likelihood", text, notes)

    def explain(self, x: Subject, answer: Answer) -> QuestionGenerator[Answer]:
        """The answer, which already holds the explanation."""
        yield from ()
        return answer
