"""Set-ups whose answer follows from an explanation: ST-Re, ST-Ra, and instruction models asked in that order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from verax.engine.questions import Likelihood, QuestionGenerator
from verax.engine.text_protocols import Answer
from verax.methods.text.asked import most_likely, prompt_for, reason
from verax.models.generator import LikelihoodPass
from verax.models.subject import Subject
from verax.models.wording import Stage
from verax.types import FloatArray, UserError


@dataclass(frozen=True)
class STRe:
    """One model explains, another one answers with the explanation before it (reasoning)."""

    name: ClassVar[str] = "st_re"
    display: ClassVar[str] = "ST-Re"
    summary: ClassVar[str] = "One model explains, another answers given the explanation."
    cost: ClassVar[str] = "1 text, labels continuations"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Hase et al. 2020; Atanasova et al. 2023, Equation 3"
    kind: ClassVar[Literal["text"]] = "text"
    stages: ClassVar[tuple[Stage, ...]] = ("explain", "answer_explanation")
    trained: ClassVar[bool] = True

    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The likeliest class, given the explanation, which comes with it."""
        text, notes = yield from reason(x, prompt_for(x, "explain"))
        said = yield from most_likely(x, prompt_for(x, "answer_explanation", explanation=text))
        return replace(said, text=text, notes=notes)

    def explain(self, x: Subject, said: Answer) -> QuestionGenerator[Answer]:
        """There already."""
        yield from ()
        return said


@dataclass(frozen=True)
class ExplainThenAnswer(STRe):
    """A model that follows instructions is asked for reasons, and then for the class that they lead to."""

    name: ClassVar[str] = "explain_then_answer"
    display: ClassVar[str] = "Explain, then answer"
    summary: ClassVar[str] = "An instruction-tuned model explains, then names the class that follows."
    cost: ClassVar[str] = "1 text, labels continuations or 1 text"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "as ST-Re, by prompts"
    trained: ClassVar[bool] = False


@dataclass(frozen=True)
class STRa:
    """One model explains every class, another one picks the class whose own explanation makes it most probable."""

    name: ClassVar[str] = "st_ra"
    display: ClassVar[str] = "ST-Ra"
    summary: ClassVar[str] = (
        "One model explains every class, another picks the class that its explanation makes most probable."
    )
    cost: ClassVar[str] = "labels texts, labels^2 continuations"
    version: ClassVar[int] = 1
    reference: ClassVar[str] = "Hase et al. 2020; Atanasova et al. 2023, Equation 3"
    kind: ClassVar[Literal["text"]] = "text"
    stages: ClassVar[tuple[Stage, ...]] = ("explain_label", "answer_explanation")
    trained: ClassVar[bool] = True

    def answer(self, x: Subject) -> QuestionGenerator[Answer]:
        """The class with the highest probability given its own explanation; that explanation comes with it.

        The probabilities are each of another prompt: they do not sum to 1.
        """
        labels, by = x.model.labels, x.model.predictor
        if not by.gives_likelihoods:
            raise UserError(
                f"st_ra compares likelihoods, and the model {by.name!r} gives none; use explain_then_answer"
            )
        texts, chances = [], []
        for number, label in enumerate(labels):
            text, notes = yield from reason(x, prompt_for(x, "explain_label", label=label))
            prompt = prompt_for(x, "answer_explanation", explanation=text)
            scores: FloatArray = yield Likelihood(x, by, LikelihoodPass(prompt, labels))
            texts.append((text, notes))
            chances.append(float(np.exp(scores[number] - np.logaddexp.reduce(scores))))
        best = int(np.argmax(chances))
        text, notes = texts[best]
        return Answer(labels[best], tuple(chances), "likelihood", text, notes)

    def explain(self, x: Subject, said: Answer) -> QuestionGenerator[Answer]:
        """There already."""
        yield from ()
        return said
